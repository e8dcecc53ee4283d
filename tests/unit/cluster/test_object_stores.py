"""What the configuration says about object stores, and which library writes to them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from kubeflink.cluster import artifacts, object_stores
from kubeflink.config import Configuration
from kubeflink.errors import ConfigurationError
from kubeflink.spec import Program, application_configuration
from support.clusters import configuration
from support.useless_store import upload, useless_store

HADOOP = "org.apache.hadoop.fs.s3a"


def application(jar: Path, target: str) -> Configuration:
    options = {
        "kubernetes.artifacts.local-upload-enabled": True,
        "kubernetes.artifacts.local-upload-target": target,
    }
    return application_configuration(configuration(options), Program(uri=f"local://{jar}"))


def arguments(uri: str, **values: object) -> dict[str, object]:
    """What an implementation is given."""
    return object_stores.arguments(uri, configuration(values))


@pytest.mark.parametrize(
    "values",
    [
        {"s3.access-key": "k", "s3.secret-key": "s"},
        {"s3.access.key": "k", "s3.secret.key": "s"},
        {"s3a.access-key": "k", "s3a.secret-key": "s"},
        {"fs.s3a.access.key": "k", "fs.s3a.secret.key": "s"},
        {"presto.s3.access-key": "k", "presto.s3.secret-key": "s"},
        {"s3.access-key": "old", "s3.secret-key": "old"}
        | {"fs.s3a.access.key": "k", "fs.s3a.secret.key": "s"},
        {"fs.s3a.bucket.my-jars.access.key": "k", "fs.s3a.bucket.my-jars.secret.key": "s"}
        | {"fs.s3a.access.key": "general", "fs.s3a.secret.key": "general"},
    ],
    ids=["-", ".", "s3a", "hadoop", "presto", "hadoop counts most", "of one bucket"],
)
def test_an_account_of_s3_in_every_spelling(values: dict[str, object]) -> None:
    found = arguments("s3://my-jars/a", **values)

    assert (found["key"], found["secret"]) == ("k", "s")


@pytest.mark.parametrize(
    ("values", "endpoint"),
    [
        ({"s3.endpoint": "http://minio:9000"}, "http://minio:9000"),
        ({"s3.endpoint": "minio:9000"}, "https://minio:9000"),
        (
            {"fs.s3a.endpoint": "minio:9000", "fs.s3a.connection.ssl.enabled": False},
            "http://minio:9000",
        ),
        ({}, None),
    ],
)
def test_the_endpoint_of_s3(values: dict[str, object], endpoint: str | None) -> None:
    assert arguments("s3://b/a", **values).get("endpoint_url") == endpoint


def test_more_of_s3() -> None:
    found = arguments(
        "s3a://b/a",
        **{
            "s3.path.style.access": True,
            "s3.endpoint.region": "eu-north-1",
            "fs.s3a.session.token": "t",
            "fs.s3a.aws.credentials.provider": f"{HADOOP}.AnonymousAWSCredentialsProvider",
        },
    )

    assert found["client_kwargs"] == {"region_name": "eu-north-1"}
    assert found["token"] == "t"
    assert found["anon"] is True
    config = found["config_kwargs"]
    assert isinstance(config, dict)
    assert config["s3"] == {"addressing_style": "path"}


@pytest.mark.parametrize(
    ("uri", "package", "extra"),
    [
        ("gs://b/a", "gcsfs", "gs"),
        ("abfss://c@acc.dfs.core.windows.net/a", "adlfs", "azure"),
        ("oss://b/a", "ossfs", "oss"),
        ("hdfs://namenode:8020/a", "pyarrow", "hdfs"),
        ("s3://b/a", "s3fs", "s3"),
    ],
)
def test_a_library_that_is_not_installed_is_named_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str, package: str, extra: str
) -> None:
    monkeypatch.setattr(
        object_stores, "find_spec", lambda name: None if name == package else find_spec(name)
    )

    with pytest.raises(ConfigurationError, match=package) as refused:
        artifacts.planned(application(tmp_path / "job.jar", uri))

    assert refused.value.hint == f"Install it: pip install 'kubeflink[{extra}]'"


def test_a_target_without_a_bucket(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="names no bucket"):
        artifacts.planned(application(tmp_path / "job.jar", "s3:///jars"))


@pytest.mark.parametrize(
    ("uri", "values", "expected"),
    [
        (
            "gs://b/a",
            {"gs.auth.service.account.json.keyfile": "/k.json", "fs.gs.project.id": "p"},
            {"token": "/k.json", "project": "p"},
        ),
        ("gs://b/a", {"fs.gs.auth.type": "UNAUTHENTICATED"}, {"token": "anon"}),
        ("gs://b/a", {"gs.storage.root.url": "http://gcs"}, {"endpoint_url": "http://gcs"}),
        (
            "abfss://c@acc.dfs.core.windows.net/a",
            {"fs.azure.account.key.acc.dfs.core.windows.net": "k"},
            {"account_name": "acc", "account_key": "k"},
        ),
        (
            "abfss://c@acc.dfs.core.windows.net/a",
            {"fs.azure.account.key.acc.blob.core.windows.net": "k"},
            {"account_name": "acc", "account_key": "k"},
        ),
        (
            "oss://b/a",
            {"fs.oss.endpoint": "oss.example", "fs.oss.accessKeyId": "i"},
            {"endpoint": "https://oss.example", "key": "i"},
        ),
        ("hdfs://me@name/a", {}, {"host": "name", "port": 8020, "user": "me"}),
    ],
)
def test_other_stores(uri: str, values: dict[str, object], expected: dict[str, object]) -> None:
    found = arguments(uri, **values)

    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize("overwrite", [False, True], ids=["looked for", "written at once"])
def test_a_store_that_says_nothing_is_given_up(tmp_path: Path, overwrite: bool) -> None:
    jar = tmp_path / "job.jar"
    jar.write_bytes(b"the jar")
    with useless_store() as store:
        account = {"s3.endpoint": store.url, "s3.access-key": "key", "s3.secret-key": "secret"}
        told = upload(jar, "s3://bucket/jars", account, seconds=1.0, overwrite=overwrite)

    assert told.splitlines() == [
        f"{jar} cannot be uploaded to s3://bucket/jars/job.jar: the store has not answered for 1 s",
        "Is the address in s3.endpoint (by default Amazon's own) right, and does a firewall or a"
        " proxy stand in between?",
    ]


class ReadTimeoutError(Exception):
    """As the libraries of some stores have one."""


@pytest.mark.parametrize(
    ("error", "reason", "hint"),
    [
        (TimeoutError(), "the store gave no answer in time", "s3.endpoint"),
        (ReadTimeoutError("pool"), "the store gave no answer in time", "s3.endpoint"),
        (PermissionError("Access Denied"), "Access Denied", "s3.access-key"),
        (OSError(5, "(401) when calling: Unauthorized"), "(401) when calling", "s3.access-key"),
        (OSError("Forbidden: b/o\nAnonymous caller"), "Forbidden: b/o Anonymous", "s3.access-key"),
        (OSError("{'status': 403, 'details': {}}"), "{'status': 403", "s3.access-key"),
        (ValueError("the secret is 's3cr3t'"), "the secret is '***'", None),
        (KeyError(), "KeyError", None),
    ],
)
def test_what_the_error_of_a_library_comes_to(
    error: Exception, reason: str, hint: str | None
) -> None:
    options = configuration({"s3.secret-key": "s3cr3t", "s3.access-key": "k"})
    target = object_stores.open_target("s3://bucket/jars", options)

    assert target.reason(error).startswith(reason)
    assert (target.hint(error) is None) if hint is None else (hint in str(target.hint(error)))


def test_a_key_file_that_is_not_here_is_not_sent_as_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_stores, "find_spec", lambda _: object())
    options = configuration({"gs.auth.service.account.json.keyfile": tmp_path / "key.json"})

    with pytest.raises(ConfigurationError, match=r"key\.json is not on this machine"):
        object_stores.open_target("gs://bucket/jars", options)
