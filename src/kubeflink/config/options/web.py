"""Options of the web UI (`WebOptions`)."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import BOOLEAN, INTEGER, MILLISECONDS, STRING
from kubeflink.config.options.option import option

ACCESS_CONTROL_ALLOW_ORIGIN = option(
    "web.access-control-allow-origin",
    STRING,
    "*",
    deprecated_keys=("jobmanager.web.access-control-allow-origin",),
    about="Value of the CORS header in REST answers.",
)
REFRESH_INTERVAL = option(
    "web.refresh-interval",
    MILLISECONDS,
    timedelta(seconds=3),
    deprecated_keys=("jobmanager.web.refresh-interval",),
    about="How often the web UI asks for news.",
)
TMPDIR = option(
    "web.tmpdir",
    STRING,
    "/tmp",
    deprecated_keys=("jobmanager.web.tmpdir",),
    about="Directory for files of the web UI.",
)
UPLOAD_DIR = option(
    "web.upload.dir",
    STRING,
    deprecated_keys=("jobmanager.web.upload.dir",),
    about="Directory for uploaded jars; below web.tmpdir if unset.",
)
HISTORY = option(
    "web.history",
    INTEGER,
    5,
    deprecated_keys=("jobmanager.web.history",),
    about="How many finished jobs the web UI shows.",
)
LOG_PATH = option(
    "web.log.path",
    STRING,
    deprecated_keys=("jobmanager.web.log.path",),
    about="Log file of the JobManager, for the web UI.",
)
SUBMIT_ENABLE = option(
    "web.submit.enable",
    BOOLEAN,
    True,
    deprecated_keys=("jobmanager.web.submit.enable",),
    about="Whether jars can be uploaded and run through REST and web UI.",
)
CANCEL_ENABLE = option(
    "web.cancel.enable", BOOLEAN, True, about="Whether jobs can be cancelled in the web UI."
)
RESCALE_ENABLE = option(
    "web.rescale.enable",
    BOOLEAN,
    True,
    since=(1, 18),
    about="Whether jobs can be rescaled in the web UI.",
)
CHECKPOINTS_HISTORY = option(
    "web.checkpoints.history",
    INTEGER,
    10,
    deprecated_keys=("jobmanager.web.checkpoints.history",),
    about="How many checkpoints per job are remembered.",
)
EXCEPTION_HISTORY_SIZE = option(
    "web.exception-history-size", INTEGER, 16, about="How many failures per job are remembered."
)
ADAPTIVE_SCHEDULER_RESCALE_HISTORY_SIZE = option(
    "web.adaptive-scheduler.rescale-history.size",
    INTEGER,
    0,
    since=(2, 3),
    about="How many rescalings per job are remembered.",
)
TIMEOUT = option(
    "web.timeout",
    MILLISECONDS,
    timedelta(minutes=10),
    about="How long the REST server waits for the JobManager.",
)
ADDRESS = option(
    "web.address",
    STRING,
    deprecated_keys=("jobmanager.web.address",),
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Address of the web UI; the older name of rest.bind-address.",
)
PORT = option(
    "web.port",
    INTEGER,
    8081,
    deprecated_keys=("jobmanager.web.port",),
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Port of the web UI; the older name of rest.port.",
)
SSL_ENABLED = option(
    "web.ssl.enabled",
    BOOLEAN,
    True,
    deprecated_keys=("jobmanager.web.ssl.enabled",),
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Whether the web UI uses TLS; no longer used.",
)
BACKPRESSURE_CLEANUP_INTERVAL = option(
    "web.backpressure.cleanup-interval",
    INTEGER,
    600000,
    deprecated_keys=("jobmanager.web.backpressure.cleanup-interval",),
    until=(1, 20),
    deprecated_since=(1, 17),
    about="How long figures about backpressure are kept; no longer used.",
)
BACKPRESSURE_REFRESH_INTERVAL = option(
    "web.backpressure.refresh-interval",
    INTEGER,
    60000,
    deprecated_keys=("jobmanager.web.backpressure.refresh-interval",),
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Age at which figures about backpressure are made again; no longer used.",
)
BACKPRESSURE_NUM_SAMPLES = option(
    "web.backpressure.num-samples",
    INTEGER,
    100,
    deprecated_keys=("jobmanager.web.backpressure.num-samples",),
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Samples for figures about backpressure; no longer used.",
)
BACKPRESSURE_DELAY_BETWEEN_SAMPLES = option(
    "web.backpressure.delay-between-samples",
    INTEGER,
    50,
    deprecated_keys=("jobmanager.web.backpressure.delay-between-samples",),
    until=(1, 20),
    deprecated_since=(1, 17),
    about="Pause between samples for backpressure; no longer used.",
)
