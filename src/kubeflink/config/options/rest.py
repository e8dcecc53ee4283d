"""Options of Flink, family rest."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import BOOLEAN, DURATION, INTEGER, MILLISECONDS, STRING
from kubeflink.config.options.option import option

BIND_ADDRESS = option(
    "rest.bind-address",
    STRING,
    fallback_keys=("web.address",),
    deprecated_keys=("jobmanager.web.address",),
)
BIND_PORT = option(
    "rest.bind-port",
    STRING,
    "8081",
    fallback_keys=("rest.port",),
    deprecated_keys=("web.port", "jobmanager.web.port"),
)
URL_PREFIX = option("rest.url-prefix", STRING, "/", since=(1, 18))
ADDRESS = option("rest.address", STRING, fallback_keys=("jobmanager.rpc.address",))
PATH = option("rest.path", STRING, "", since=(1, 19))
PORT = option("rest.port", INTEGER, 8081, deprecated_keys=("web.port",))
AWAIT_LEADER_TIMEOUT = option("rest.await-leader-timeout", MILLISECONDS, timedelta(seconds=30))
RETRY_MAX_ATTEMPTS = option("rest.retry.max-attempts", INTEGER, 20)
RETRY_DELAY = option("rest.retry.delay", MILLISECONDS, timedelta(seconds=3))
CONNECTION_TIMEOUT = option("rest.connection-timeout", MILLISECONDS, timedelta(seconds=15))
IDLENESS_TIMEOUT = option("rest.idleness-timeout", MILLISECONDS, timedelta(minutes=5))
SERVER_MAX_CONTENT_LENGTH = option("rest.server.max-content-length", INTEGER, 104857600)
CLIENT_MAX_CONTENT_LENGTH = option("rest.client.max-content-length", INTEGER, 104857600)
SERVER_NUM_THREADS = option("rest.server.numThreads", INTEGER, 4)
SERVER_THREAD_PRIORITY = option("rest.server.thread-priority", INTEGER, 5)
CACHE_CHECKPOINT_STATISTICS_TIMEOUT = option(
    "rest.cache.checkpoint-statistics.timeout",
    DURATION,
    timedelta(seconds=3),
    fallback_keys=("web.refresh-interval",),
    since=(1, 18),
)
CACHE_CHECKPOINT_STATISTICS_SIZE = option(
    "rest.cache.checkpoint-statistics.size", INTEGER, 1000, since=(1, 18)
)
CACHE_EXECUTION_GRAPH_TIMEOUT = option("rest.cache.execution-graph.timeout", DURATION, since=(2, 3))
FLAMEGRAPH_ENABLED = option("rest.flamegraph.enabled", BOOLEAN, False)
FLAMEGRAPH_CLEANUP_INTERVAL = option(
    "rest.flamegraph.cleanup-interval", DURATION, timedelta(minutes=10)
)
FLAMEGRAPH_REFRESH_INTERVAL = option(
    "rest.flamegraph.refresh-interval", DURATION, timedelta(minutes=1)
)
FLAMEGRAPH_NUM_SAMPLES = option("rest.flamegraph.num-samples", INTEGER, 100)
FLAMEGRAPH_DELAY_BETWEEN_SAMPLES = option(
    "rest.flamegraph.delay-between-samples", DURATION, timedelta(milliseconds=50)
)
FLAMEGRAPH_STACK_DEPTH = option("rest.flamegraph.stack-depth", INTEGER, 100)
ASYNC_STORE_DURATION = option("rest.async.store-duration", DURATION, timedelta(minutes=5))
PROFILING_ENABLED = option("rest.profiling.enabled", BOOLEAN, False, since=(1, 19))
PROFILING_HISTORY_SIZE = option("rest.profiling.history-size", INTEGER, 10, since=(1, 19))
PROFILING_DURATION_MAX = option(
    "rest.profiling.duration-max", DURATION, timedelta(minutes=5), since=(1, 19)
)
PROFILING_DIR = option("rest.profiling.dir", STRING, "/tmp", since=(1, 19))
