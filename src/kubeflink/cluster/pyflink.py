"""PyFlink's environments, bound to a cluster: their jobs run there.

What such an environment does goes from PyFlink's JVM to the cluster's REST API: jobs with the files
that belong to them, and the rows of `collect()`, which the JobManager passes on. So one open way to
that API is all that is needed. A JVM does not know the service proxy of an API server; where there
is no direct way, a local port is forwarded.

PyFlink blocks the thread that calls it for as long as its job runs, and in a notebook that is the
thread of the event loop. A port that is forwarded by the same loop would stand still then, and the
job with it: so it is forwarded by a loop in a thread of its own, with a connection of its own to
the API server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from kubeflink.cluster.portal import HeldInThread
from kubeflink.config.options import deployment, pipeline, rest
from kubeflink.errors import RestStatusError, UsageError

if TYPE_CHECKING:
    from pyflink.common import Configuration as PyFlinkConfiguration
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.table import TableEnvironment

    from kubeflink.cluster.session import SessionCluster
    from kubeflink.rest import FlinkClient

logger = logging.getLogger(__name__)

Mode: TypeAlias = Literal["streaming", "batch"]

_RUNTIME_MODE = "execution.runtime-mode"

_LIB = PurePosixPath("/opt/flink/lib")
"""Where it is in the official image."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Where PyFlink reaches a cluster, for as long as `bound` holds it open."""

    host: str
    port: int
    functions: str | None
    """URL of the cluster's own jar for functions in Python, unless it is loaded anyway."""

    async def table_environment(
        self, mode: Mode, options: Mapping[str, object] | None
    ) -> TableEnvironment:
        """A table environment; see `SessionCluster.table_environment`."""
        values = self.values(mode, options)

        def create() -> TableEnvironment:
            from pyflink.table import EnvironmentSettings, TableEnvironment

            settings = EnvironmentSettings.new_instance()
            settings = settings.with_configuration(_configuration(values))
            return TableEnvironment.create(settings.build())

        return await asyncio.to_thread(create)

    async def stream_environment(
        self, mode: Mode, options: Mapping[str, object] | None
    ) -> StreamExecutionEnvironment:
        """A stream environment; see `SessionCluster.stream_environment`."""
        values = self.values(mode, options)

        def create() -> StreamExecutionEnvironment:
            from pyflink.datastream import StreamExecutionEnvironment
            from pyflink.java_gateway import get_gateway

            # PyFlink's own function makes a local environment, whatever the target is.
            java = get_gateway().jvm.org.apache.flink.streaming.api.environment
            configuration = _configuration(values)
            inner = java.StreamExecutionEnvironment(configuration._j_configuration)
            return StreamExecutionEnvironment(inner)

        return await asyncio.to_thread(create)

    def values(self, mode: Mode, options: Mapping[str, object] | None) -> dict[str, str]:
        """The options of an environment as Flink's text, checked as all options are."""
        from kubeflink import config
        from kubeflink.cluster.job_options import for_client

        if mode.lower() not in get_args(Mode):
            raise UsageError(f"the mode must be {' or '.join(get_args(Mode))}, not {mode}")
        given = config.load(conf_dir=None, overrides=options or {}, environ={})
        for notice in given.notices:
            logger.warning("%s", notice.message)
        values = for_client(given)
        if self.functions is not None:
            classpaths = [values.get(pipeline.CLASSPATHS.key), self.functions]
            values[pipeline.CLASSPATHS.key] = ";".join(filter(None, classpaths))
        return {
            _RUNTIME_MODE: mode.upper(),
            **values,
            deployment.EXECUTION_TARGET.key: "remote",
            deployment.EXECUTION_ATTACHED.key: "true",  # else `execute()` does not wait
            rest.ADDRESS.key: self.host,
            rest.PORT.key: str(self.port),
        }


@asynccontextmanager
async def bound(cluster: SessionCluster) -> AsyncIterator[Binding]:
    """PyFlink, ready to make jobs for a cluster.

    Raises LocalError if PyFlink, Java, or the right version of one of them is missing.
    """
    from kubeflink.jvm import gateway

    flink = await cluster.flink()
    version = (await flink.overview()).flink_version
    await asyncio.to_thread(gateway.start, version)
    functions = functions_jar(await _class_path(flink), version)
    async with HeldInThread(lambda: _socket(cluster)) as (host, port):
        yield Binding(host, port, functions)


async def _class_path(flink: FlinkClient) -> tuple[str, ...]:
    """Nothing where the JobManager does not tell, as old versions do not."""
    try:
        return await flink.class_path()
    except RestStatusError as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        return ()


def functions_jar(class_path: Sequence[str], version: str) -> str | None:
    """Where a cluster with this class path keeps the jar for functions in Python; None: on it.

    It is 40 MB, so the one that every Flink has in `opt` is named instead of sending it with each
    job. `flink run -py` does send it.
    """
    if any("flink-python" in PurePosixPath(entry).name for entry in class_path):
        return None
    lib = next(
        (PurePosixPath(entry).parent for entry in class_path if "/flink-dist" in entry), _LIB
    )
    return f"file://{lib.parent}/opt/flink-python-{version}.jar"


@asynccontextmanager
async def _socket(cluster: SessionCluster) -> AsyncIterator[tuple[str, int]]:
    async with cluster.on_this_loop() as same, same.socket() as found:
        yield found


def _configuration(values: Mapping[str, str]) -> PyFlinkConfiguration:
    from pyflink.common import Configuration

    configuration = Configuration()
    for key, text in values.items():
        configuration.set_string(key, text)
    return configuration
