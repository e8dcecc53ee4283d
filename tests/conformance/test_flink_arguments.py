"""Command lines are read as Flink's own `CliFrontend` reads them, word for word."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from kubeflink.cli import flink_arguments, flink_options
from kubeflink.cli.flink_program import program_of
from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import UsageError
from kubeflink.spec import Program
from support.command_lines import CommandLineJudge, Parsed, generate
from support.judge import FlinkJudge

pytestmark = pytest.mark.flink

VERSIONS = ("1.20.5", "2.3.0")
LINES = 1200


@pytest.fixture(scope="module", params=VERSIONS)
def judge(request: pytest.FixtureRequest) -> Iterator[tuple[FlinkVersion, CommandLineJudge]]:
    with FlinkJudge(request.param) as flink:
        yield FlinkVersion.parse(request.param), CommandLineJudge(flink)


def actions(version: FlinkVersion) -> list[str]:
    return [each for each in flink_options.ACTIONS if each != "run-application"]


def test_the_options_are_flinks(judge: tuple[FlinkVersion, CommandLineJudge]) -> None:
    version, flink = judge
    for action in actions(version):
        ours = {
            (each.short, each.long, each.arguments, each.argument_is_optional)
            for each in flink_options.options_of(action, version)
        }

        assert ours == flink.options(action), action


def test_generated_command_lines(judge: tuple[FlinkVersion, CommandLineJudge]) -> None:
    version, flink = judge
    chance = random.Random(f"command lines {version}")
    accepted = 0
    for _ in range(LINES):
        action = chance.choice(actions(version))
        words = generate(chance, flink_options.options_of(action, version))
        if _reads_on_after_a_python_program(words):
            continue
        expected = flink.parse(action, words)
        accepted += expected.arguments is not None

        assert _parse(action, words, version) == expected, (action, words)
    assert accepted > LINES / 4, "the generated lines are too odd to tell anything"


def _reads_on_after_a_python_program(words: list[str]) -> bool:
    """The one place where we differ: after `-py X` no names are cut short."""
    return any(word.lstrip("-").startswith("py") for word in words)


def _parse(action: str, words: list[str], version: FlinkVersion) -> Parsed:
    follows = action in flink_options.PROGRAM_ACTIONS
    options = flink_options.options_of(action, version)
    try:
        line = flink_arguments.parse(options, words, program_follows=follows)
    except UsageError:
        return Parsed(None, None)
    return Parsed(tuple((o.key, values) for o, values in line.options), line.arguments)


PROGRAMS = [
    ["x.jar"],
    ["-d", "-p", "3", "-s", "sp", "-n", "-rm", "claim", "-c", "M", "x.jar", "a b", "-c", "--"],
    ["-s", "sp", "-rm", "LEGACY", "-cm", "no_claim", "x.jar"],
    ["-cm", "claim", "x.jar"],
    ["-n", "x.jar"],
    ["-C", "http://a/b.jar", "-C", "file:/x y/z", "x.jar"],
    ["-C", "s3://bucket/x.jar", "x.jar"],
    ["-C", "nothing", "x.jar"],
    ["-py", "a.py", "-pyfs", "f1,f2", "-pyreq", "r#d", "-pyexec", "p", "x", "y"],
    ["-pym", "m", "-pyfs", "f", "-j", "j.jar", "x"],
    ["-py", "a.py", "-c", "Other", "x"],
    ["-pyfs", "f", "-pyarch", "z#n", "-pyclientexec", "q", "-pypath", "pp", "j.jar", "x"],
    ["-c", "org.apache.flink.client.python.PythonGatewayServer", "x", "y"],
    ["-a", "x.jar", "y", "z", "-d", "q"],
    ["-sae", "-Dexecution.attached=false", "x.jar"],
    ["-p", "-1", "x.jar"],
    ["-p", "0", "x.jar"],
    ["-p", "+2", "x.jar"],
    ["-p", " 2", "x.jar"],
    ["-p", "2147483648", "x.jar"],
    ["-s", "a", "-rm", "foo", "x.jar"],
    ["-rm", "foo", "x.jar"],
    [],
]


@pytest.mark.parametrize("words", PROGRAMS, ids=" ".join)
def test_the_program(judge: tuple[FlinkVersion, CommandLineJudge], words: list[str]) -> None:
    version, flink = judge
    expected = flink.program(words)
    options = flink_options.options_of("run", version)
    try:
        program = program_of(flink_arguments.parse(options, words, program_follows=True))
    except UsageError:
        assert expected is None
        return

    assert expected is not None
    assert expected["jar"] == program.uri
    assert expected["main_class"] == program.entry_class
    assert list(expected["arguments"]) == program.program_arguments
    found = expected["configuration"]
    assert {key: found.get(key) for key in _meaning(program)} == _meaning(program)


def _meaning(program: Program) -> dict[str, str | None]:
    """What the configuration of a version since 1.20 says about a program."""
    recovery = "execution.state-recovery"
    parallelism, python = program.parallelism, program.python
    return {
        "execution.attached": str(not program.detached).lower(),
        "execution.shutdown-on-attached-exit": str(program.shutdown_on_attached_exit).lower(),
        "parallelism.default": None if parallelism is None else str(parallelism),
        f"{recovery}.path": program.savepoint_path,
        f"{recovery}.ignore-unclaimed-state": str(program.allow_non_restored_state).lower(),
        f"{recovery}.claim-mode": program.claim_mode or "NO_CLAIM",
        "python.files": python and python.files,
        "python.archives": python and python.archives,
        "python.requirements": python and python.requirements,
        "python.executable": python and python.executable,
        "python.client.executable": python and python.client_executable,
        "python.pythonpath": python and python.python_path,
    }
