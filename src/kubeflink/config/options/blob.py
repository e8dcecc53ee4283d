"""Options of Flink, family blob."""

from __future__ import annotations

from kubeflink.config.options.kinds import BOOLEAN, INTEGER, LONG, STRING
from kubeflink.config.options.option import option

STORAGE_DIRECTORY = option("blob.storage.directory", STRING)
FETCH_RETRIES = option("blob.fetch.retries", INTEGER, 5)
FETCH_NUM_CONCURRENT = option("blob.fetch.num-concurrent", INTEGER, 50)
FETCH_BACKLOG = option("blob.fetch.backlog", INTEGER, 1000)
SERVER_PORT = option("blob.server.port", STRING, "0")
SERVICE_SSL_ENABLED = option("blob.service.ssl.enabled", BOOLEAN, True)
SERVICE_CLEANUP_INTERVAL = option(
    "blob.service.cleanup.interval",
    LONG,
    3600,
    deprecated_keys=("library-cache-manager.cleanup.interval",),
)
OFFLOAD_MINSIZE = option("blob.offload.minsize", INTEGER, 1048576)
CLIENT_SOCKET_TIMEOUT = option("blob.client.socket.timeout", INTEGER, 300000)
CLIENT_CONNECT_TIMEOUT = option("blob.client.connect.timeout", INTEGER, 0)
