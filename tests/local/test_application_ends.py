"""Every way to end the job of an application: each must outlive the cluster, which goes with it.

The JobManager of an application ends with its job, and answers what it is asked meanwhile or not.
The own commands do so in `test_applications`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import pytest
import pytest_asyncio

from kubeflink import ApplicationCluster, sync
from kubeflink.cluster import runner
from kubeflink.cluster.job import JobOutcome
from kubeflink.errors import ClusterNotFoundError, KubeflinkError
from kubeflink.local.cluster import EmbeddedCluster
from support.embedded import JVM_SECONDS, SMALL_SESSION, eventually
from support.shell import Shell
from support.statements import ENDLESS

pytestmark = [
    pytest.mark.flink,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]

Action: TypeAlias = Literal["stop", "cancel"]
Face: TypeAlias = Literal["flink", "await", "sync"]
FACES: tuple[Face, ...] = ("flink", "await", "sync")
OPTIONS = {**SMALL_SESSION, "restart-strategy.type": "none"}


@dataclass(frozen=True)
class Running:
    """An application whose job runs, and which is followed to its end."""

    cluster: ApplicationCluster
    job: str
    following: asyncio.Task[JobOutcome]


@asynccontextmanager
async def running(kubernetes: EmbeddedCluster, name: str) -> AsyncIterator[Running]:
    async with await ApplicationCluster.deploy(
        f"local://{runner.jar()}",
        name,
        entry_class=runner.MAIN_CLASS,
        args=ENDLESS,
        options=OPTIONS,
        kubeconfig=kubernetes.kubeconfig,
    ) as cluster:
        following = asyncio.create_task(cluster.wait(timeout=JVM_SECONDS, check=False))

        async def look() -> str | None:
            with suppress(KubeflinkError):  # it is not serving yet
                for job in await cluster.jobs():
                    return job.id
            return None

        try:
            job = await eventually(look, f"the job of {name}")
            await cluster.job(job).until_tasks_run(timeout=JVM_SECONDS)
            yield Running(cluster, job, following)
        finally:
            following.cancel()
            await asyncio.wait({following})
            with suppress(ClusterNotFoundError):
                await cluster.delete()


@dataclass(frozen=True)
class Stage:
    """The applications that are ended by one action, one for each face."""

    action: Action
    kubernetes: EmbeddedCluster
    apps: dict[Face, Running]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["stop", "cancel"])
async def stage(
    kubernetes: EmbeddedCluster, request: pytest.FixtureRequest
) -> AsyncIterator[Stage]:
    """All are started at once, which takes not much longer than one."""
    async with AsyncExitStack() as stack:
        started = await asyncio.gather(
            *(
                stack.enter_async_context(running(kubernetes, f"{request.param}-{face}"))
                for face in FACES
            )
        )
        yield Stage(request.param, kubernetes, dict(zip(FACES, started, strict=True)))


async def told_by(stage: Stage, face: Face, directory: Path) -> str:
    """Ends the job by one face; what that says of it in the end."""
    app = stage.apps[face]
    if face == "sync":
        return await asyncio.to_thread(told_without_await, stage, app, directory)
    if face == "await":
        job = app.cluster.job(app.job)
        if stage.action == "stop":
            return (await job.stop(directory=str(directory))).location
        return str(await job.cancel())
    target = ("-t", "kubernetes-application", f"-Dkubernetes.cluster-id={app.cluster.name}")
    where = ("--savepointPath", str(directory)) if stage.action == "stop" else ()
    done = await Shell(stage.kubernetes.kubeconfig, {})(stage.action, *target, *where, app.job)
    assert done.code == 0, done.err
    return done.out.splitlines()[-1]


def told_without_await(stage: Stage, app: Running, directory: Path) -> str:
    with sync.ApplicationCluster.attach(
        app.cluster.name, kubeconfig=stage.kubernetes.kubeconfig
    ) as cluster:
        job = cluster.job(app.job)
        if stage.action == "stop":
            return job.stop(directory=str(directory)).location
        return str(job.cancel())


@pytest.mark.parametrize("face", FACES)
async def test_an_application_goes_with_its_job(stage: Stage, tmp_path: Path, face: Face) -> None:
    app = stage.apps[face]

    told = await told_by(stage, face, tmp_path)

    saved = await asyncio.to_thread(
        lambda: [*tmp_path.glob(f"savepoint-{app.job[:6]}-*/_metadata")]
    )
    if stage.action == "stop":
        (metadata,) = saved
        prefix = "Savepoint completed. Path: " if face == "flink" else ""
        assert told == f"{prefix}file:{metadata.parent}"
    else:
        assert told == (f"Cancelled job {app.job}." if face == "flink" else "None")
        assert saved == []
    outcome = await asyncio.wait_for(app.following, JVM_SECONDS)
    assert outcome.state == ("FINISHED" if stage.action == "stop" else "CANCELED")

    async def is_gone() -> bool:
        return not await app.cluster.exists()

    await eventually(is_gone, "the cluster gone with its job")
