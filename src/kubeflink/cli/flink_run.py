"""`run`, `run-application` and `info`: programs on clusters, with Flink's lines on stdout."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kubeflink.cli import console, progress, running
from kubeflink.cli.flink_actions import (
    APPLICATION,
    REMOTE,
    SESSION,
    Action,
    cluster_of,
    unknown_target,
)
from kubeflink.cli.flink_program import check_program, program_of
from kubeflink.errors import ClusterExistsError, LocalError, RestStatusError, UsageError
from kubeflink.spec import Program

if TYPE_CHECKING:
    from kubeflink.cluster.job import Job, JobOutcome
    from kubeflink.cluster.session import SessionCluster
    from kubeflink.config import Configuration
    from kubeflink.objects import JsonObject
    from kubeflink.rest.client import ClaimMode


def run(action: Action) -> int:
    """Run the program of a command line where its target says."""
    from kubeflink.cli import client_side

    program = program_of(action.line)
    check_program(program)
    version = action.configuration.version
    deploys = action.target == APPLICATION
    if deploys != (action.name == "run-application") and version.application_action != "run":
        raise UsageError(
            f"the action {action.name} of Flink {version} has no target {action.target}",
            hint=f"An application cluster is deployed by run-application -t {APPLICATION}.",
        )
    if deploys:
        running.run(_deploy_application(application(action, program)))
        return 0
    if action.target not in (SESSION, REMOTE):
        raise unknown_target(action.target)
    if program.is_python or client_side.is_wanted(action.configuration):
        return running.run(_run_here(action, program))
    return running.run(_run_jar(action, program))


def info(action: Action) -> int:
    """Print the plan of a program: a cluster's JobManager makes it, or a JVM on this side.

    Flink's `info` knows no cluster. One is asked if the command line names it, and is able to.
    """
    from kubeflink.cli import plan

    program = program_of(action.line)
    check_program(program)
    is_python = program.is_python
    if is_python or not _names_session(action):
        running.run(_plan_here(action, program, may_be_asked=not is_python))
        return 0
    console.notices(action.configuration.notices)
    plan.show(running.run(_plan_there(action, program)))
    return 0


def _names_session(action: Action) -> bool:
    """Whether a cluster that takes jars is named by the words, not just by some default."""
    from kubeflink.config.options import kubernetes as k8s

    if action.target == REMOTE:
        return action.line.has("m")
    return action.target == SESSION and action.configuration.contains(k8s.CLUSTER_ID)


async def _plan_here(action: Action, program: Program, *, may_be_asked: bool) -> None:
    from kubeflink.cli import client_side
    from kubeflink.cluster.client_side import show_plan

    try:
        await show_plan(program, action.configuration, client_side.hearing())
    except LocalError as error:
        if may_be_asked and error.hint:  # which says how to get a JVM
            error.hint += f"; or name a session: -t {SESSION} -Dkubernetes.cluster-id=ID"
        raise


async def _plan_there(action: Action, program: Program) -> JsonObject:
    from kubeflink.cluster.jars import check_jar

    jar = _local_jar(program)
    check_jar(jar)
    async with cluster_of(action) as cluster:
        with progress.uploading(jar.name) as on_upload:
            return await cluster.plan(
                jar,
                entry_class=program.main_class,
                args=program.arguments,
                parallelism=_positive(program.parallelism),
                options=_job_options(action, program),
                on_upload=on_upload,
            )


def application(action: Action, program: Program) -> Configuration:
    """The configuration of the application cluster that runs a program.

    As for Flink, a Python program has no jar beside it, and a jar no Python files.
    """
    from kubeflink import spec

    if program.python is not None and program.python.entry:
        program = replace(program, uri=None)
    elif program.python is not None:
        console.say("options such as -pyfs go with -py or -pym; Flink does not use them for a jar")
        program = replace(program, python=None)
    return spec.application_configuration(action.configuration, program)


async def _deploy_application(configuration: Configuration) -> None:
    from kubeflink.cli import distribution
    from kubeflink.cli.access import configured_client
    from kubeflink.cli.kubernetes_session import leaving, say_address
    from kubeflink.cluster import artifacts, deployment, preparation

    needed = artifacts.planned(configuration)
    configuration = needed.configuration
    built = distribution.build_jobmanager(configuration)
    async with configured_client(configuration) as client:
        console.notices(preparation.fitting(client, built.notices))
        if await deployment.find_rest_service(client, built.cluster_id) is not None:
            raise ClusterExistsError(
                f"the Flink cluster {built.cluster_id} exists already in namespace"
                f" {client.namespace}",
                hint="Stop it first, or choose another kubernetes.cluster-id.",
            )
        with progress.uploading_files() as on_upload:
            await needed.upload(on_upload)
        await deployment.deploy(client, built)
        done = f"Create flink application cluster {built.cluster_id}"
        with leaving(built.cluster_id, built.namespace, "app"):
            await say_address(client, configuration, built.cluster_id, done)


async def _run_jar(action: Action, program: Program) -> int:
    """Submit a jar to a running cluster and, attached, follow the job to its end."""
    from kubeflink.cluster.jars import check_jar

    jar = _local_jar(program)
    check_jar(jar)
    console.notices(action.configuration.notices)
    async with cluster_of(action) as cluster:
        job = await _submitted(cluster, jar, action, program)
        console.out(f"Job has been submitted with JobID {job.id}")
        if program.detached:
            return 0
        outcome = await _followed(job, program)
        console.out("Program execution finished")
        console.out(f"Job with JobID {job.id} has finished.")
        console.out(f"Job Runtime: {outcome.duration} ms")
    return 0


async def _submitted(cluster: SessionCluster, jar: Path, action: Action, program: Program) -> Job:
    from kubeflink.cli import client_side
    from kubeflink.config.options import client

    try:
        return await cluster.submit_jar(
            jar,
            entry_class=program.main_class,
            args=program.arguments,
            parallelism=_positive(program.parallelism),
            savepoint=program.savepoint_path,
            allow_non_restored_state=program.allow_non_restored_state or None,
            claim_mode=cast("ClaimMode | None", program.claim_mode),
            options=_job_options(action, program),
        )
    except RestStatusError as error:
        client_side.advise(error, f"-D{client.JOB_GRAPH.key}={client_side.CLIENT}")
        raise


async def _followed(job: Job, program: Program) -> JobOutcome:
    """The job's end. After Ctrl-C it goes on, or with `-sae` is cancelled."""
    try:
        return await job.wait()
    except asyncio.CancelledError:
        if program.shutdown_on_attached_exit:
            await job.cancel(wait=False)
            console.say(f"job {job.id} is being cancelled")
        else:
            console.say(f"job {job.id} goes on")
        raise


async def _run_here(action: Action, program: Program) -> int:
    """Run a program in a JVM on this side, as Flink does; in Python always, and a jar if asked.

    After Ctrl-C its jobs go on; with `-sae`, Flink's client cancels them when it is ended.
    """
    from kubeflink.cli import client_side
    from kubeflink.cluster.client_side import run_program
    from kubeflink.cluster.jars import check_jar

    if not program.is_python:
        jar = _local_jar(program)
        check_jar(jar)
        program = replace(program, uri=str(jar))
    console.notices(action.configuration.notices)
    jobs: list[str] = []
    async with cluster_of(action) as cluster:
        hearing = client_side.hearing(jobs.append)
        try:
            await run_program(cluster, program, action.configuration, hearing)
        except asyncio.CancelledError:
            end = "is being cancelled" if program.shutdown_on_attached_exit else "goes on"
            for job in jobs:
                console.say(f"job {job} {end}")
            raise
    return 0


def _job_options(action: Action, program: Program) -> dict[str, str]:
    """What the configuration and the words of `run` say about the job."""
    from kubeflink.cluster.job_options import for_job, with_classpaths

    return with_classpaths(for_job(action.configuration), program.classpaths)


def _local_jar(program: Program) -> Path:
    if program.uri is None:
        raise UsageError("no program was given", hint="Name a jar after the options.")
    return Path(program.uri.removeprefix("file://"))


def _positive(parallelism: int | None) -> int | None:
    """-1 stands for the cluster's default."""
    return parallelism if parallelism is not None and parallelism > 0 else None
