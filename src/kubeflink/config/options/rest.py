"""Options of the REST server and its clients (`RestOptions`)."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import BOOLEAN, DURATION, INTEGER, MILLISECONDS, STRING
from kubeflink.config.options.option import option

BIND_ADDRESS = option(
    "rest.bind-address",
    STRING,
    fallback_keys=("web.address",),
    deprecated_keys=("jobmanager.web.address",),
    about="Local address to which the REST server binds.",
)
BIND_PORT = option(
    "rest.bind-port",
    STRING,
    "8081",
    fallback_keys=("rest.port",),
    deprecated_keys=("web.port", "jobmanager.web.port"),
    about="Port, or range of ports, to which the REST server binds.",
)
URL_PREFIX = option(
    "rest.url-prefix", STRING, "/", since=(1, 18), about="Path in front of all REST paths."
)
ADDRESS = option(
    "rest.address",
    STRING,
    fallback_keys=("jobmanager.rpc.address",),
    about="Host at which a client finds the REST server.",
)
PATH = option(
    "rest.path", STRING, "", since=(1, 19), about="Path at which a client finds the REST server."
)
PORT = option(
    "rest.port",
    INTEGER,
    8081,
    deprecated_keys=("web.port",),
    minimum=0,
    maximum=65535,
    about="Port at which a client finds the REST server.",
)
AWAIT_LEADER_TIMEOUT = option(
    "rest.await-leader-timeout",
    MILLISECONDS,
    timedelta(seconds=30),
    about="How long a client waits for a leading JobManager.",
)
RETRY_MAX_ATTEMPTS = option(
    "rest.retry.max-attempts",
    INTEGER,
    20,
    about="How often a client tries a request that may succeed later.",
)
RETRY_DELAY = option(
    "rest.retry.delay",
    MILLISECONDS,
    timedelta(seconds=3),
    about="Pause of a client between two tries.",
)
CONNECTION_TIMEOUT = option(
    "rest.connection-timeout",
    MILLISECONDS,
    timedelta(seconds=15),
    about="How long a connection to the REST server may take.",
)
IDLENESS_TIMEOUT = option(
    "rest.idleness-timeout",
    MILLISECONDS,
    timedelta(minutes=5),
    about="How long a REST connection may be idle.",
)
SERVER_MAX_CONTENT_LENGTH = option(
    "rest.server.max-content-length",
    INTEGER,
    104857600,
    about="Largest request that the REST server takes, in bytes; jars to upload must fit.",
)
CLIENT_MAX_CONTENT_LENGTH = option(
    "rest.client.max-content-length",
    INTEGER,
    104857600,
    about="Largest response that a client takes, in bytes.",
)
SERVER_NUM_THREADS = option(
    "rest.server.numThreads", INTEGER, 4, about="Threads of the REST server."
)
SERVER_THREAD_PRIORITY = option(
    "rest.server.thread-priority", INTEGER, 5, about="Priority of the REST server's threads."
)
CACHE_CHECKPOINT_STATISTICS_TIMEOUT = option(
    "rest.cache.checkpoint-statistics.timeout",
    DURATION,
    timedelta(seconds=3),
    fallback_keys=("web.refresh-interval",),
    since=(1, 18),
    about="How long figures about checkpoints are served from a cache.",
)
CACHE_CHECKPOINT_STATISTICS_SIZE = option(
    "rest.cache.checkpoint-statistics.size",
    INTEGER,
    1000,
    since=(1, 18),
    about="How many answers about checkpoints are cached.",
)
CACHE_EXECUTION_GRAPH_TIMEOUT = option(
    "rest.cache.execution-graph.timeout",
    DURATION,
    since=(2, 3),
    about="How long details of jobs are served from a cache.",
)
FLAMEGRAPH_ENABLED = option(
    "rest.flamegraph.enabled", BOOLEAN, False, about="Whether the web UI offers flame graphs."
)
FLAMEGRAPH_CLEANUP_INTERVAL = option(
    "rest.flamegraph.cleanup-interval",
    DURATION,
    timedelta(minutes=10),
    about="How long a flame graph that nobody looks at is kept.",
)
FLAMEGRAPH_REFRESH_INTERVAL = option(
    "rest.flamegraph.refresh-interval",
    DURATION,
    timedelta(minutes=1),
    about="Age at which a flame graph is made again.",
)
FLAMEGRAPH_NUM_SAMPLES = option(
    "rest.flamegraph.num-samples", INTEGER, 100, about="Samples of stacks for one flame graph."
)
FLAMEGRAPH_DELAY_BETWEEN_SAMPLES = option(
    "rest.flamegraph.delay-between-samples",
    DURATION,
    timedelta(milliseconds=50),
    about="Pause between two samples for a flame graph.",
)
FLAMEGRAPH_STACK_DEPTH = option(
    "rest.flamegraph.stack-depth", INTEGER, 100, about="Greatest depth of stacks in a flame graph."
)
ASYNC_STORE_DURATION = option(
    "rest.async.store-duration",
    DURATION,
    timedelta(minutes=5),
    about="How long the outcome of a savepoint or the like can be asked for.",
)
PROFILING_ENABLED = option(
    "rest.profiling.enabled",
    BOOLEAN,
    False,
    since=(1, 19),
    about="Whether the web UI offers the profiler.",
)
PROFILING_HISTORY_SIZE = option(
    "rest.profiling.history-size",
    INTEGER,
    10,
    since=(1, 19),
    about="How many results of the profiler are kept.",
)
PROFILING_DURATION_MAX = option(
    "rest.profiling.duration-max",
    DURATION,
    timedelta(minutes=5),
    since=(1, 19),
    about="Longest run of the profiler.",
)
PROFILING_DIR = option(
    "rest.profiling.dir",
    STRING,
    "/tmp",
    since=(1, 19),
    about="Directory for results of the profiler.",
)
