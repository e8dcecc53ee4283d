"""Copying what an application needs to where its pods fetch it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflink.cluster import artifacts
from kubeflink.cluster.artifacts import Artifacts
from kubeflink.config import Configuration
from kubeflink.errors import ConfigurationError, KubeflinkError
from kubeflink.spec import Program, application_configuration
from support.clusters import configuration

ENABLED = "kubernetes.artifacts.local-upload-enabled"
TARGET = "kubernetes.artifacts.local-upload-target"
OVERWRITE = "kubernetes.artifacts.local-upload-overwrite"
LIST = "user.artifacts.artifact-list"


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    jar = tmp_path / "my job.jar"
    jar.write_bytes(b"the jar")
    return jar


def application(jar: Path, version: str = "2.3.0", **values: object) -> Configuration:
    made = configuration(values, version=version)
    return application_configuration(made, Program(uri=f"local://{str(jar).replace(' ', '%20')}"))


def test_without_the_option_nothing_is_copied(jar: Path, tmp_path: Path) -> None:
    given = application(jar, **{TARGET: f"file://{tmp_path}/up"})

    assert artifacts.planned(given) == Artifacts(given, ())


def test_a_version_that_cannot_upload(jar: Path, tmp_path: Path) -> None:
    given = application(jar, "1.19.3", **{ENABLED: True, TARGET: f"file://{tmp_path}/up"})

    assert artifacts.planned(given) == Artifacts(given, ())


async def test_local_files_are_copied_and_named_anew(jar: Path, tmp_path: Path) -> None:
    other = tmp_path / "udf.jar"
    other.write_bytes(b"a function")
    listed = f"https://example.org/a.jar;local://{other}"
    target = tmp_path / "up"
    given = application(jar, **{ENABLED: True, TARGET: f"file://{target}", LIST: listed})
    needed = artifacts.planned(given)
    assert not target.exists()
    await needed.upload()

    made = needed.configuration
    assert made.raw("pipeline.jars") == (f"file:{target}/my job.jar",)
    assert made.raw(LIST) == ("https://example.org/a.jar", f"file:{target}/udf.jar")
    assert (target / "my job.jar").read_bytes() == b"the jar"
    assert (target / "udf.jar").read_bytes() == b"a function"


@pytest.mark.parametrize(("overwrite", "content"), [(False, b"older"), (True, b"the jar")])
async def test_what_is_there_is_kept_unless_overwriting_is_asked_for(
    jar: Path, tmp_path: Path, overwrite: bool, content: bytes
) -> None:
    target = tmp_path / "up"
    target.mkdir()
    (target / jar.name).write_bytes(b"older")
    given = application(jar, **{ENABLED: True, TARGET: f"file://{target}", OVERWRITE: overwrite})
    await artifacts.planned(given).upload()

    assert (target / jar.name).read_bytes() == content


def test_a_target_is_needed(jar: Path) -> None:
    with pytest.raises(ConfigurationError, match=TARGET):
        artifacts.planned(application(jar, **{ENABLED: True}))


def test_a_store_without_a_library_is_refused_with_the_way_round(jar: Path) -> None:
    with pytest.raises(ConfigurationError, match="ftp://") as refused:
        artifacts.planned(application(jar, **{ENABLED: True, TARGET: "ftp://server/jars"}))

    assert (
        refused.value.hint == "Copy the file there yourself and name it: ftp://server/jars/job.jar"
    )


def test_two_files_of_one_name_are_refused(jar: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    listed = f"local://{tmp_path}/other/{jar.name.replace(' ', '%20')}"
    options = {ENABLED: True, TARGET: f"file://{tmp_path}/up", LIST: listed}

    with pytest.raises(ConfigurationError, match="the same name"):
        artifacts.planned(application(jar, **options))


async def test_an_upload_that_is_cancelled_leaves_nothing(jar: Path, tmp_path: Path) -> None:
    with jar.open("wb") as file:
        file.truncate(64 * artifacts.PIECE)
    target = tmp_path / "up"
    needed = artifacts.planned(application(jar, **{ENABLED: True, TARGET: f"file://{target}"}))
    begun = asyncio.Event()
    upload = asyncio.create_task(needed.upload(lambda *_: begun.set()))
    await begun.wait()
    upload.cancel()
    with pytest.raises(asyncio.CancelledError):
        await upload

    assert not list(target.iterdir())


async def test_a_file_that_is_missing(tmp_path: Path) -> None:
    given = application(tmp_path / "no.jar", **{ENABLED: True, TARGET: f"file://{tmp_path}/up"})

    with pytest.raises(KubeflinkError, match=r"no\.jar cannot be uploaded"):
        await artifacts.planned(given).upload()


# --- what does not go on -----------------------------------------------------------------------


@pytest.fixture
def stuck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that nobody can read to its end; the threads that tried have ended afterwards."""
    monkeypatch.setattr(artifacts, "ANSWER_SECONDS", 0.2)
    file = tmp_path / "stuck.jar"
    os.mkfifo(file)
    yield file
    (thread,) = [each for each in threading.enumerate() if each.name == "upload of stuck.jar"]
    with contextlib.suppress(BrokenPipeError):  # it lets go as soon as it can be opened
        file.write_bytes(b"late")
    thread.join(60.0)
    assert not thread.is_alive()
    assert not list(tmp_path.joinpath("up").iterdir())


async def test_an_upload_that_does_not_go_on_is_given_up(stuck: Path, tmp_path: Path) -> None:
    given = application(stuck, **{ENABLED: True, TARGET: f"file://{tmp_path}/up"})

    with pytest.raises(KubeflinkError, match=r"stuck\.jar cannot be uploaded") as given_up:
        await artifacts.planned(given).upload()

    assert "nothing could be written for 0.2 s" in given_up.value.message
    assert given_up.value.hint == "Is what is mounted there still connected?"


async def test_a_cancellation_does_not_wait_for_what_does_not_go_on(
    stuck: Path, tmp_path: Path
) -> None:
    given = application(stuck, **{ENABLED: True, TARGET: f"file://{tmp_path}/up"})
    upload = asyncio.create_task(artifacts.planned(given).upload())
    await asyncio.sleep(0)
    upload.cancel()

    with pytest.raises(asyncio.CancelledError):
        await upload
