"""Application clusters: a JobManager that runs one program and is gone at its end.

    async with await ApplicationCluster.deploy("local:///opt/flink/usrlib/job.jar", "demo") as app:
        outcome = await app.wait()

The difficulty is the end. The JobManager deletes its own Deployment when the program is done, and
with it go the REST API, the pods and their logs; so whoever asks afterwards finds nothing. `wait`
therefore watches in three ways at once (see `ending`) and keeps what it has seen.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kubeflink.cluster import deployment, readiness
from kubeflink.cluster.access import Connection
from kubeflink.cluster.cluster import FlinkCluster
from kubeflink.cluster.preparation import check_absent, prepared
from kubeflink.errors import ClusterNotFoundError
from kubeflink.kube.client import KubeClient

if TYPE_CHECKING:
    from kubeflink.cluster.artifacts import OnUpload
    from kubeflink.cluster.cluster import LastWords
    from kubeflink.cluster.diagnosis import Diagnosis
    from kubeflink.cluster.job import JobOutcome
    from kubeflink.cluster.job_progress import JobProgress
    from kubeflink.config import Configuration
    from kubeflink.rest.client import ClaimMode
    from kubeflink.spec import Program

logger = logging.getLogger(__name__)


class ApplicationCluster(FlinkCluster):
    """An application cluster."""

    _program: Program | None = None
    """What it runs, if it was deployed by this object."""

    @classmethod
    async def deploy(
        cls,
        program: str | Program,
        name: str | None = None,
        *,
        args: Sequence[str] = (),
        entry_class: str | None = None,
        parallelism: int | None = None,
        savepoint: str | None = None,
        allow_non_restored_state: bool = False,
        claim_mode: ClaimMode | None = None,
        options: Mapping[str, object] | None = None,
        namespace: str | None = None,
        conf_dir: str | Path | None = None,
        flink_version: str | None = None,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        strict: bool = False,
        on_upload: OnUpload | None = None,
    ) -> Self:
        """Deploys a cluster that runs `program`, and returns when its objects are made.

        `program` is the address of a jar that the JobManager can reach, such as
        `local:///opt/flink/usrlib/job.jar` for a file in the image; or a whole
        `kubeflink.spec.Program`, which brings its own arguments. With
        `kubernetes.artifacts.local-upload-enabled` a `local://` file is one of this machine, which
        is uploaded first; `on_upload` is called with its name, the bytes sent and those in all. If
        the deployment fails or is cancelled nothing is left but complete uploads.
        Raises as `SessionCluster.deploy` does, and UsageError for a program that the JobManager
        cannot reach.
        """
        from kubeflink import spec
        from kubeflink.spec.program import argument_list

        if isinstance(program, str):
            program = spec.Program(
                uri=program,
                main_class=entry_class,
                arguments=argument_list(args),
                parallelism=parallelism,
                savepoint_path=savepoint,
                allow_non_restored_state=allow_non_restored_state,
                claim_mode=claim_mode,
            )
        async with prepared(
            Connection(kubeconfig, context, namespace),
            name,
            options,
            conf_dir=conf_dir,
            flink_version=flink_version,
            strict=strict,
        ) as (client, configuration):
            return await cls.deploy_configured(
                client, configuration, program, owns_client=True, on_upload=on_upload
            )

    @classmethod
    async def deploy_configured(
        cls,
        client: KubeClient,
        configuration: Configuration,
        program: Program,
        *,
        owns_client: bool = False,
        on_upload: OnUpload | None = None,
    ) -> Self:
        """The same with a configuration that is loaded and a client that is connected.

        `on_upload` is told about files of this machine that the configuration has uploaded.
        """
        from kubeflink import spec
        from kubeflink.cluster import artifacts

        needed = artifacts.planned(spec.application_configuration(configuration, program))
        built = spec.build_jobmanager(needed.configuration, default_logging=True)
        await check_absent(client, built, "Stop it first, or choose another name")
        await needed.upload(on_upload)
        deployed = await deployment.deploy(client, built)
        cluster = cls(
            client,
            deployed.cluster_id,
            deployed.namespace,
            uid=deployed.uid,
            owns_client=owns_client,
        )
        cluster._program = program
        return cluster

    async def wait_started(
        self,
        *,
        timeout: float | None = readiness.READY_SECONDS,
        on_stage: readiness.Progress | None = None,
    ) -> None:
        """Waits until the JobManager serves, or has done its work and gone already."""
        try:
            await self.wait_ready(timeout=timeout, on_stage=on_stage)
        except ClusterNotFoundError:
            logger.debug("cluster %s has gone before it was seen to serve", self.name)

    @asynccontextmanager
    async def ends(self) -> AsyncIterator[LastWords]:
        """Listens to the JobManager's log, which tells at its end how the application went."""
        from kubeflink.cluster import ending

        async with ending.last_words(self, self._client) as told:
            yield told

    async def wait(
        self,
        *,
        timeout: float | None = None,
        check: bool = True,
        on_progress: Callable[[JobProgress], None] | None = None,
        on_stage: readiness.Progress | None = None,
        on_trouble: Callable[[Diagnosis], None] | None = None,
    ) -> JobOutcome:
        """Waits until the program has ended, and returns how.

        Begin soon after `deploy`: what happened before is gone if the cluster is. Raises
        JobFailedError if it did not succeed and `check` is set, or if how it ended cannot be known;
        ClusterFailedError if the JobManager does not start; WaitTimeoutError after `timeout`
        seconds. Cancellation leaves the application running.
        """
        from kubeflink.cluster import ending

        outcome = await ending.wait_for_end(
            self,
            self._client,
            timeout=timeout,
            on_progress=on_progress,
            on_stage=on_stage,
            on_trouble=on_trouble,
        )
        outcome = self._explained(outcome)
        return outcome.check() if check else outcome

    def _explained(self, outcome: JobOutcome) -> JobOutcome:
        """The outcome whose cause, if it is a mistake in a SQL script, has its place there."""
        program, trace = self._program, outcome.stack_trace
        if trace is None or program is None or program.script_text is None:
            return outcome
        from kubeflink.cluster.sql_mistakes import cause_in_application

        cause = cause_in_application(program.script_text, program.script or "", trace)
        return outcome if cause is None else replace(outcome, cause=cause)
