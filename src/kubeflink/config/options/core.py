"""Options of class loading, JVMs, logs and file systems (`CoreOptions` and others)."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import BOOLEAN, DURATION, INTEGER, STRING, STRINGS
from kubeflink.config.options.option import option

CLASSLOADER_RESOLVE_ORDER = option(
    "classloader.resolve-order",
    STRING,
    "child-first",
    about=(
        "Where classes of a job are looked for first: in its jar (child-first) or in Flink "
        "(parent-first)."
    ),
)
CLASSLOADER_PARENT_FIRST_PATTERNS_DEFAULT = option(
    "classloader.parent-first-patterns.default",
    STRINGS,
    (
        "java.",
        "scala.",
        "org.apache.flink.",
        "com.esotericsoftware.kryo",
        "org.apache.hadoop.",
        "javax.annotation.",
        "org.xml",
        "javax.xml",
        "org.apache.xerces",
        "org.w3c",
        "org.rocksdb.",
        "org.slf4j",
        "org.apache.log4j",
        "org.apache.logging",
        "org.apache.commons.logging",
        "ch.qos.logback",
    ),
    deprecated_keys=("classloader.parent-first-patterns",),
    about=("Starts of class names that are always looked for in Flink first; better left alone."),
)
CLASSLOADER_PARENT_FIRST_PATTERNS_ADDITIONAL = option(
    "classloader.parent-first-patterns.additional",
    STRINGS,
    (),
    about="Further starts of class names that are looked for in Flink first.",
)
CLASSLOADER_FAIL_ON_METASPACE_OOM_ERROR = option(
    "classloader.fail-on-metaspace-oom-error",
    BOOLEAN,
    True,
    about="Whether a TaskManager ends when loading a job's classes exhausts the metaspace.",
)
CLASSLOADER_CHECK_LEAKED_CLASSLOADER = option(
    "classloader.check-leaked-classloader",
    BOOLEAN,
    True,
    about="Whether use of a class loader after its job has ended is an error.",
)
PLUGIN_CLASSLOADER_PARENT_FIRST_PATTERNS_DEFAULT = option(
    "plugin.classloader.parent-first-patterns.default",
    STRINGS,
    (
        "java.",
        "org.apache.flink.",
        "javax.annotation.",
        "org.slf4j",
        "org.apache.log4j",
        "org.apache.logging",
        "org.apache.commons.logging",
        "ch.qos.logback",
    ),
    about="Starts of class names that plug-ins always share with Flink; better left alone.",
)
PLUGIN_CLASSLOADER_PARENT_FIRST_PATTERNS_ADDITIONAL = option(
    "plugin.classloader.parent-first-patterns.additional",
    STRINGS,
    (),
    about="Further starts of class names that plug-ins share with Flink.",
)
ENV_JAVA_HOME = option(
    "env.java.home", STRING, since=(2, 0), about="JAVA_HOME of Flink's processes."
)
ENV_JAVA_OPTS_ALL = option(
    "env.java.opts.all",
    STRING,
    "",
    deprecated_keys=("env.java.opts",),
    about="Options of the JVM in all of Flink's processes.",
)
ENV_JAVA_OPTS_JOBMANAGER = option(
    "env.java.opts.jobmanager", STRING, "", about="Further options of the JobManager's JVM."
)
ENV_JAVA_OPTS_TASKMANAGER = option(
    "env.java.opts.taskmanager", STRING, "", about="Further options of the TaskManagers' JVM."
)
ENV_JAVA_OPTS_HISTORYSERVER = option(
    "env.java.opts.historyserver", STRING, "", about="Further options of the history server's JVM."
)
ENV_JAVA_OPTS_CLIENT = option(
    "env.java.opts.client", STRING, "", about="Further options of the JVM of Flink's own client."
)
ENV_JAVA_OPTS_SQL_GATEWAY = option(
    "env.java.opts.sql-gateway",
    STRING,
    "",
    since=(1, 19),
    about="Further options of the SQL gateway's JVM.",
)
ENV_JAVA_DEFAULT_OPTS_ALL = option(
    "env.java.default-opts.all",
    STRING,
    "",
    since=(1, 19),
    about=(
        "Options of the JVM in all of Flink's processes, in front of env.java.opts.all; for "
        "distributors."
    ),
)
ENV_JAVA_DEFAULT_OPTS_JOBMANAGER = option(
    "env.java.default-opts.jobmanager",
    STRING,
    "",
    since=(1, 19),
    about="Options of the JobManager's JVM that come first; for distributors.",
)
ENV_JAVA_DEFAULT_OPTS_TASKMANAGER = option(
    "env.java.default-opts.taskmanager",
    STRING,
    "",
    since=(1, 19),
    about="Options of the TaskManagers' JVM that come first; for distributors.",
)
ENV_LOG_DIR = option("env.log.dir", STRING, about="Directory for log files.")
ENV_PID_DIR = option(
    "env.pid.dir", STRING, "/tmp", about="Directory for the process ids of daemons."
)
ENV_LOG_MAX = option("env.log.max", INTEGER, 10, about="How many old log files are kept.")
ENV_LOG_LEVEL = option(
    "env.log.level", STRING, "INFO", since=(1, 19), about="Level of the root logger."
)
ENV_STDOUT_ERR_REDIRECT_TO_FILE = option(
    "env.stdout-err.redirect-to-file",
    BOOLEAN,
    False,
    since=(1, 18),
    about="Whether the console output of a container also goes into a file.",
)
ENV_SSH_OPTS = option(
    "env.ssh.opts", STRING, about="Options of ssh for the scripts that start standalone clusters."
)
ENV_HADOOP_CONF_DIR = option(
    "env.hadoop.conf.dir", STRING, about="Directory of the Hadoop configuration."
)
ENV_YARN_CONF_DIR = option(
    "env.yarn.conf.dir", STRING, about="Directory of the YARN configuration."
)
ENV_HBASE_CONF_DIR = option(
    "env.hbase.conf.dir", STRING, about="Directory of the HBase configuration."
)
IO_TMP_DIRS = option(
    "io.tmp.dirs",
    STRING,
    "/tmp",
    deprecated_keys=("taskmanager.tmp.dirs",),
    about="Directories for temporary files, separated by commas or colons.",
)
PARALLELISM_DEFAULT = option(
    "parallelism.default", INTEGER, 1, about="Parallelism of jobs that do not say theirs."
)
FS_DEFAULT_SCHEME = option(
    "fs.default-scheme", STRING, about="File system of paths without a scheme."
)
FS_ALLOWED_FALLBACK_FILESYSTEMS = option(
    "fs.allowed-fallback-filesystems",
    STRING,
    "",
    about=(
        "Schemes that may be served by Hadoop although Flink has its own file system for "
        "them; separated by semicolons."
    ),
)
FS_OVERWRITE_FILES = option(
    "fs.overwrite-files", BOOLEAN, False, about="Whether writing a file replaces one that is there."
)
FS_OUTPUT_ALWAYS_CREATE_DIRECTORY = option(
    "fs.output.always-create-directory",
    BOOLEAN,
    False,
    about="Whether output is a directory of files even at parallelism 1.",
)
# Of other classes of Flink: keys that end in a name of the user's, and options whose older names
# are the start of other keys.
CONTAINERIZED_MASTER_ENV_NAME = option(
    "containerized.master.env.<NAME>",
    STRING,
    about="An environment variable of the JobManager's container.",
)
CONTAINERIZED_TASKMANAGER_ENV_NAME = option(
    "containerized.taskmanager.env.<NAME>",
    STRING,
    about="An environment variable of the TaskManagers' containers.",
)
STATE_BACKEND_TYPE = option(
    "state.backend.type",
    STRING,
    deprecated_keys=("state.backend",),
    about="Where state is kept: hashmap, rocksdb, or the class of a factory.",
)
RESTART_STRATEGY_TYPE = option(
    "restart-strategy.type",
    STRING,
    deprecated_keys=("restart-strategy",),
    about="Whether and how a failed job is restarted: none, fixed-delay, failure-rate, "
    "exponential-delay.",
)
CLEANUP_STRATEGY_TYPE = option(
    "cleanup-strategy.type",
    STRING,
    "exponential-delay",
    deprecated_keys=("cleanup-strategy",),
    about="Whether and how the clean-up after a job is tried again.",
)
EXECUTION_BUFFER_TIMEOUT_INTERVAL = option(
    "execution.buffer-timeout.interval",
    DURATION,
    timedelta(milliseconds=100),
    deprecated_keys=("execution.buffer-timeout",),
    about="How long a network buffer that is not full waits before it is sent.",
)
EXECUTION_CHECKPOINTING_UNALIGNED_ENABLED = option(
    "execution.checkpointing.unaligned.enabled",
    BOOLEAN,
    False,
    deprecated_keys=("execution.checkpointing.unaligned",),
    about="Whether checkpoints overtake the data in flight.",
)
EXECUTION_CHECKPOINTING_CHECKPOINTS_AFTER_TASKS_FINISH = option(
    "execution.checkpointing.checkpoints-after-tasks-finish",
    BOOLEAN,
    True,
    since=(1, 20),
    deprecated_keys=("execution.checkpointing.checkpoints-after-tasks-finish.enabled",),
    about="Whether checkpoints are still made when some tasks have finished.",
)
