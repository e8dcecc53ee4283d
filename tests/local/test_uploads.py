"""Uploads of an application's files to a real S3 server."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubeflink.cluster import artifacts
from kubeflink.config import Configuration
from kubeflink.errors import KubeflinkError
from kubeflink.spec import Program, application_configuration
from support.clusters import configuration
from support.extras import object_store_python
from support.left_out import left_out
from support.object_store import KEY, SECRET, ObjectStore, object_store
from support.useless_store import UselessStore, refusal, upload, useless_store

ENABLED = "kubernetes.artifacts.local-upload-enabled"
TARGET = "kubernetes.artifacts.local-upload-target"
OVERWRITE = "kubernetes.artifacts.local-upload-overwrite"
MIB = 1024 * 1024

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as store:
        yield store


@pytest.fixture
def bucket(store: ObjectStore, request: pytest.FixtureRequest) -> str:
    name = f"b{abs(hash(request.node.name)):x}"
    store.make(name)
    return name


@pytest.fixture(autouse=True)
def _no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # there is no such service to ask
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")


def jar_of(directory: Path, size: int) -> Path:
    path = directory / "my job.jar"
    with path.open("wb") as file:
        file.write(os.urandom(1024))
        file.truncate(size)
    return path


def application(jar: Path, target: str, **values: object) -> Configuration:
    made = configuration({ENABLED: True, TARGET: target, **values})
    return application_configuration(made, Program(uri=f"local://{str(jar).replace(' ', '%20')}"))


@pytest.mark.parametrize("size", [0, 1024, 20 * MIB], ids=["empty", "one request", "in parts"])
async def test_a_local_jar_is_uploaded_and_named_anew(
    store: ObjectStore, bucket: str, tmp_path: Path, size: int
) -> None:
    jar = jar_of(tmp_path, max(size, 1024)) if size else tmp_path / "my job.jar"
    if not size:
        jar.touch()
    told: list[tuple[str, int, int]] = []

    needed = artifacts.planned(application(jar, f"s3://{bucket}//jars/", **store.options()))
    assert store.keys(bucket) == []
    await needed.upload(lambda *progress: told.append(progress))

    assert needed.configuration.raw("pipeline.jars") == (f"s3://{bucket}/jars/my job.jar",)
    assert store.keys(bucket) == ["jars/my job.jar"]
    assert store.get(bucket, "jars/my job.jar") == jar.read_bytes()
    assert store.unfinished(bucket) == []
    assert told[0] == ("my job.jar", 0, size)
    assert told[-1] == ("my job.jar", size, size)
    assert told == sorted(told)


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
@pytest.mark.parametrize(("overwrite", "content"), [(False, b"older"), (True, b"newer")])
async def test_what_is_there_is_kept_unless_overwriting_is_asked_for(
    store: ObjectStore, bucket: str, tmp_path: Path, scheme: str, overwrite: bool, content: bytes
) -> None:
    jar = tmp_path / "job.jar"
    jar.write_bytes(b"newer")
    store.put(bucket, "job.jar", b"older")
    options = {**store.options(), OVERWRITE: overwrite}

    needed = artifacts.planned(application(jar, f"{scheme}://{bucket}", **options))
    await needed.upload()

    assert needed.configuration.raw("pipeline.jars") == (f"{scheme}://{bucket}/job.jar",)
    assert store.get(bucket, "job.jar") == content


async def test_an_upload_that_is_cancelled_leaves_nothing(
    store: ObjectStore, bucket: str, tmp_path: Path
) -> None:
    jar = jar_of(tmp_path, 64 * MIB)
    needed = artifacts.planned(application(jar, f"s3://{bucket}/jars", **store.options()))
    halfway = asyncio.Event()
    upload = asyncio.create_task(
        needed.upload(lambda _, done, total: halfway.set() if done * 2 >= total else None)
    )
    await halfway.wait()
    upload.cancel()
    with pytest.raises(asyncio.CancelledError):
        await upload

    assert store.keys(bucket) == []
    assert store.unfinished(bucket) == []


async def test_a_file_that_cannot_be_read_leaves_nothing(
    store: ObjectStore, bucket: str, tmp_path: Path
) -> None:
    jar = tmp_path / "jar"
    jar.mkdir()  # can be opened by nobody as a file
    needed = artifacts.planned(application(jar, f"s3://{bucket}/jars", **store.options()))

    with pytest.raises(KubeflinkError, match=rf"jar cannot be uploaded to s3://{bucket}/jars/jar"):
        await needed.upload()

    assert store.keys(bucket) == []
    assert store.unfinished(bucket) == []


async def test_a_bucket_that_does_not_exist(store: ObjectStore, tmp_path: Path) -> None:
    jar = jar_of(tmp_path, 1024)
    needed = artifacts.planned(application(jar, "s3://nobodys/jars", **store.options()))

    with pytest.raises(KubeflinkError, match=r"cannot be uploaded to s3://nobodys/.*bucket"):
        await needed.upload()


async def test_without_an_account_the_options_are_named(
    store: ObjectStore, bucket: str, tmp_path: Path
) -> None:
    jar = jar_of(tmp_path, 1024)
    needed = artifacts.planned(
        application(jar, f"s3://{bucket}/jars", **{"s3.endpoint": store.url})
    )

    with pytest.raises(KubeflinkError, match=r"redentials") as refused:
        await needed.upload()

    assert refused.value.hint is not None
    assert "s3.access-key" in refused.value.hint
    assert "AWS_ACCESS_KEY_ID" in refused.value.hint


async def test_a_refusal_shows_no_secret(store: ObjectStore, bucket: str, tmp_path: Path) -> None:
    jar = jar_of(tmp_path, 1024)
    needed = artifacts.planned(application(jar, f"s3://{bucket}/jars", **store.options()))
    store.want_accounts()
    try:
        with pytest.raises(KubeflinkError, match="cannot be uploaded") as refused:
            await needed.upload()
    finally:
        store.want_no_accounts()

    shown = f"{refused.value.message} {refused.value.hint}"
    assert SECRET not in shown
    assert "s3.access-key" in shown


async def test_a_store_that_cannot_be_reached(tmp_path: Path) -> None:
    jar = jar_of(tmp_path, 1024)
    nobody = {"s3.endpoint": "http://127.0.0.1:1", "s3.access-key": KEY, "s3.secret-key": SECRET}
    needed = artifacts.planned(application(jar, "s3://bucket/jars", **nobody))

    with pytest.raises(KubeflinkError, match=r"127\.0\.0\.1:1"):
        await needed.upload()


_UPLOADS = """
import asyncio, resource, sys
from kubeflink.cluster.artifacts import Artifacts, Upload
from kubeflink.config import load
from pathlib import Path
jar, target, *pairs = sys.argv[1:]
options = dict(pair.split("=", 1) for pair in pairs)
configuration = load(conf_dir=None, overrides=options, environ={})
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = []
def tell(name, done, total):
    if not before and done >= 3 * 8 * 1024 * 1024: before.append(peak())
asyncio.run(Artifacts(configuration, (Upload(Path(jar), target, False),)).upload(tell))
print(peak() - before[0])
"""


def test_memory_does_not_depend_on_the_size_of_a_file(
    store: ObjectStore, bucket: str, tmp_path: Path
) -> None:
    jar = jar_of(tmp_path, 96 * MIB)
    options = [f"{key}={value}" for key, value in store.options().items()]
    done = subprocess.run(
        [sys.executable, "-c", _UPLOADS, str(jar), f"s3://{bucket}", *options],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 48 * 1024  # KiB between the third part and the last
    assert done.stderr == ""
    assert store.keys(bucket) == ["my job.jar"]


# --- the other stores --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def libraries() -> Path:
    with left_out("object stores other than S3 are left out"):
        return object_store_python()


KINDS: dict[str, tuple[str, Callable[[UselessStore], dict[str, str]]]] = {
    "gs": (
        "gs://bucket/jars",
        lambda store: {"fs.gs.auth.type": "UNAUTHENTICATED", "gs.storage.root.url": store.url},
    ),
    "azure": ("abfss://jars@acc.dfs.core.windows.net/jars", lambda _: {}),
    "oss": (
        "oss://bucket/jars",
        lambda store: {
            "fs.oss.endpoint": store.url,
            "fs.oss.accessKeyId": "key",
            "fs.oss.accessKeySecret": "secret",
        },
    ),
}


def environment(store: UselessStore) -> dict[str, str]:
    """By which Azure's library finds the store: the configuration knows accounts only."""
    words = "DefaultEndpointsProtocol=http;AccountName=acc;AccountKey=a2V5a2V5"
    return {"AZURE_STORAGE_CONNECTION_STRING": f"{words};BlobEndpoint={store.url}/acc;"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_store_that_says_nothing_is_given_up(
    libraries: Path, tmp_path: Path, kind: str
) -> None:
    jar = jar_of(tmp_path, 1024)
    target, options_of = KINDS[kind]
    with useless_store() as store:
        told = upload(
            *(jar, target, options_of(store)),
            seconds=1.0,
            python=libraries,
            environment=environment(store),
        )

    assert "the store has not answered for 1 s" in told
    assert "does a firewall or a proxy stand in between?" in told
    assert len(told.splitlines()) == 2


@pytest.mark.parametrize("overwrite", [False, True], ids=["looked for", "written at once"])
def test_google_is_asked_for_nothing_but_the_object(
    libraries: Path, tmp_path: Path, overwrite: bool
) -> None:
    """Without an account, an upload took a minute for what kind of bucket it is."""
    jar = jar_of(tmp_path, 1024)
    words = "Anonymous caller does not have storage.objects.create access"
    target, options_of = KINDS["gs"]
    with useless_store(
        refusal(401, f'{{"error": {{"code": 401, "message": "{words}"}}}}')
    ) as store:
        options = options_of(store)
        told = upload(jar, target, options, seconds=60.0, overwrite=overwrite, python=libraries)

    assert words in told
    assert "GOOGLE_APPLICATION_CREDENTIALS" in told
    assert store.begun
    assert all(first.startswith((b"GET /storage", b"POST /upload")) for first in store.begun)


def test_a_library_that_cannot_begin_is_told_in_two_lines(libraries: Path, tmp_path: Path) -> None:
    told = upload(jar_of(tmp_path, 1024), "abfs://jars/here", {}, seconds=60.0, python=libraries)

    first, second = told.splitlines()
    assert first.startswith("abfs://jars/here cannot be written from here: ")
    assert "AZURE_STORAGE_ACCOUNT_KEY" in second
