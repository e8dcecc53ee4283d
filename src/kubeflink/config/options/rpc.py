"""Options of remote calls (`RpcOptions`; `akka.*` up to 1.17, `pekko.*` since)."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import (
    BOOLEAN,
    DOUBLE,
    DURATION,
    INTEGER,
    LONG,
    STRING,
    TEXT_DURATION,
)
from kubeflink.config.options.option import option

RPC_FORCE_INVOCATION_SERIALIZATION = option(
    "pekko.rpc.force-invocation-serialization",
    BOOLEAN,
    False,
    deprecated_keys=("akka.rpc.force-invocation-serialization",),
    since=(1, 18),
    about="Whether calls within one process are serialised as well; for tests.",
)
ASK_CALLSTACK = option(
    "pekko.ask.callstack",
    BOOLEAN,
    True,
    deprecated_keys=("akka.ask.callstack",),
    since=(1, 18),
    about="Whether a timed-out remote call shows where it was made.",
)
ASK_TIMEOUT = option(
    "pekko.ask.timeout",
    DURATION,
    timedelta(seconds=10),
    deprecated_keys=("akka.ask.timeout",),
    since=(1, 18),
    about="How long a remote call within Flink may take.",
)
TCP_TIMEOUT = option(
    "pekko.tcp.timeout",
    TEXT_DURATION,
    timedelta(seconds=20),
    deprecated_keys=("akka.tcp.timeout",),
    since=(1, 18),
    about="How long an outbound connection may take.",
)
STARTUP_TIMEOUT = option(
    "pekko.startup-timeout",
    TEXT_DURATION,
    deprecated_keys=("akka.startup-timeout",),
    since=(1, 18),
    about="How long the start of a remote component may take.",
)
SSL_ENABLED = option(
    "pekko.ssl.enabled",
    BOOLEAN,
    True,
    deprecated_keys=("akka.ssl.enabled",),
    since=(1, 18),
    about="Whether remote calls use TLS, where internal TLS is on.",
)
FRAMESIZE = option(
    "pekko.framesize",
    STRING,
    "10485760b",
    deprecated_keys=("akka.framesize",),
    since=(1, 18),
    about="Largest message of a remote call, with the letter b at the end.",
)
THROUGHPUT = option(
    "pekko.throughput",
    INTEGER,
    15,
    deprecated_keys=("akka.throughput",),
    since=(1, 18),
    about="Messages that one actor handles before the thread goes on to another.",
)
LOG_LIFECYCLE_EVENTS = option(
    "pekko.log.lifecycle.events",
    BOOLEAN,
    False,
    deprecated_keys=("akka.log.lifecycle.events",),
    since=(1, 18),
    about="Whether connections and actors are logged.",
)
LOOKUP_TIMEOUT = option(
    "pekko.lookup.timeout",
    DURATION,
    timedelta(seconds=10),
    deprecated_keys=("akka.lookup.timeout",),
    since=(1, 18),
    about="How long finding a remote component may take.",
)
JVM_EXIT_ON_FATAL_ERROR = option(
    "pekko.jvm-exit-on-fatal-error",
    BOOLEAN,
    True,
    deprecated_keys=("akka.jvm-exit-on-fatal-error",),
    since=(1, 18),
    about="Whether a fatal error of the RPC system ends the process.",
)
RETRY_GATE_CLOSED_FOR = option(
    "pekko.retry-gate-closed-for",
    LONG,
    50,
    deprecated_keys=("akka.retry-gate-closed-for",),
    since=(1, 18),
    about="Milliseconds that no connection to a lost host is tried.",
)
FORK_JOIN_EXECUTOR_PARALLELISM_FACTOR = option(
    "pekko.fork-join-executor.parallelism-factor",
    DOUBLE,
    2.0,
    deprecated_keys=("akka.fork-join-executor.parallelism-factor",),
    since=(1, 18),
    about="Threads of the RPC system per core, within their bounds.",
)
FORK_JOIN_EXECUTOR_PARALLELISM_MIN = option(
    "pekko.fork-join-executor.parallelism-min",
    INTEGER,
    8,
    deprecated_keys=("akka.fork-join-executor.parallelism-min",),
    since=(1, 18),
    about="Fewest threads of the RPC system.",
)
FORK_JOIN_EXECUTOR_PARALLELISM_MAX = option(
    "pekko.fork-join-executor.parallelism-max",
    INTEGER,
    64,
    deprecated_keys=("akka.fork-join-executor.parallelism-max",),
    since=(1, 18),
    about="Most threads of the RPC system.",
)
REMOTE_FORK_JOIN_EXECUTOR_PARALLELISM_FACTOR = option(
    "pekko.remote-fork-join-executor.parallelism-factor",
    DOUBLE,
    2.0,
    since=(1, 19),
    about="Threads for remote messages per core, within their bounds.",
)
REMOTE_FORK_JOIN_EXECUTOR_PARALLELISM_MIN = option(
    "pekko.remote-fork-join-executor.parallelism-min",
    INTEGER,
    8,
    since=(1, 19),
    about="Fewest threads for remote messages.",
)
REMOTE_FORK_JOIN_EXECUTOR_PARALLELISM_MAX = option(
    "pekko.remote-fork-join-executor.parallelism-max",
    INTEGER,
    16,
    since=(1, 19),
    about="Most threads for remote messages.",
)
CLIENT_SOCKET_WORKER_POOL_POOL_SIZE_MIN = option(
    "pekko.client-socket-worker-pool.pool-size-min",
    INTEGER,
    1,
    deprecated_keys=("akka.client-socket-worker-pool.pool-size-min",),
    since=(1, 18),
    about="Fewest threads for outbound connections.",
)
CLIENT_SOCKET_WORKER_POOL_POOL_SIZE_MAX = option(
    "pekko.client-socket-worker-pool.pool-size-max",
    INTEGER,
    2,
    deprecated_keys=("akka.client-socket-worker-pool.pool-size-max",),
    since=(1, 18),
    about="Most threads for outbound connections.",
)
CLIENT_SOCKET_WORKER_POOL_POOL_SIZE_FACTOR = option(
    "pekko.client-socket-worker-pool.pool-size-factor",
    DOUBLE,
    1.0,
    deprecated_keys=("akka.client-socket-worker-pool.pool-size-factor",),
    since=(1, 18),
    about="Threads for outbound connections per core, within their bounds.",
)
SERVER_SOCKET_WORKER_POOL_POOL_SIZE_MIN = option(
    "pekko.server-socket-worker-pool.pool-size-min",
    INTEGER,
    1,
    deprecated_keys=("akka.server-socket-worker-pool.pool-size-min",),
    since=(1, 18),
    about="Fewest threads for inbound connections.",
)
SERVER_SOCKET_WORKER_POOL_POOL_SIZE_MAX = option(
    "pekko.server-socket-worker-pool.pool-size-max",
    INTEGER,
    2,
    deprecated_keys=("akka.server-socket-worker-pool.pool-size-max",),
    since=(1, 18),
    about="Most threads for inbound connections.",
)
SERVER_SOCKET_WORKER_POOL_POOL_SIZE_FACTOR = option(
    "pekko.server-socket-worker-pool.pool-size-factor",
    DOUBLE,
    1.0,
    deprecated_keys=("akka.server-socket-worker-pool.pool-size-factor",),
    since=(1, 18),
    about="Threads for inbound connections per core, within their bounds.",
)
AKKA_CLIENT_TIMEOUT = option(
    "akka.client.timeout",
    STRING,
    "60 s",
    until=(1, 20),
    deprecated_since=(1, 17),
    about="How long the client waits for an answer; the older name of client.timeout.",
)
AKKA_WATCH_HEARTBEAT_INTERVAL = option(
    "akka.watch.heartbeat.interval",
    STRING,
    "10 s",
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Pause between heartbeats of actors; no longer used.",
)
AKKA_WATCH_HEARTBEAT_PAUSE = option(
    "akka.watch.heartbeat.pause",
    STRING,
    "60 s",
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Silence after which an actor was taken for dead; no longer used.",
)
AKKA_WATCH_THRESHOLD = option(
    "akka.watch.threshold",
    INTEGER,
    12,
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Threshold of the failure detector; no longer used.",
)
AKKA_RPC_FORCE_INVOCATION_SERIALIZATION = option(
    "akka.rpc.force-invocation-serialization",
    BOOLEAN,
    False,
    until=(1, 17),
    about="Whether calls within one process are serialised as well; for tests.",
)
AKKA_ASK_CALLSTACK = option(
    "akka.ask.callstack",
    BOOLEAN,
    True,
    until=(1, 17),
    about="Whether a timed-out remote call shows where it was made.",
)
AKKA_ASK_TIMEOUT = option(
    "akka.ask.timeout",
    DURATION,
    timedelta(seconds=10),
    until=(1, 17),
    about="How long a remote call within Flink may take.",
)
AKKA_TCP_TIMEOUT = option(
    "akka.tcp.timeout",
    STRING,
    "20 s",
    until=(1, 17),
    about="How long an outbound connection may take.",
)
AKKA_STARTUP_TIMEOUT = option(
    "akka.startup-timeout",
    STRING,
    until=(1, 17),
    about="How long the start of a remote component may take.",
)
AKKA_SSL_ENABLED = option(
    "akka.ssl.enabled",
    BOOLEAN,
    True,
    until=(1, 17),
    about="Whether remote calls use TLS, where internal TLS is on.",
)
AKKA_FRAMESIZE = option(
    "akka.framesize",
    STRING,
    "10485760b",
    until=(1, 17),
    about="Largest message of a remote call, with the letter b at the end.",
)
AKKA_THROUGHPUT = option(
    "akka.throughput",
    INTEGER,
    15,
    until=(1, 17),
    about="Messages that one actor handles before the thread goes on to another.",
)
AKKA_LOG_LIFECYCLE_EVENTS = option(
    "akka.log.lifecycle.events",
    BOOLEAN,
    False,
    until=(1, 17),
    about="Whether connections and actors are logged.",
)
AKKA_LOOKUP_TIMEOUT = option(
    "akka.lookup.timeout",
    DURATION,
    timedelta(seconds=10),
    until=(1, 17),
    about="How long finding a remote component may take.",
)
AKKA_JVM_EXIT_ON_FATAL_ERROR = option(
    "akka.jvm-exit-on-fatal-error",
    BOOLEAN,
    True,
    until=(1, 17),
    about="Whether a fatal error of the RPC system ends the process.",
)
AKKA_RETRY_GATE_CLOSED_FOR = option(
    "akka.retry-gate-closed-for",
    LONG,
    50,
    until=(1, 17),
    about="Milliseconds that no connection to a lost host is tried.",
)
AKKA_FORK_JOIN_EXECUTOR_PARALLELISM_FACTOR = option(
    "akka.fork-join-executor.parallelism-factor",
    DOUBLE,
    2.0,
    until=(1, 17),
    about="Threads of the RPC system per core, within their bounds.",
)
AKKA_FORK_JOIN_EXECUTOR_PARALLELISM_MIN = option(
    "akka.fork-join-executor.parallelism-min",
    INTEGER,
    8,
    until=(1, 17),
    about="Fewest threads of the RPC system.",
)
AKKA_FORK_JOIN_EXECUTOR_PARALLELISM_MAX = option(
    "akka.fork-join-executor.parallelism-max",
    INTEGER,
    64,
    until=(1, 17),
    about="Most threads of the RPC system.",
)
AKKA_CLIENT_SOCKET_WORKER_POOL_POOL_SIZE_MIN = option(
    "akka.client-socket-worker-pool.pool-size-min",
    INTEGER,
    1,
    until=(1, 17),
    about="Fewest threads for outbound connections.",
)
AKKA_CLIENT_SOCKET_WORKER_POOL_POOL_SIZE_MAX = option(
    "akka.client-socket-worker-pool.pool-size-max",
    INTEGER,
    2,
    until=(1, 17),
    about="Most threads for outbound connections.",
)
AKKA_CLIENT_SOCKET_WORKER_POOL_POOL_SIZE_FACTOR = option(
    "akka.client-socket-worker-pool.pool-size-factor",
    DOUBLE,
    1.0,
    until=(1, 17),
    about="Threads for outbound connections per core, within their bounds.",
)
AKKA_SERVER_SOCKET_WORKER_POOL_POOL_SIZE_MIN = option(
    "akka.server-socket-worker-pool.pool-size-min",
    INTEGER,
    1,
    until=(1, 17),
    about="Fewest threads for inbound connections.",
)
AKKA_SERVER_SOCKET_WORKER_POOL_POOL_SIZE_MAX = option(
    "akka.server-socket-worker-pool.pool-size-max",
    INTEGER,
    2,
    until=(1, 17),
    about="Most threads for inbound connections.",
)
AKKA_SERVER_SOCKET_WORKER_POOL_POOL_SIZE_FACTOR = option(
    "akka.server-socket-worker-pool.pool-size-factor",
    DOUBLE,
    1.0,
    until=(1, 17),
    about="Threads for inbound connections per core, within their bounds.",
)
