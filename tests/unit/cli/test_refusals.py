"""What people copy and mistype: refused before any request, with the form that was meant.

The names are those of the cases in docs/deviations.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflink.rest.transport import FirstContact

from .conftest import SIZES, Call

SESSION = ("kubernetes-session", "-Dkubernetes.cluster-id=demo", *SIZES)
APPLICATION = ("run", "-t", "kubernetes-application", "-Dkubernetes.cluster-id=demo", *SIZES)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("-kubernetes.container.image.ref=x",), "Write -Dkubernetes.container.image.ref=x."),
        (("--Dkubernetes.namespace=v",), "Write -Dkubernetes.namespace=v."),
        (
            ("-D", "kubernetes.namespace", "=", "v"),
            "Write -Dkubernetes.namespace=v without blanks.",
        ),
        (("kubernetes.namespace=v",), "Write -Dkubernetes.namespace=v."),
        (("words", "of", "a", "comment"), "Is a backslash missing at the end of a line?"),
        (("--bogus",), "See --help for the options"),
    ],
)
def test_a_session_with_a_mistyped_option(call: Call, words: tuple[str, ...], meant: str) -> None:
    found = call(*SESSION, *words)

    assert found.code == 2
    assert meant in found.err


def test_an_application_with_a_mistyped_option(call: Call) -> None:
    found = call(*APPLICATION, "-kubernetes.container.image.ref=x", "local:///job.jar")

    assert found.code == 2
    assert "Write -Dkubernetes.container.image.ref=x." in found.err


def test_a_comment_that_becomes_the_program(call: Call) -> None:
    found = call(*APPLICATION, "--", "Memory", "settings", "-Dk=v")

    assert found.code == 2
    assert "the program Memory does not exist, and options stand after it: -Dk=v" in found.err


@pytest.mark.parametrize(
    "word",
    [
        "-Dtaskmanager.memory.process.size=gb",
        "-Dtaskmanager.memory.process.size=",
        "-Dkubernetes.taskmanager.cpu=",
        "-Dtaskmanager.numberOfTaskSlots",
    ],
)
def test_an_empty_shell_variable(call: Call, word: str) -> None:
    found = call(*SESSION, word)

    assert found.code == 2
    assert word[2:].partition("=")[0] in found.err


@pytest.mark.parametrize("cluster_id", ["My_Cluster", "1abc", "a-", "A", "", "a" * 46])
def test_an_impossible_cluster_id(call: Call, cluster_id: str) -> None:
    found = call("kubernetes-session", f"-Dkubernetes.cluster-id={cluster_id}", *SIZES)

    assert found.code == 2
    assert "kubernetes.cluster-id" in found.err


def test_a_cluster_id_of_the_greatest_length_is_not_refused(call: Call) -> None:
    found = call("kubernetes-session", f"-Dkubernetes.cluster-id={'a' * 45}", *SIZES)

    assert found.code == 1  # only the kubeconfig is missing
    assert "kubeconfig" in found.err


def test_the_action_that_version_2_no_longer_has(call: Call) -> None:
    found = call("run-application", "-t", "kubernetes-application", "local:///job.jar")

    assert found.code == 2
    assert "run -t kubernetes-application" in found.err


def test_the_target_that_version_1_does_not_have_yet(call: Call) -> None:
    found = call("--flink-version", "1.20", *APPLICATION, "local:///job.jar")

    assert found.code == 2
    assert "run-application -t kubernetes-application" in found.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "-t", "kubernetes-application"), "no program was given"),
        (("run", "-t", "yarn-session", "local:///a.jar"), "there is no target yarn-session here"),
        (("run", "-t", "kubernetes-session", "no.jar"), "There is no file no.jar"),
        (("run", "-p", "0", "local:///a.jar"), "the parallelism must be a positive number, not 0"),
        (("run", "-s", "x", "-cm", "mine", "local:///a.jar"), "mine is no claim mode"),
        (("run", "-C", "lib.jar", "local:///a.jar"), "the class path lib.jar is no URL"),
        (("cancel",), "no job was named"),
        (("cancel", "xyz"), "xyz is no job id"),
        (("stop", "-type", "odd", "a" * 32), "odd is no format of a savepoint"),
        (("list", "-t", "kubernetes-session"), "no cluster was named"),
        (("list",), "no cluster was named"),
        (("list", "-m", "nowhere"), "nowhere is no HOST:PORT"),
        (("list", "--session", "a", "--app", "b"), "name one cluster"),
        (("run", "--session", "demo"), "name one program"),
        (
            ("manifest", "taskmanager", "--attempt", "0", *SIZES),
            "--attempt must be a number from 1",
        ),
        (("manifest", "session", "-o", "table", *SIZES), "table is no form of output"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_request_that_cannot_be_meant(call: Call, words: tuple[str, ...], message: str) -> None:
    found = call(*words)

    assert found.code == 2
    assert message in found.err
    assert found.out == "" or found.out.startswith(("Suspending", "Waiting"))


def test_a_local_jar_for_an_application(call: Call, tmp_path: object) -> None:
    from pathlib import Path

    Path("job.jar").write_bytes(b"PK")
    found = call(*APPLICATION, "job.jar")

    assert found.code == 2
    assert "local:///opt/flink/usrlib/job.jar" in found.err


def test_arguments_of_the_program_are_no_options_of_ours(call: Call) -> None:
    found = call("manifest", "application", *APPLICATION[1:], "local:///a.jar", "-Dk=v", "--a", "1")

    assert found.code == 0
    assert "- -Dk=v" in found.out
    assert "k: v" not in found.out


@pytest.mark.parametrize(
    ("version", "message"),
    [("9.9", "Flink 9.9 is not supported"), ("new", "is no Flink version"), ("", "needs a value")],
)
@pytest.mark.parametrize(
    "words",
    [
        ("--flink-version", "{}", "clusters"),
        ("--flink-version={}", "--help"),
        ("--flink-version", "{}", "list", "-m", "127.0.0.1:1"),
        ("session", "start", "demo", "--flink-version", "{}"),
        ("app", "start", "--flink-version", "{}", "demo", "local:///a.jar"),
        ("manifest", "session", "--flink-version", "{}", *SIZES),
        ("options", "--flink-version", "{}"),
    ],
    ids=" ".join,
)
def test_a_version_that_there_is_not(
    call: Call, words: tuple[str, ...], version: str, message: str
) -> None:
    found = call(*(word.format(version) for word in words))

    assert found.code == 2
    assert message in found.err
    assert found.out == ""


@pytest.mark.parametrize(
    "words",
    [("session", "start", "demo"), ("app", "start", "demo")],
    ids=" ".join,
)
@pytest.mark.parametrize("image", ["", " "])
def test_an_image_without_a_name(call: Call, words: tuple[str, ...], image: str) -> None:
    found = call(*words, "--image", image)

    assert found.code == 2
    assert "--image has no value" in found.err


@pytest.mark.parametrize(
    ("words", "is_told"),
    [
        ((), True),
        (("-t", "remote"), True),
        (("-m", "127.0.0.1:1"), False),
        (("-Drest.address=127.0.0.1",), False),
    ],
)
def test_an_address_that_nobody_gave_and_nobody_serves(
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: tuple[str, ...],
    is_told: bool,
) -> None:
    """Flink's file has `rest.address: localhost`: `list` without a cluster looks there."""
    soon = FirstContact(refused=0.1, failing=0.1)
    monkeypatch.setattr("kubeflink.rest.transport.FirstContact", lambda: soon)
    lines = "rest.address: 127.0.0.1\nrest.port: 1\n"
    (tmp_path / "config.yaml").write_text(lines, encoding="utf-8")
    monkeypatch.setenv("FLINK_CONF_DIR", str(tmp_path))
    found = call("list", *words)

    assert found.code == 1
    assert "JobManager 127.0.0.1:1 cannot be reached" in found.err
    assert ("-t kubernetes-session -Dkubernetes.cluster-id=ID" in found.err) is is_told
