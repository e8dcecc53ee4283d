"""Options of Flink, family core."""

from __future__ import annotations

from kubeflink.config.options.kinds import BOOLEAN, INTEGER, STRING, STRINGS
from kubeflink.config.options.option import option

CLASSLOADER_RESOLVE_ORDER = option("classloader.resolve-order", STRING, "child-first")
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
)
CLASSLOADER_PARENT_FIRST_PATTERNS_ADDITIONAL = option(
    "classloader.parent-first-patterns.additional", STRINGS, ()
)
CLASSLOADER_FAIL_ON_METASPACE_OOM_ERROR = option(
    "classloader.fail-on-metaspace-oom-error", BOOLEAN, True
)
CLASSLOADER_CHECK_LEAKED_CLASSLOADER = option("classloader.check-leaked-classloader", BOOLEAN, True)
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
)
PLUGIN_CLASSLOADER_PARENT_FIRST_PATTERNS_ADDITIONAL = option(
    "plugin.classloader.parent-first-patterns.additional", STRINGS, ()
)
ENV_JAVA_HOME = option("env.java.home", STRING, since=(2, 0))
ENV_JAVA_OPTS_ALL = option("env.java.opts.all", STRING, "", deprecated_keys=("env.java.opts",))
ENV_JAVA_OPTS_JOBMANAGER = option("env.java.opts.jobmanager", STRING, "")
ENV_JAVA_OPTS_TASKMANAGER = option("env.java.opts.taskmanager", STRING, "")
ENV_JAVA_OPTS_HISTORYSERVER = option("env.java.opts.historyserver", STRING, "")
ENV_JAVA_OPTS_CLIENT = option("env.java.opts.client", STRING, "")
ENV_JAVA_OPTS_SQL_GATEWAY = option("env.java.opts.sql-gateway", STRING, "", since=(1, 19))
ENV_JAVA_DEFAULT_OPTS_ALL = option("env.java.default-opts.all", STRING, "", since=(1, 19))
ENV_JAVA_DEFAULT_OPTS_JOBMANAGER = option(
    "env.java.default-opts.jobmanager", STRING, "", since=(1, 19)
)
ENV_JAVA_DEFAULT_OPTS_TASKMANAGER = option(
    "env.java.default-opts.taskmanager", STRING, "", since=(1, 19)
)
ENV_LOG_DIR = option("env.log.dir", STRING)
ENV_PID_DIR = option("env.pid.dir", STRING, "/tmp")
ENV_LOG_MAX = option("env.log.max", INTEGER, 10)
ENV_LOG_LEVEL = option("env.log.level", STRING, "INFO", since=(1, 19))
ENV_STDOUT_ERR_REDIRECT_TO_FILE = option(
    "env.stdout-err.redirect-to-file", BOOLEAN, False, since=(1, 18)
)
ENV_SSH_OPTS = option("env.ssh.opts", STRING)
ENV_HADOOP_CONF_DIR = option("env.hadoop.conf.dir", STRING)
ENV_YARN_CONF_DIR = option("env.yarn.conf.dir", STRING)
ENV_HBASE_CONF_DIR = option("env.hbase.conf.dir", STRING)
IO_TMP_DIRS = option("io.tmp.dirs", STRING, "/tmp", deprecated_keys=("taskmanager.tmp.dirs",))
PARALLELISM_DEFAULT = option("parallelism.default", INTEGER, 1)
FS_DEFAULT_SCHEME = option("fs.default-scheme", STRING)
FS_ALLOWED_FALLBACK_FILESYSTEMS = option("fs.allowed-fallback-filesystems", STRING, "")
FS_OVERWRITE_FILES = option("fs.overwrite-files", BOOLEAN, False)
FS_OUTPUT_ALWAYS_CREATE_DIRECTORY = option("fs.output.always-create-directory", BOOLEAN, False)
