"""Options of Flink, family web."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import BOOLEAN, INTEGER, MILLISECONDS, STRING
from kubeflink.config.options.option import option

ACCESS_CONTROL_ALLOW_ORIGIN = option(
    "web.access-control-allow-origin",
    STRING,
    "*",
    deprecated_keys=("jobmanager.web.access-control-allow-origin",),
)
REFRESH_INTERVAL = option(
    "web.refresh-interval",
    MILLISECONDS,
    timedelta(seconds=3),
    deprecated_keys=("jobmanager.web.refresh-interval",),
)
TMPDIR = option("web.tmpdir", STRING, "/tmp", deprecated_keys=("jobmanager.web.tmpdir",))
UPLOAD_DIR = option("web.upload.dir", STRING, deprecated_keys=("jobmanager.web.upload.dir",))
HISTORY = option("web.history", INTEGER, 5, deprecated_keys=("jobmanager.web.history",))
LOG_PATH = option("web.log.path", STRING, deprecated_keys=("jobmanager.web.log.path",))
SUBMIT_ENABLE = option(
    "web.submit.enable", BOOLEAN, True, deprecated_keys=("jobmanager.web.submit.enable",)
)
CANCEL_ENABLE = option("web.cancel.enable", BOOLEAN, True)
RESCALE_ENABLE = option("web.rescale.enable", BOOLEAN, True, since=(1, 18))
CHECKPOINTS_HISTORY = option(
    "web.checkpoints.history", INTEGER, 10, deprecated_keys=("jobmanager.web.checkpoints.history",)
)
EXCEPTION_HISTORY_SIZE = option("web.exception-history-size", INTEGER, 16)
ADAPTIVE_SCHEDULER_RESCALE_HISTORY_SIZE = option(
    "web.adaptive-scheduler.rescale-history.size", INTEGER, 0, since=(2, 3)
)
TIMEOUT = option("web.timeout", MILLISECONDS, timedelta(minutes=10))
ADDRESS = option(
    "web.address",
    STRING,
    deprecated_keys=("jobmanager.web.address",),
    until=(1, 20),
    deprecated_since=(1, 17),
)
PORT = option(
    "web.port",
    INTEGER,
    8081,
    deprecated_keys=("jobmanager.web.port",),
    until=(1, 20),
    deprecated_since=(1, 17),
)
SSL_ENABLED = option(
    "web.ssl.enabled",
    BOOLEAN,
    True,
    deprecated_keys=("jobmanager.web.ssl.enabled",),
    until=(1, 20),
    deprecated_since=(1, 17),
)
BACKPRESSURE_CLEANUP_INTERVAL = option(
    "web.backpressure.cleanup-interval",
    INTEGER,
    600000,
    deprecated_keys=("jobmanager.web.backpressure.cleanup-interval",),
    until=(1, 20),
    deprecated_since=(1, 17),
)
BACKPRESSURE_REFRESH_INTERVAL = option(
    "web.backpressure.refresh-interval",
    INTEGER,
    60000,
    deprecated_keys=("jobmanager.web.backpressure.refresh-interval",),
    until=(1, 20),
    deprecated_since=(1, 17),
)
BACKPRESSURE_NUM_SAMPLES = option(
    "web.backpressure.num-samples",
    INTEGER,
    100,
    deprecated_keys=("jobmanager.web.backpressure.num-samples",),
    until=(1, 20),
    deprecated_since=(1, 17),
)
BACKPRESSURE_DELAY_BETWEEN_SAMPLES = option(
    "web.backpressure.delay-between-samples",
    INTEGER,
    50,
    deprecated_keys=("jobmanager.web.backpressure.delay-between-samples",),
    until=(1, 20),
    deprecated_since=(1, 17),
)
