"""`kubeflink app`: application clusters, with kubectl's habits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kubeflink.cli import console, progress, tables
from kubeflink.cli.invocation import Invocation
from kubeflink.cli.jobs import HELP_NAMES
from kubeflink.cli.parameters import (
    connection_options,
    output_option,
    property_option,
    timeout_option,
    wait_option,
)

if TYPE_CHECKING:
    from kubeflink.cluster.access import Connection
    from kubeflink.cluster.job import JobProgress
    from kubeflink.config import Configuration
    from kubeflink.kube import KubeClient
    from kubeflink.spec import Program

PYTHON_SUFFIX = ".py"


@click.group("app", context_settings=HELP_NAMES)
def app_command() -> None:
    """Start application clusters and follow them."""


@app_command.command("start", context_settings={"allow_interspersed_args": False})
@connection_options()
@click.option("-c", "--class", "entry_class", metavar="CLASS", help="The class with `main`.")
@click.option("-p", "--parallelism", type=click.IntRange(min=1), help="The job's parallelism.")
@click.option("-s", "--from-savepoint", metavar="PATH", help="The savepoint to start from.")
@click.option("--allow-non-restored-state", is_flag=True, help="Skip state that nobody takes.")
@click.option(
    "--claim-mode",
    type=click.Choice(["NO_CLAIM", "CLAIM", "LEGACY"], case_sensitive=False),
    help="Who owns the savepoint afterwards.",
)
@click.option("-C", "--classpath", "classpaths", multiple=True, metavar="URL", help="Class path.")
@click.option("--py-files", metavar="FILES", help="Python files, separated by commas.")
@property_option
@click.option("--conf-dir", metavar="DIR", help="Flink's configuration directory.")
@click.option("--image", metavar="IMAGE", help="The container image.")
@click.option("--flink-version", metavar="VERSION", help="The Flink version of the image.")
@wait_option
@timeout_option(None, "for the end of the application")
@click.option(
    "--preflight/--no-preflight",
    default=True,
    help="Ask the API server beforehand whether all that is needed is allowed.",
)
@output_option("text", "json", "yaml")
@click.argument("name")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def start(invocation: Invocation, /, *, connection: Connection, name: str, **given: Any) -> None:
    """Start the application cluster NAME with PROGRAM and follow it to its end.

    PROGRAM is where the pods find it: local:///opt/flink/usrlib/job.jar for a file of the image,
    https:// or s3:// for others; a name that ends in .py is a Python program. Words behind it are
    its arguments. The exit code tells how it ended.
    """
    from kubeflink.cli import running
    from kubeflink.cluster.access import configured
    from kubeflink.config.options import kubernetes as k8s

    options: Mapping[str, str] = given["options"]
    if given["image"] is not None:
        options = {**options, k8s.CONTAINER_IMAGE_REF.key: given["image"]}
    configuration, client = configured(
        connection,
        name,
        options,
        conf_dir=given["conf_dir"],
        flink_version=given["flink_version"] or invocation.flink_version,
        strict=invocation.strict,
    )
    running.run(_start(client, configuration, _program(given), given))


def _program(given: Mapping[str, Any]) -> Program:
    from kubeflink.spec import Program, PythonProgram

    where: str = given["program"]
    program = Program(
        uri=where,
        main_class=given["entry_class"],
        arguments=given["arguments"],
        classpaths=given["classpaths"],
        parallelism=given["parallelism"],
        detached=not given["wait"],
        savepoint_path=given["from_savepoint"],
        allow_non_restored_state=given["allow_non_restored_state"],
        claim_mode=given["claim_mode"],
    )
    if where.endswith(PYTHON_SUFFIX):
        return replace(program, uri=None, python=PythonProgram(where, files=given["py_files"]))
    return program


async def _start(
    client: KubeClient, configuration: Configuration, program: Program, given: Mapping[str, Any]
) -> None:
    from kubeflink.cli import preflight
    from kubeflink.cluster.application import ApplicationCluster

    async with client:
        if given["preflight"]:
            await preflight.check(client, configuration)
        app = await ApplicationCluster.deploy_configured(client, configuration, program)
        async with app:
            if not given["wait"]:
                _show({"name": app.name, "namespace": app.namespace, "uid": app.uid}, given)
                return
            outcome = await _follow(app, given["timeout"])
            _show(tables.plain(outcome), given)
            outcome.check()


async def _follow(app: Any, timeout: float | None) -> Any:
    with progress.waiting(f"Starting the application cluster {app.name}") as tell:

        def on_progress(seen: JobProgress) -> None:
            tell(f"{seen.name or seen.job_id}: {seen.state}")

        return await app.wait(
            timeout=timeout,
            check=False,
            on_progress=on_progress,
            on_stage=lambda stage: tell(f"{app.name}: {stage.text}"),
        )


def _show(found: dict[str, Any], given: Mapping[str, Any]) -> None:
    if given["output"] != "text":
        tables.document(found, given["output"])
    elif "state" in found:
        console.out(f"The job {found['name']} ({found['job_id']}) ended as {found['state']}")
    else:
        where = f"{found['name']} in namespace {found['namespace']}"
        console.out(f"The application cluster {where} is being started")


@app_command.command("stop")
@click.argument("name")
@connection_options()
@click.option(
    "--ha-data",
    type=click.Choice(["keep", "delete"]),
    default="keep",
    show_default=True,
    help="What becomes of the data of high availability.",
)
@click.option("--force", is_flag=True, help="Also a cluster that an operator rules.")
@wait_option
@timeout_option("2m", "until everything is gone")
def stop(
    name: str, *, connection: Connection, ha_data: str, force: bool, wait: bool, timeout: float
) -> None:
    """Delete the application cluster NAME; its job is not asked for a savepoint."""
    from kubeflink.cli import running
    from kubeflink.cli.session import delete

    running.run(delete(connection, name, ha_data=ha_data, force=force, wait=wait, timeout=timeout))
