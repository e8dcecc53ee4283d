"""What an environment of PyFlink is told of its cluster; without PyFlink, what is missing."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import AsyncIterator

import pytest

from kubeflink.cluster.pyflink import Binding, bound, functions_jar
from kubeflink.cluster.remote import RemoteCluster
from kubeflink.errors import ConfigurationError, LocalError, UsageError
from support.scripted_server import Answer, ScriptedServer

IMAGE = ("/opt/flink/lib/flink-cep-2.3.0.jar", "/opt/flink/lib/flink-dist-2.3.0.jar", "")


@pytest.mark.parametrize(
    ("class_path", "expected"),
    [
        (IMAGE, "file:///opt/flink/opt/flink-python-2.3.0.jar"),
        (("/home/f/lib/flink-dist-2.3.0.jar",), "file:///home/f/opt/flink-python-2.3.0.jar"),
        ((), "file:///opt/flink/opt/flink-python-2.3.0.jar"),
        ((*IMAGE, "/opt/flink/lib/flink-python-2.3.0.jar"), None),
    ],
    ids=["image", "other home", "not told", "loaded"],
)
def test_the_clusters_own_jar_runs_functions(
    class_path: tuple[str, ...], expected: str | None
) -> None:
    assert functions_jar(class_path, "2.3.0") == expected


def test_the_options_of_an_environment() -> None:
    binding = Binding("10.0.0.7", 8081, "file:///f.jar")
    given = {
        "parallelism.default": 2,
        "pipeline.classpaths": "file:///a.jar",
        "execution.target": "local",
        "rest.port": 1,
        "security.ssl.rest.enabled": True,
    }

    values = binding.values("batch", given)

    assert values == {
        "execution.runtime-mode": "BATCH",
        "execution.target": "remote",
        "execution.attached": "true",
        "rest.address": "10.0.0.7",
        "rest.port": "8081",
        "security.ssl.rest.enabled": "true",
        "parallelism.default": "2",
        "pipeline.classpaths": "file:///a.jar;file:///f.jar",
    }


def test_a_mode_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="must be streaming or batch, not btch"):
        Binding("h", 1, None).values("btch", None)  # type: ignore[arg-type]


def test_a_mode_among_the_options_counts_more() -> None:
    values = Binding("h", 1, None).values("batch", {"execution.runtime-mode": "STREAMING"})

    assert values["execution.runtime-mode"] == "STREAMING"
    assert "pipeline.classpaths" not in values


def test_options_are_checked() -> None:
    with pytest.raises(ConfigurationError, match=r"taskmanager\.numberOfTaskSlots"):
        Binding("h", 1, None).values("batch", {"taskmanager.numberOfTaskSlots": "many"})


@pytest.fixture
async def remote(flink_rest: ScriptedServer) -> AsyncIterator[RemoteCluster]:
    flink_rest.on("GET", "/overview", Answer(200, {"flink-version": "2.3.0"}))
    host, port = flink_rest.url.removeprefix("http://").split(":")
    async with RemoteCluster(host, int(port)) as cluster:
        yield cluster


@pytest.mark.skipif(
    importlib.util.find_spec("pyflink.java_gateway") is not None, reason="PyFlink is here"
)
async def test_without_pyflink_it_is_said_what_to_install(remote: RemoteCluster) -> None:
    with pytest.raises(LocalError, match="PyFlink is not installed") as caught:
        await remote.table_environment()
    with pytest.raises(LocalError):
        async with bound(remote):
            pytest.fail("there is no PyFlink")

    assert caught.value.hint == "Install it: pip install apache-flink==2.3.0"
    assert "kubeflink held" not in [thread.name for thread in threading.enumerate()]
