"""Options of Flink, family python."""

from __future__ import annotations

from kubeflink.config.options.kinds import BOOLEAN, INTEGER, LONG, MAP, STRING
from kubeflink.config.options.option import option

FN_EXECUTION_BUNDLE_SIZE = option("python.fn-execution.bundle.size", INTEGER, 1000)
FN_EXECUTION_BUNDLE_TIME = option("python.fn-execution.bundle.time", LONG, 1000)
FN_EXECUTION_ARROW_BATCH_SIZE = option("python.fn-execution.arrow.batch.size", INTEGER, 1000)
METRIC_ENABLED = option("python.metric.enabled", BOOLEAN, True)
PROFILE_ENABLED = option("python.profile.enabled", BOOLEAN, False)
SYSTEMENV_ENABLED = option("python.systemenv.enabled", BOOLEAN, True)
OPERATOR_CHAINING_ENABLED = option("python.operator-chaining.enabled", BOOLEAN, True)
FILES = option("python.files", STRING)
REQUIREMENTS = option("python.requirements", STRING)
PYTHONPATH = option("python.pythonpath", STRING, since=(1, 18))
ARCHIVES = option("python.archives", STRING)
EXECUTABLE = option("python.executable", STRING, "python")
CLIENT_EXECUTABLE = option("python.client.executable", STRING, "python")
FN_EXECUTION_MEMORY_MANAGED = option("python.fn-execution.memory.managed", BOOLEAN, True)
STATE_CACHE_SIZE = option("python.state.cache-size", INTEGER, 1000)
MAP_STATE_READ_CACHE_SIZE = option("python.map-state.read-cache-size", INTEGER, 1000)
MAP_STATE_WRITE_CACHE_SIZE = option("python.map-state.write-cache-size", INTEGER, 1000)
MAP_STATE_ITERATE_RESPONSE_BATCH_SIZE = option(
    "python.map-state.iterate-response-batch-size", INTEGER, 1000
)
EXECUTION_MODE = option("python.execution-mode", STRING, "process")
LOGGING_DEFAULT_LEVEL = option("python.logging.default.level", STRING, "INFO", since=(2, 3))
LOGGING_LEVEL_OVERRIDES = option("python.logging.level.overrides", MAP, since=(2, 3))
JOB_OPTIONS = option("python.job-options", MAP)
INTERNAL_FILES_KEY_MAP = option("python.internal.files-key-map", MAP)
INTERNAL_REQUIREMENTS_FILE_KEY = option("python.internal.requirements-file-key", MAP)
INTERNAL_ARCHIVES_KEY_MAP = option("python.internal.archives-key-map", MAP)
LOOPBACK_SERVER_ADDRESS = option("python.loopback-server.address", STRING)
