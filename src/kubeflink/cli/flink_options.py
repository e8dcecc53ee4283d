"""The options of Flink's actions, by Flink version.

The tables are those of `CliFrontendParser` with what its "custom command lines" add to every
action: `-t`, `-e` and `-D` (GenericCLI), `-m` and `-z` (DefaultCLI), and `-yid` of the stand-in for
YARN, which counts where names are cut short. Options that Flink no longer lists, or lists without
effect on Kubernetes, are `hidden` from `--help`. The descriptions are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubeflink.cli.flink_arguments import UNLIMITED, FlinkOption

if TYPE_CHECKING:
    from kubeflink.config.versions import FlinkVersion

TARGET = FlinkOption(
    "t",
    "target",
    "Where to run: kubernetes-session, kubernetes-application or remote. The same as the option"
    " execution.target.",
    arguments=1,
)
EXECUTOR = FlinkOption("e", "executor", "The old form of -t.", arguments=1)
DYNAMIC_PROPERTY = FlinkOption(
    "D",
    None,
    "An option of Flink's configuration; may be given many times.",
    arguments=2,
    argument="property=value",
    separator="=",
)
JOBMANAGER = FlinkOption(
    "m", "jobmanager", "Address of the JobManager's REST API, for the target remote.", arguments=1
)
ZOOKEEPER_NAMESPACE = FlinkOption("z", "zookeeperNamespace", arguments=1, hidden=True)
YARN_APPLICATION = FlinkOption("yid", "yarnapplicationId", arguments=1, hidden=True)

SESSION = (EXECUTOR, TARGET, DYNAMIC_PROPERTY)
"""What `kubernetes-session` knows."""

_EVERYWHERE = (*SESSION, ZOOKEEPER_NAMESPACE, YARN_APPLICATION, JOBMANAGER)

_HELP = FlinkOption("h", "help", "Show this help.")
_VERBOSE = FlinkOption("v", "verbose", hidden=True)
_TYPE = FlinkOption(
    "type", "type", "Format of the savepoint: canonical (default) or native.", arguments=1
)
_DETACHED_SAVEPOINT = FlinkOption(
    "detached",
    None,
    "Do not wait for the savepoint: print the id of the trigger and return.",
    since=(1, 19),
)

_PROGRAM = (
    _HELP,
    _VERBOSE,
    FlinkOption("j", "jarfile", arguments=1, hidden=True),
    FlinkOption(
        "c",
        "class",
        'Class with the "main" method, where the jar\'s manifest does not name it.',
        arguments=1,
        argument="classname",
    ),
    FlinkOption(
        "C",
        "classpath",
        "A URL for the class path of the program, reachable from every pod; may be given many"
        " times.",
        arguments=1,
        argument="url",
    ),
    FlinkOption(
        "p",
        "parallelism",
        "Parallelism of the program, instead of parallelism.default.",
        arguments=1,
        argument="parallelism",
    ),
    FlinkOption("a", "arguments", arguments=UNLIMITED, argument="programArgs", hidden=True),
    FlinkOption("d", "detached", "Return when the job is submitted."),
    FlinkOption(
        "sae",
        "shutdownOnAttachedExit",
        "Attached: try to end the cluster when this command is interrupted.",
    ),
    FlinkOption("yd", "yarndetached", hidden=True, until=(1, 20)),
    FlinkOption(
        "py",
        "python",
        "Python script that is the program.",
        arguments=1,
        argument="pythonFile",
        names_program=True,
    ),
    FlinkOption(
        "pyfs",
        "pyFiles",
        "Python files, zips or directories for the Python path of the program and its workers,"
        " separated by commas.",
        arguments=1,
        argument="pythonFiles",
    ),
    FlinkOption(
        "pym",
        "pyModule",
        "Python module that is the program; goes with --pyFiles.",
        arguments=1,
        argument="pythonModule",
        names_program=True,
    ),
    FlinkOption(
        "pyreq",
        "pyRequirements",
        "requirements.txt for the Python workers, optionally with #DIRECTORY of packages.",
        arguments=1,
    ),
    FlinkOption(
        "pyarch",
        "pyArchives",
        "Archives to unpack for the Python workers, separated by commas, each optionally with"
        " #DIRECTORY.",
        arguments=1,
    ),
    FlinkOption("pyexec", "pyExecutable", "Python interpreter of the workers.", arguments=1),
    FlinkOption(
        "pyclientexec",
        "pyClientExecutable",
        "Python interpreter that runs the program.",
        arguments=1,
    ),
    FlinkOption(
        "pypath",
        "pyPythonPath",
        "Python path of the workers.",
        arguments=1,
        since=(1, 18),
    ),
)

_RUN = (
    *_PROGRAM,
    FlinkOption(
        "s",
        "fromSavepoint",
        "Savepoint to start from, such as s3://bucket/savepoint-1537.",
        arguments=1,
        argument="savepointPath",
    ),
    FlinkOption(
        "n",
        "allowNonRestoredState",
        "Start although the savepoint holds state of operators that the program no longer has.",
    ),
    FlinkOption(
        "cm",
        "claimMode",
        "Who owns the savepoint afterwards: no_claim (default), claim or legacy.",
        arguments=1,
        since=(1, 20),
    ),
    FlinkOption(
        "rm",
        "restoreMode",
        "The old form of --claimMode.",
        arguments=1,
    ),
)

_LIST = (
    _HELP,
    _VERBOSE,
    FlinkOption("a", "all", "All jobs, also those that have ended."),
    FlinkOption("r", "running", "Only running jobs."),
    FlinkOption("s", "scheduled", "Only scheduled jobs."),
)

_STOP = (
    _HELP,
    _VERBOSE,
    FlinkOption(
        "p",
        "savepointPath",
        "Directory for the savepoint, instead of the configured one.",
        arguments=1,
        argument="savepointPath",
        argument_is_optional=True,
    ),
    FlinkOption("d", "drain", "Send the last watermark before the savepoint is taken."),
    _TYPE,
    _DETACHED_SAVEPOINT,
)

_CANCEL = (
    _HELP,
    _VERBOSE,
    FlinkOption(
        "s",
        "withSavepoint",
        "Take a savepoint first. Deprecated: use stop.",
        arguments=1,
        argument="targetDirectory",
        argument_is_optional=True,
    ),
    _TYPE,
)

_SAVEPOINT = (
    _HELP,
    _VERBOSE,
    FlinkOption("d", "dispose", "Dispose of the savepoint at this path.", arguments=1),
    FlinkOption("j", "jarfile", arguments=1, argument="jarfile", hidden=True),
    _TYPE,
    _DETACHED_SAVEPOINT,
)

_CHECKPOINT = (
    _HELP,
    _VERBOSE,
    FlinkOption("full", "full", "Take a full checkpoint."),
)

_ACTIONS = {
    "run": _RUN,
    "run-application": _RUN,
    "info": _PROGRAM,
    "list": _LIST,
    "stop": _STOP,
    "cancel": _CANCEL,
    "savepoint": _SAVEPOINT,
    "checkpoint": _CHECKPOINT,
}

ACTIONS = tuple(_ACTIONS)
"""The actions of Flink's `flink` script, in all versions together."""

PROGRAM_ACTIONS = ("run", "run-application", "info")
"""The actions whose options end at a program."""


def options_of(action: str, version: FlinkVersion) -> tuple[FlinkOption, ...]:
    """The options that the action has in this version, those of every action last."""
    present = (version.major, version.minor)
    options = (*_ACTIONS[action], *_EVERYWHERE)
    return tuple(option for option in options if option.since <= present <= option.until)
