"""What the end of a log says about why a process ended.

First the known sentences, each with what they mean in Kubernetes, where the words themselves lead
astray: "Number of retries has been exhausted" is a missing right to watch pods. Then whatever the
last exception was, as its root cause.

A log may hold anything, such as one line of a megabyte. So each pattern begins where a word or a
line does, or with words of its own, and is tried once for each: the time grows with the length of
the log, not with its square.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kubeflink.kube.status import OWNER_HINT, OWNER_SENTENCE
from kubeflink.rest import java_errors
from kubeflink.spec.advice import FILE_SYSTEMS


@dataclass(frozen=True, slots=True)
class LogFinding:
    """A cause as the log tells it, and what to do."""

    sentence: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    pattern: re.Pattern[str]
    sentence: str
    hint: str
    hint_of_process: str


def _known(pattern: str, sentence: str, hint: str, hint_of_process: str | None = None) -> _Known:
    return _Known(re.compile(pattern), sentence, hint, hint_of_process or hint)


_ROLE = (
    "Give its service account a Role with get, list, watch, create, delete on pods and get on"
    " deployments, e.g. the ClusterRole `edit`"
)

_KNOWN: Final = (
    _known(
        r"exec format error",
        "its image is built for another processor architecture than the node's (exec format error)",
        "Use an image for that architecture, or select nodes by"
        " kubernetes.jobmanager.node-selector=kubernetes.io/arch:amd64 (and taskmanager)",
    ),
    _known(
        r'(?<![\w./-])(?P<what>[\w./-]+)"? is forbidden: User "(?P<who>[^"]+)" cannot (?P<verb>\w+)'
        r' resource "(?P<resource>[^"]+)"',
        'account "{who}" may not {verb} {resource}',
        _ROLE,
    ),
    _known(
        re.escape(OWNER_SENTENCE),
        f"it may not make pods that are owned by its Deployment ({OWNER_SENTENCE})",
        OWNER_HINT,
    ),
    _known(
        # While it starts and ends, its REST server logs the same words, of no consequence.
        r"(?s)\A(?>.*?Fatal error occurred).*Number of retries has been exhausted",
        "the JobManager could not watch its pods (Number of retries has been exhausted)",
        _ROLE,
    ),
    _known(
        r"(?m)[rR]enew deadline reached|^(?>.*?lost leadership).*renew",
        "the JobManager lost its leadership: it could not renew its lease in time",
        "Its token may have expired or the API server was slow: Flink 1.18.0 has a known fault here"
        " (use 1.18.1 or newer); see high-availability.kubernetes.leader-election.*",
    ),
    _known(
        r"OutOfMemoryError: Metaspace",
        "the JVM ran out of metaspace",
        "Raise jobmanager.memory.jvm-metaspace.size or taskmanager.memory.jvm-metaspace.size",
    ),
    _known(
        r"OutOfMemoryError: Direct buffer memory",
        "the JVM ran out of direct memory",
        "Raise taskmanager.memory.framework.off-heap.size or taskmanager.memory.task.off-heap.size",
    ),
    _known(
        r"OutOfMemoryError: Java heap space|GC overhead limit exceeded",
        "the JVM ran out of heap",
        "Raise jobmanager.memory.process.size or taskmanager.memory.process.size",
    ),
    _known(
        r"Could not find a file system implementation for scheme '(?P<scheme>\w+)'",
        "there is no file system for {scheme}:// in the image",
        "Switch its plug-in on: containerized.master.env.ENABLE_BUILT_IN_PLUGINS and"
        " containerized.taskmanager.env.ENABLE_BUILT_IN_PLUGINS={plugin}-<version>.jar",
    ),
    _known(
        r"Plugin (?P<plugin>\S+) does not exist"
        r"|(?<![\w.-])(?P<jar>flink-[\w.-]+\.jar) does not exist",
        "a plug-in named in ENABLE_BUILT_IN_PLUGINS is not in the image",
        "Its name must carry the image's exact Flink version; several are separated by ';'",
    ),
    _known(
        r"JAR file does not exist '(?P<jar>[^'\n]+)'",
        "its program {jar} does not exist",
        "local:// names a file of the image: look for it there; from Flink 1.20 on one of this"
        " machine can be uploaded (kubernetes.artifacts.local-upload-enabled)",
        "local:// names a file of this machine here: give its whole path",
    ),
    _known(
        r"Found 0 flink-sql-gateway jar",
        "the image has no jar of the SQL gateway, by which Flink runs a SQL script",
        "Put flink-sql-gateway-<version>.jar into the image's opt, where the official images have"
        " it; or run the script on a session cluster",
    ),
    _known(
        r"exceeded quota: (?P<quota>[^\n]+)",
        "the namespace's quota is used up ({quota})",
        "Ask for less, or have the namespace's ResourceQuota raised",
    ),
)

_OWN_FAILURE = re.compile(
    r"^kubeflink: (?!\d{4}-)(?P<what>.+)\n(?P<hint>(?:  .+\n)*)\Z", re.MULTILINE
)
"""The last words of a kubeflink that fails: a line without a time, and below it what to do."""

_LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d")
_LOGGER_END = 200
"""Where the name of the logger ends at the latest, in Flink's layout."""
_REST_HANDLERS: Final = (".runtime.rest.handler.", ".runtime.webmonitor.handlers.")

_TRACE_START = re.compile(r"^(?:[a-z_$][\w$]*\.)+[A-Z_$][\w$]*(?:Exception|Error|Throwable)\b")
_LEVEL = re.compile(r"\b(?:ERROR|FATAL)\b\s+(?P<rest>.*)$")


def explain_log(text: str, *, of_process: bool = False) -> LogFinding | None:
    """The cause in a log, the last one if there are several; None if the log tells of none.

    `of_process` says that it is no container's, but that of a process with its machine's files.
    """
    text = _without_requests(text)
    if not text.strip():
        return None
    return known_cause(text, of_process=of_process) or _last_exception(text) or _last_error(text)


def _without_requests(text: str) -> str:
    """The log without what REST handlers say: why a request failed, and never why the process did.

    A request that comes while Flink is starting is such a failure.
    """
    kept, is_of_request = [], False
    for line in text.splitlines():
        if _LOG_LINE.match(line):
            is_of_request = any(logger in line[:_LOGGER_END] for logger in _REST_HANDLERS)
        if not is_of_request:
            kept.append(line)
    return "\n".join(kept)


def explain_own_log(text: str) -> LogFinding | None:
    """Why a program of kubeflink's own, such as a broker, has ended: what it has said at last."""
    found = _OWN_FAILURE.search(f"{text.rstrip()}\n")
    if found is None:
        return None
    hint = " ".join(line.strip() for line in found["hint"].splitlines())
    return LogFinding(found["what"], hint or None)


def known_cause(text: str, *, of_process: bool = False) -> LogFinding | None:
    """The cause by the known sentences alone, in a log or a stack trace."""
    for known in _KNOWN:
        found = list(known.pattern.finditer(text))
        if found:
            told = {key: value or "" for key, value in found[-1].groupdict().items()}
            told["plugin"] = FILE_SYSTEMS.get(told.get("scheme", ""), "flink-...-fs-hadoop")
            hint = known.hint_of_process if of_process else known.hint
            return LogFinding(known.sentence.format_map(told), hint.format_map(told))
    return None


def what_to_do(trace: str) -> str | None:
    """What to do about the cause in the stack trace of a job; None if nobody knows."""
    found = known_cause(trace)
    return found.hint if found else java_errors.advice(trace)


def _last_exception(text: str) -> LogFinding | None:
    lines = text.splitlines()
    for index in range(len(lines) - 1, -1, -1):
        if _TRACE_START.match(lines[index]):
            trace = "\n".join(lines[index:])
            return LogFinding(java_errors.root_cause(trace), java_errors.advice(trace))
    return None


def _last_error(text: str) -> LogFinding | None:
    for line in reversed(text.splitlines()):
        found = _LEVEL.search(line)
        if found:
            return LogFinding(found["rest"].partition(" - ")[2].strip() or found["rest"].strip())
    return None
