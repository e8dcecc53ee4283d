"""Options of the blob server (`BlobServerOptions`)."""

from __future__ import annotations

from kubeflink.config.options.kinds import BOOLEAN, INTEGER, LONG, STRING
from kubeflink.config.options.option import option

STORAGE_DIRECTORY = option(
    "blob.storage.directory",
    STRING,
    about="Local directory of the blob server; the working or temporary directory if unset.",
)
FETCH_RETRIES = option(
    "blob.fetch.retries", INTEGER, 5, about="How often a failed download of a blob is tried again."
)
FETCH_NUM_CONCURRENT = option(
    "blob.fetch.num-concurrent", INTEGER, 50, about="Downloads that the blob server serves at once."
)
FETCH_BACKLOG = option(
    "blob.fetch.backlog", INTEGER, 1000, about="Connections that may wait at the blob server."
)
SERVER_PORT = option(
    "blob.server.port",
    STRING,
    "0",
    about=(
        "Port, or range of ports, of the blob server; on Kubernetes it is fixed to 6124 where "
        "it is 0."
    ),
)
SERVICE_SSL_ENABLED = option(
    "blob.service.ssl.enabled",
    BOOLEAN,
    True,
    about="Whether blobs are transferred by TLS, where internal TLS is on.",
)
SERVICE_CLEANUP_INTERVAL = option(
    "blob.service.cleanup.interval",
    LONG,
    3600,
    deprecated_keys=("library-cache-manager.cleanup.interval",),
    about="Seconds between two clean-ups of the blob caches.",
)
OFFLOAD_MINSIZE = option(
    "blob.offload.minsize",
    INTEGER,
    1048576,
    about="Messages from this many bytes on go through the blob server.",
)
CLIENT_SOCKET_TIMEOUT = option(
    "blob.client.socket.timeout",
    INTEGER,
    300000,
    about="Milliseconds that a blob client waits for data; 0 for ever.",
)
CLIENT_CONNECT_TIMEOUT = option(
    "blob.client.connect.timeout",
    INTEGER,
    0,
    about="Milliseconds that a blob client waits for a connection; 0 for ever.",
)
