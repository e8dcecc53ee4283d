"""`kubeflink manifest` and `kubeflink diff`: what would be created, without creating it.

The arguments are those of Flink's own commands: of `kubernetes-session` for a session, of `run` for
an application. Our few options may stand in front of them or, because everything behind a program
belongs to the program, at the very end. click could not read that, so these words are taken off
both ends here, and click sees none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from kubeflink.cli import console
from kubeflink.cli.invocation import Invocation, checked_version
from kubeflink.errors import UsageError

if TYPE_CHECKING:
    from kubeflink.config import Configuration

FORMATS = ("yaml", "json")

_VALUES = {
    "-o": "output",
    "--output": "output",
    "--attempt": "attempt",
    "--index": "index",
    "--flink-version": "flink_version",
}
_FLAGS = {"--application": "application"}


@dataclass(frozen=True, slots=True)
class Request:
    """Our own options, and the words that are Flink's. `application` is for TaskManagers."""

    words: tuple[str, ...] = ()
    output: str = "yaml"
    attempt: str = "1"
    index: str = "1"
    flink_version: str | None = None
    application: bool = False

    def number(self, name: str) -> int:
        """The attempt or the index; both count from 1."""
        text: str = getattr(self, name)
        if not text.isdecimal() or int(text) < 1:
            raise UsageError(f"--{name} must be a number from 1, not {text}")
        return int(text)


def read(words: Sequence[str]) -> Request:
    """Take our options off the front and the end of the words."""
    rest = list(words)
    found: dict[str, Any] = {}
    while taken := _at_end(rest):
        name, value, count = taken
        found.setdefault(name, value)
        rest = rest[:-count]
    while taken := _at_front(rest):
        name, value, count = taken
        found.setdefault(name, value)
        rest = rest[count:]
    request = replace(Request(), words=tuple(rest), **found)
    if request.output not in FORMATS:
        raise UsageError(f"{request.output} is no form of output", hint="It is yaml or json.")
    return request


def _at_front(words: list[str]) -> tuple[str, object, int] | None:
    """Name, value and number of words of our option at the front; None if there is none."""
    if not words:
        return None
    if words[0] in _VALUES and len(words) > 1:
        return _VALUES[words[0]], words[1], 2
    return _in_one_word(words[0])


def _at_end(words: list[str]) -> tuple[str, object, int] | None:
    """The same at the end. `--output FILE` there is the program's, if FILE is none of ours."""
    if not words:
        return None
    if len(words) > 1 and words[-2] in _VALUES:
        name = _VALUES[words[-2]]
        return None if name == "output" and words[-1] not in FORMATS else (name, words[-1], 2)
    found = _in_one_word(words[-1])
    return None if found and found[0] == "output" and found[1] not in FORMATS else found


def _in_one_word(word: str) -> tuple[str, object, int] | None:
    name, equals, value = word.partition("=")
    if equals and name in _VALUES:
        return _VALUES[name], value, 1
    return (_FLAGS[word], True, 1) if word in _FLAGS else None


class FlinkWords(click.Command):
    """A command whose words click hands on as they are; they are in the context's `args`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] in ("-h", "--help") and not ctx.resilient_parsing:
            console.out(ctx.get_help())
            ctx.exit()
        ctx.args = list(args)
        return ctx.args

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[-o yaml|json] ARGUMENTS ..."]


@click.group("manifest", context_settings={"help_option_names": ["-h", "--help"]})
def manifest_command() -> None:
    """Print what would be created, without an API server."""


@manifest_command.command("session", cls=FlinkWords)
@click.pass_context
def manifest_session(ctx: click.Context) -> None:
    """Print the objects of a session cluster; the arguments are those of kubernetes-session.

    The accompanying objects carry no reference to their Deployment, because its uid is not known
    before it exists: who deletes such a cluster deletes by the label app=ID.
    """
    request = read(ctx.args)
    _print_cluster(request, _session(ctx.obj, request))


@manifest_command.command("application", cls=FlinkWords)
@click.pass_context
def manifest_application(ctx: click.Context) -> None:
    """Print the objects of an application cluster; the arguments are those of run."""
    request = read(ctx.args)
    _print_cluster(request, _application(ctx.obj, request))


@manifest_command.command("taskmanager", cls=FlinkWords)
@click.pass_context
def manifest_taskmanager(ctx: click.Context) -> None:
    """Print a TaskManager pod as the JobManager of the cluster would create it.

    Further options: --application (the arguments are those of run), --attempt N (which start of
    the JobManager) and --index N (which worker), both from 1. The uid of its owner is a
    placeholder, because it is not known before the Deployment exists.
    """
    from kubeflink.cli import distribution
    from kubeflink.config.options import kubernetes
    from kubeflink.spec.manifest import manifest, with_namespace

    request = read(ctx.args)
    deployed = _application if request.application else _session
    configuration = deployed(ctx.obj, request)
    console.notices(configuration.notices)
    pod = distribution.build_taskmanager_pod(
        configuration, attempt=request.number("attempt"), index=request.number("index")
    )
    namespace = configuration.get(kubernetes.NAMESPACE)
    console.raw(manifest(with_namespace(pod, namespace), request.output))


@click.group("diff", context_settings={"help_option_names": ["-h", "--help"]})
def diff_command() -> None:
    """Compare what would be created with what is there. Exit code 1: there are differences."""


@diff_command.command("session", cls=FlinkWords)
@click.pass_context
def diff_session(ctx: click.Context) -> int:
    """Compare a session cluster; the arguments are those of kubernetes-session."""
    return _print_differences(_session(ctx.obj, read(ctx.args)))


@diff_command.command("application", cls=FlinkWords)
@click.pass_context
def diff_application(ctx: click.Context) -> int:
    """Compare an application cluster; the arguments are those of run."""
    return _print_differences(_application(ctx.obj, read(ctx.args)))


# --- the cluster that is meant ---------------------------------------------------------------


def _session(invocation: Invocation, request: Request) -> Configuration:
    from kubeflink.cli import kubernetes_session

    return kubernetes_session.session(_for(invocation, request), list(request.words))


def _application(invocation: Invocation, request: Request) -> Configuration:
    from kubeflink.cli import flink_actions, flink_options, flink_program, flink_run
    from kubeflink.cli.flink_arguments import parse
    from kubeflink.cluster import artifacts

    invocation = _for(invocation, request)
    options = flink_options.options_of("run", invocation.version)
    action = flink_actions.prepared(
        invocation, "run", parse(options, request.words, program_follows=True)
    )
    program = flink_program.program_of(action.line)
    flink_program.check_program(program)
    return artifacts.planned(flink_run.application(action, program)).configuration


def _for(invocation: Invocation, request: Request) -> Invocation:
    if request.flink_version is None:
        return invocation
    return replace(invocation, flink_version=checked_version(request.flink_version))


# --- output ----------------------------------------------------------------------------------


def _print_cluster(request: Request, configuration: Configuration) -> None:
    from kubeflink.cli import distribution
    from kubeflink.spec.manifest import cluster_manifest

    built = distribution.build_jobmanager(configuration)
    console.notices(built.notices)
    console.raw(cluster_manifest(built, request.output))


def _print_differences(configuration: Configuration) -> int:
    from kubeflink.cli import distribution, running
    from kubeflink.cli.access import configured_client
    from kubeflink.cluster import difference, preparation

    built = distribution.build_jobmanager(configuration)

    async def compare() -> list[difference.Difference]:
        async with configured_client(configuration) as client:
            console.notices(preparation.fitting(client, built.notices))
            return await difference.differences(client, built)

    found = running.run(compare())
    for each in found:
        console.out(str(each))
    return 1 if found else 0
