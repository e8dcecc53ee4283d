"""Options of Python programs (`PythonOptions`)."""

from __future__ import annotations

from kubeflink.config.options.kinds import BOOLEAN, INTEGER, LONG, MAP, STRING
from kubeflink.config.options.option import option

FN_EXECUTION_BUNDLE_SIZE = option(
    "python.fn-execution.bundle.size",
    INTEGER,
    1000,
    about="Records that are handed to Python functions at once.",
)
FN_EXECUTION_BUNDLE_TIME = option(
    "python.fn-execution.bundle.time",
    LONG,
    1000,
    about="Milliseconds after which an unfinished bundle is handed over.",
)
FN_EXECUTION_ARROW_BATCH_SIZE = option(
    "python.fn-execution.arrow.batch.size", INTEGER, 1000, about="Records in an Arrow batch."
)
METRIC_ENABLED = option(
    "python.metric.enabled", BOOLEAN, True, about="Whether Python functions can report metrics."
)
PROFILE_ENABLED = option(
    "python.profile.enabled", BOOLEAN, False, about="Whether Python processes are profiled."
)
SYSTEMENV_ENABLED = option(
    "python.systemenv.enabled",
    BOOLEAN,
    True,
    about="Whether Python processes get the environment of the TaskManager.",
)
OPERATOR_CHAINING_ENABLED = option(
    "python.operator-chaining.enabled",
    BOOLEAN,
    True,
    about="Whether Python operators that can are run in one process.",
)
FILES = option(
    "python.files",
    STRING,
    about=(
        "Files, packages and directories that Python processes can import, separated by commas."
    ),
)
REQUIREMENTS = option(
    "python.requirements",
    STRING,
    about=("requirements.txt, and after # a directory with packages for offline installation."),
)
PYTHONPATH = option(
    "python.pythonpath", STRING, since=(1, 18), about="PYTHONPATH of Python processes."
)
ARCHIVES = option(
    "python.archives",
    STRING,
    about="Archives that are unpacked for Python processes, separated by commas.",
)
EXECUTABLE = option(
    "python.executable", STRING, "python", about="Python interpreter of the TaskManagers."
)
CLIENT_EXECUTABLE = option(
    "python.client.executable", STRING, "python", about="Python interpreter of the client."
)
FN_EXECUTION_MEMORY_MANAGED = option(
    "python.fn-execution.memory.managed",
    BOOLEAN,
    True,
    about="Whether Python processes get their share of managed memory.",
)
STATE_CACHE_SIZE = option(
    "python.state.cache-size", INTEGER, 1000, about="Entries of the cache for state in Python."
)
MAP_STATE_READ_CACHE_SIZE = option(
    "python.map-state.read-cache-size",
    INTEGER,
    1000,
    about="Entries of the cache for reading map state in Python.",
)
MAP_STATE_WRITE_CACHE_SIZE = option(
    "python.map-state.write-cache-size",
    INTEGER,
    1000,
    about="Entries of the cache for writing map state in Python.",
)
MAP_STATE_ITERATE_RESPONSE_BATCH_SIZE = option(
    "python.map-state.iterate-response-batch-size",
    INTEGER,
    1000,
    about="Entries of map state that are handed over at once.",
)
EXECUTION_MODE = option(
    "python.execution-mode",
    STRING,
    "process",
    about="Whether Python functions run in a process of their own or as threads of the JVM.",
)
LOGGING_DEFAULT_LEVEL = option(
    "python.logging.default.level",
    STRING,
    "INFO",
    since=(2, 3),
    about="Level of the root logger in Python processes.",
)
LOGGING_LEVEL_OVERRIDES = option(
    "python.logging.level.overrides",
    MAP,
    since=(2, 3),
    about="Levels of single loggers in Python processes: name:LEVEL,name:LEVEL.",
)
JOB_OPTIONS = option(
    "python.job-options", MAP, about="Options that are handed to Python processes."
)
INTERNAL_FILES_KEY_MAP = option(
    "python.internal.files-key-map", MAP, about="Where distributed Python files lie; set by Flink."
)
INTERNAL_REQUIREMENTS_FILE_KEY = option(
    "python.internal.requirements-file-key",
    MAP,
    about="Where the distributed requirements.txt lies; set by Flink.",
)
INTERNAL_ARCHIVES_KEY_MAP = option(
    "python.internal.archives-key-map", MAP, about="Where distributed archives lie; set by Flink."
)
LOOPBACK_SERVER_ADDRESS = option(
    "python.loopback-server.address",
    STRING,
    about=(
        "Address of the server that runs Python functions in the client's process; set by Flink."
    ),
)
