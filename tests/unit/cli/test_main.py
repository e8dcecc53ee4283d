"""The entry point: which world a command belongs to, what errors look like, what is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kubeflink.cli import extras, flink_commands, main
from kubeflink.cli import invocation as invocations
from kubeflink.cli.invocation import Invocation

from .conftest import SIZES, Call

HEAVY = {"aiohttp", "rich", "lightkube", "httpx2", "msgspec", "anyio"}


def test_help_is_on_stdout(call: Call) -> None:
    found = call("--help")

    assert (found.code, found.err) == (0, "")
    assert "kubernetes-session" in found.out
    assert call().out == found.out


@pytest.mark.parametrize("command", ["kubernetes-session", *flink_commands.SHARED])
def test_each_flink_command_has_help(call: Call, command: str) -> None:
    found = call(command, "--help")

    assert (found.code, found.err) == (0, "")
    assert found.out.startswith(f"Usage: kubeflink {command} ")


@pytest.mark.parametrize(
    "words",
    [
        ("session", "start"),
        ("app", "start"),
        ("run", "--session", "x"),
        ("clusters",),
        ("describe",),
        ("logs",),
        ("ui",),
        ("local", "up"),
        ("demo",),
        ("manifest", "session"),
        ("diff", "application"),
        ("options",),
        ("completion",),
    ],
    ids=" ".join,
)
def test_each_own_command_has_help(call: Call, words: tuple[str, ...]) -> None:
    found = call(*words, "--help")

    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("Usage: kubeflink ")


@pytest.mark.parametrize("other", ["--jobmanager", "--taskmanagers"])
def test_the_brokers_log_is_read_by_itself(call: Call, other: str) -> None:
    found = call("logs", "demo", "--broker", other)

    assert found.code == 2
    assert "--broker goes with neither --jobmanager nor --taskmanagers" in found.err


def test_version(call: Call) -> None:
    from kubeflink import __version__

    assert call("--version").out == f"kubeflink {__version__}\n"


def test_a_misspelt_command(call: Call) -> None:
    found = call("sesion", "start")

    assert found.code == 2
    assert found.err == "kubeflink: there is no command sesion\n  Did you mean session?\n"


def test_a_wrong_option_of_an_own_command(call: Call) -> None:
    found = call("session", "start", "--nope")

    assert found.code == 2
    first, second = found.err.splitlines()
    assert first.startswith("kubeflink: no such option")
    assert second == "  See kubeflink session start --help."


def test_no_kubeconfig(call: Call) -> None:
    found = call("kubernetes-session", "-Dkubernetes.cluster-id=demo", *SIZES)

    assert found.code == 1
    assert "kubeconfig" in found.err
    assert len(found.err.splitlines()) <= 4


def test_an_argument_that_is_no_utf8(call: Call) -> None:
    found = call("kubernetes-session", "-Dkubernetes.cluster-id=\udcff")

    assert found.code == 2
    assert "is not valid UTF-8" in found.err


def test_a_bug_gives_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(flink_commands, "run", fail)

    with pytest.raises(ZeroDivisionError):
        main(["kubernetes-session"])


def test_an_interrupt_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(flink_commands, "run", interrupt)

    assert main(["kubernetes-session"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_goes_away_is_no_error() -> None:
    script = "import sys; from kubeflink.cli import main; sys.exit(main(['options']))"
    command = f'{sys.executable} -c "{script}"; echo $? >&2'
    done = subprocess.run(
        ["bash", "-c", f"({command}) | head -1"], capture_output=True, text=True, check=True
    )

    assert done.stderr in ("141\n", "0\n")  # 0: everything had been written before


@pytest.mark.parametrize(
    ("words", "redirection", "code", "printed"),
    [
        ("options", ">&-", 0, ""),
        ("options nothing-is-called-so", ">&- 2>&-", 2, ""),
        (
            "options",
            ">/dev/full",
            1,
            "kubeflink: The output cannot be written: No space left on device\n",
        ),
    ],
)
def test_an_output_that_takes_nothing(
    words: str, redirection: str, code: int, printed: str
) -> None:
    script = "import sys; from kubeflink.cli import main; sys.exit(main())"
    command = f'{sys.executable} -c "{script}" {words} {redirection}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (code, printed)


@pytest.mark.parametrize("group", ["session", "app", "local", "manifest", "diff"])
def test_a_group_without_a_command_shows_its_help_as_an_error(call: Call, group: str) -> None:
    found = call(group)

    assert (found.code, found.out) == (2, "")
    assert found.err == call(group, "--help").out


def test_a_missing_argument_is_one_line_and_where_to_look(call: Call) -> None:
    found = call("completion")

    assert found.code == 2
    first, second = found.err.splitlines()
    assert first.startswith("kubeflink: missing argument")
    assert second == "  See kubeflink completion --help."


@pytest.mark.parametrize("option", ["--namespace", "--context", "--kubeconfig"])
@pytest.mark.parametrize("value", ["", " "])
def test_an_empty_variable_does_not_lead_to_another_place(
    call: Call, option: str, value: str
) -> None:
    found = call("session", "stop", "demo", option, value)

    assert found.code == 2
    assert found.err.splitlines()[0] == f"kubeflink: {option} has no value"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--flink-version", "1.20", "x"], (Invocation(flink_version="1.20"), ["x"])),
        (["--flink-version=1.20", "--strict"], (Invocation("1.20", strict=True), [])),
        (["-v", "-vv", "run", "-v"], (Invocation(verbose=3), ["run", "-v"])),
        (["run", "--strict"], (Invocation(), ["run", "--strict"])),
    ],
)
def test_options_in_front(words: list[str], expected: tuple[Invocation, list[str]]) -> None:
    assert invocations.split(words) == expected


@pytest.mark.parametrize(
    ("command", "words", "is_flinks"),
    [
        ("run", ["-t", "kubernetes-session", "job.jar"], True),
        ("run", ["job.jar", "--session", "x"], True),
        ("run", ["--", "job.jar", "--session", "x"], True),
        ("run", ["-py", "job.py", "x", "--session", "y"], True),
        ("run", ["--session", "demo", "job.jar"], False),
        ("run", ["--session=demo", "job.jar"], False),
        ("run", ["--namespace", "ns", "--session", "demo", "job.jar"], False),
        ("run", ["-d", "-p", "2", "--app", "demo", "job.jar"], False),
        ("list", ["-a"], True),
        ("list", ["--session", "demo"], False),
        ("list", ["-o", "json", "--session", "demo"], False),
        ("cancel", ["--session", "demo", "a" * 32], False),
        ("checkpoint", ["--session", "demo"], False),
        ("kubernetes-session", ["--session", "demo"], True),
    ],
)
def test_the_two_worlds(command: str, words: list[str], is_flinks: bool) -> None:
    assert flink_commands.are_meant(Invocation(), command, words) is is_flinks


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["run", "--help"],
        ["session", "start", "--help"],
        ["run", "-t", "kubernetes-application", "-Dkubernetes.cluster-id=A", "local:///a.jar"],
        ["kubernetes-session", "--bogus"],
        ["options", "cluster-id"],
        ["completion", "bash"],
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_imported_before_it_is_needed(words: list[str]) -> None:
    code = (
        "import sys; from kubeflink.cli import main; main(sys.argv[1:]);"
        "print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert not HEAVY & set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("demo",), "local"),
        (("demo", "--keep"), "local"),
        (("local", "up"), "local"),
        (("broker", "demo", "--write-kubeconfig", "kubeconfig"), "broker"),
    ],
)
def test_what_pip_has_left_out_is_named_with_its_extra(
    call: Call, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], extra: str
) -> None:
    """As after `pip install kubeflink`."""
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    found = call(*words)

    assert found.code == 1
    first, second = found.err.splitlines()
    assert first.endswith("needs what is not installed: aiohttp, cryptography")
    assert second == f"  Install it: pip install 'kubeflink[{extra}]'"
