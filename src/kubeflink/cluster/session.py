"""Session clusters: deployed once, then given jobs.

    async with SessionCluster.temporary("demo") as cluster:
        job = await cluster.submit_jar("wordcount.jar", args=["--input", "s3://..."])
        await job.wait()

`deploy` returns when jobs can be submitted; `temporary` also deletes the cluster at the end,
whatever happened in between.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from kubeflink.cluster import deployment, readiness
from kubeflink.cluster.access import Connection
from kubeflink.cluster.cluster import FlinkCluster
from kubeflink.cluster.preparation import check_absent, prepared
from kubeflink.errors import ClusterNotFoundError, RestStatusError
from kubeflink.kube.client import KubeClient
from kubeflink.objects import JsonObject

if TYPE_CHECKING:
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.table import TableEnvironment

    from kubeflink.cluster.job import Job
    from kubeflink.cluster.pyflink import Binding, Mode
    from kubeflink.config import Configuration
    from kubeflink.rest import FlinkClient
    from kubeflink.rest.client import ClaimMode
    from kubeflink.rest.upload import Progress


class SessionCluster(FlinkCluster):
    """A session cluster."""

    _binding: Binding | None = None

    @classmethod
    async def deploy(
        cls,
        name: str | None = None,
        *,
        options: Mapping[str, object] | None = None,
        namespace: str | None = None,
        conf_dir: str | Path | None = None,
        flink_version: str | None = None,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        wait: bool = True,
        timeout: float | None = readiness.READY_SECONDS,
        strict: bool = False,
        on_stage: readiness.Progress | None = None,
    ) -> Self:
        """Deploys a cluster, and waits until it is ready unless `wait` is False.

        `options` are Flink's, by key, on top of the configuration file in `conf_dir` (by default
        `FLINK_CONF_DIR`). Without a name one is made up. If the cluster does not become ready
        within `timeout` seconds it is left as it is, for a look at it; if the deployment itself
        fails, or this call is cancelled, nothing is left. Raises ClusterExistsError,
        ConfigurationError, ClusterFailedError, WaitTimeoutError and what the API server refuses.
        """
        async with prepared(
            Connection(kubeconfig, context, namespace),
            name,
            options,
            conf_dir=conf_dir,
            flink_version=flink_version,
            strict=strict,
        ) as (client, configuration):
            return await cls.deploy_configured(
                client,
                configuration,
                wait=wait,
                timeout=timeout,
                on_stage=on_stage,
                owns_client=True,
            )

    @classmethod
    async def deploy_configured(
        cls,
        client: KubeClient,
        configuration: Configuration,
        *,
        wait: bool = True,
        timeout: float | None = readiness.READY_SECONDS,
        on_stage: readiness.Progress | None = None,
        owns_client: bool = False,
    ) -> Self:
        """The same with a configuration that is loaded and a client that is connected.

        Notices of the specification are logged as warnings.
        """
        from kubeflink import spec

        built = spec.build_jobmanager(
            spec.session_configuration(configuration), default_logging=True
        )
        await check_absent(client, built, "Attach to it, stop it first, or choose another name")
        deployed = await deployment.deploy(client, built)
        cluster = cls(
            client,
            deployed.cluster_id,
            deployed.namespace,
            uid=deployed.uid,
            owns_client=owns_client,
        )
        if wait:
            async with deployment.taken_back_if_cancelled(
                client, deployed.cluster_id, deployed.namespace, deployed.uid
            ):
                await cluster.wait_ready(timeout=timeout, on_stage=on_stage)
        return cluster

    @classmethod
    @asynccontextmanager
    async def temporary(
        cls,
        name: str | None = None,
        *,
        options: Mapping[str, object] | None = None,
        namespace: str | None = None,
        conf_dir: str | Path | None = None,
        flink_version: str | None = None,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        timeout: float | None = readiness.READY_SECONDS,
        strict: bool = False,
        on_stage: readiness.Progress | None = None,
    ) -> AsyncIterator[Self]:
        """A cluster that lives as long as the `async with` block; arguments as for `deploy`.

        It is deleted at the end, after an error and after cancellation too, and also if it did not
        become ready; with the data of high availability, unless a former cluster had left such.
        """
        cluster = await cls.deploy(
            name,
            options=options,
            namespace=namespace,
            conf_dir=conf_dir,
            flink_version=flink_version,
            kubeconfig=kubeconfig,
            context=context,
            wait=False,
            strict=strict,
        )
        async with cluster:
            had_data = await cluster.has_ha_data()
            try:
                await cluster.wait_ready(timeout=timeout, on_stage=on_stage)
                yield cluster
            finally:
                with contextlib.suppress(ClusterNotFoundError):  # somebody was faster
                    await cluster.delete(ha_data="keep" if had_data else "delete")

    async def submit_jar(
        self,
        jar: str | Path,
        *,
        entry_class: str | None = None,
        args: Sequence[str] = (),
        parallelism: int | None = None,
        savepoint: str | None = None,
        allow_non_restored_state: bool | None = None,
        claim_mode: ClaimMode | None = None,
        options: Mapping[str, str] | None = None,
        on_upload: Progress | None = None,
        job_graph: Literal["cluster", "client"] = "cluster",
    ) -> Job:
        """Uploads a jar, runs its program on the JobManager and returns its job.

        A jar with the same name and content that is there already is not sent again. `options` are
        Flink's, for this job. Returns when the program's `main` has submitted its job; a program
        that fails before is a RestStatusError with its cause. A JobManager that is failing over is
        waited for, see `jars`.

        With `job_graph="client"` its `main` runs on this side instead, where it finds this
        machine's files, in a JVM that `kubeflink[local]` brings; LocalError if it fails.
        """
        from kubeflink.spec.program import argument_list

        arguments = argument_list(args)
        if job_graph == "client":
            from kubeflink import config
            from kubeflink.cluster import client_side
            from kubeflink.spec import Program

            program = Program(
                uri=str(jar),
                main_class=entry_class,
                arguments=arguments,
                parallelism=parallelism,
                detached=True,
                savepoint_path=savepoint,
                allow_non_restored_state=bool(allow_non_restored_state),
                claim_mode=claim_mode,
            )
            configuration = config.load(conf_dir=None, overrides=options or {}, environ={})
            return self.job(await client_side.submit(self, program, configuration))
        from kubeflink.cluster import jars

        async def run(flink: FlinkClient, jar_id: str, job_id: str) -> str:
            return await flink.run_jar(
                jar_id,
                entry_class=entry_class,
                args=arguments,
                parallelism=parallelism,
                savepoint=savepoint,
                allow_non_restored_state=allow_non_restored_state,
                claim_mode=claim_mode,
                configuration=options,
                job_id=job_id,
            )

        return self.job(await jars.submit(self.one_jobmanager, Path(jar), run, on_upload))

    async def submit_sql(
        self,
        script: str,
        *,
        source: str = "the script",
        parallelism: int | None = None,
        savepoint: str | None = None,
        allow_non_restored_state: bool | None = None,
        claim_mode: ClaimMode | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Job:
        """Runs the statements of a Flink SQL script as one job.

        Raises UsageError if they cannot be one, and SqlError for a statement that Flink refuses.
        `source` is what these errors call the script.
        """
        from kubeflink.cluster import runner
        from kubeflink.cluster.sql_mistakes import script_of_session

        given = script_of_session(script, source)
        try:
            return await self.submit_jar(
                runner.jar(),
                entry_class=runner.MAIN_CLASS,
                args=given.texts,
                parallelism=parallelism,
                savepoint=savepoint,
                allow_non_restored_state=allow_non_restored_state,
                claim_mode=claim_mode,
                options=options,
            )
        except RestStatusError as error:
            explained = given.explained(error)
            if explained is error:
                raise
            raise explained from error

    async def plan(
        self,
        jar: str | Path,
        *,
        entry_class: str | None = None,
        args: Sequence[str] = (),
        parallelism: int | None = None,
        options: Mapping[str, str] | None = None,
        on_upload: Progress | None = None,
    ) -> JsonObject:
        """The plan of the job that a jar's program would submit, made by the JobManager.

        No job is started, and a jar that was uploaded for this is removed again. The program's
        `main` runs up to its first job; one that fails before is a RestStatusError with its cause.
        """
        from kubeflink.cluster import jars
        from kubeflink.spec.program import argument_list

        arguments = argument_list(args)
        async with (
            self.one_jobmanager() as flink,
            jars.lent(flink, Path(jar), on_upload) as jar_id,
        ):
            return await flink.plan(
                jar_id,
                entry_class=entry_class,
                args=arguments,
                parallelism=parallelism,
                configuration=options,
            )

    async def upload_jar(self, jar: str | Path, *, on_upload: Progress | None = None) -> str:
        """Uploads a jar unless it is there already, and returns its id.

        With standby JobManagers only one of them has it; `submit_jar` runs it on that one.
        UsageError for a file that is missing or no jar.
        """
        from kubeflink.cluster import jars

        return await jars.upload(await self.flink(), Path(jar), on_upload)

    async def table_environment(
        self, *, mode: Mode = "streaming", options: Mapping[str, object] | None = None
    ) -> TableEnvironment:
        """PyFlink's `TableEnvironment`, whose jobs run on this cluster, until `close`.

        `options` are Flink's, for its jobs. PyFlink of the cluster's minor version has to be
        installed, and works in a JVM that starts with the first environment of this process and
        ends with the process. Its own calls block, as ever. A job that it made is a `Job` too:
        `cluster.job(str(result.get_job_client().get_job_id()))`. Raises LocalError if PyFlink or
        Java is missing, and ConfigurationError.
        """
        return await (await self._bound()).table_environment(mode, options)

    async def stream_environment(
        self, *, mode: Mode = "streaming", options: Mapping[str, object] | None = None
    ) -> StreamExecutionEnvironment:
        """PyFlink's `StreamExecutionEnvironment`; all else is as for `table_environment`."""
        return await (await self._bound()).stream_environment(mode, options)

    async def _bound(self) -> Binding:
        """The way on which PyFlink reaches the cluster; it stays open until `close`."""
        self._check_open()
        if self._binding is None:
            from kubeflink.cluster import pyflink

            self._binding = await self._resources.enter_async_context(pyflink.bound(self))
        return self._binding
