"""Java stack traces as one line that a user can act on.

Flink's REST API sends errors as printed stack traces: wrappers upon wrappers, such as
`CompletionException` and `ProgramInvocationException`, each repeating the message of the next, and
at the end the one that says what happened. `root_cause` finds that one. These are pure functions
over text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CLASS = r"(?:[a-z_$][\w$]*\.)+[A-Z_$][\w$]*"
_HEAD = re.compile(rf"^(?:Caused by: )?(?P<name>{_CLASS})(?:: ?(?P<message>.*))?$")
_FRAME = re.compile(r"^\s*(?:at \S.*|\.\.\. \d+ (?:more|common frames omitted)|Suppressed: .*)$")
_SERVER_SIDE = frozenset({"<Exception on server side:", "End of exception on server side>"})

# Java's own carriers: what they say is said better by the exception around them.
_UNINFORMATIVE = frozenset(
    {"java.util.concurrent.TimeoutException", "java.lang.InterruptedException"}
)

# Calcite is Flink's reader of SQL.
_OWN = ("org.apache.flink.", "org.apache.calcite.")

# A list of a hundred lines.
_EXPECTED = re.compile(r"\s*Was expecting one of:.*", re.DOTALL)

_TRACEBACK = "Traceback (most recent call last):"

# In the JobManager, when a job begins or is asked for its first checkpoint. Since 1.20 the option
# has the second name, and keeps the first.
_OF_CHECKPOINT_DIRECTORY = "FsCheckpointStorageAccess.initializeBaseLocationsForCheckpoint("
_ADVICE = {
    _OF_CHECKPOINT_DIRECTORY: (
        "The option is state.checkpoints.dir, since 1.20 also execution.checkpointing.dir: name a"
        " directory that the JobManager and all TaskManagers can write"
    ),
    "Exceeded checkpoint tolerable failure threshold": (
        "Why they fail is in the JobManager's log; how many may is"
        " execution.checkpointing.tolerable-failed-checkpoints"
    ),
}

# Flink's StopWithSavepointStoppingException.
_SAVEPOINT_PATH = re.compile(
    r"StopWithSavepointStoppingException: A savepoint has been created at: (?P<path>\S.*?)"
    r"(?:, but the corresponding job (?P<job>[0-9a-f]*)|\s|$)"
)


@dataclass(frozen=True, slots=True)
class JavaError:
    """One exception of a chain: its class with package, and its message, which may be empty."""

    name: str
    message: str

    @property
    def simple_name(self) -> str:
        """The class without package and outer classes."""
        return self.name.rpartition(".")[2].rpartition("$")[2]

    @property
    def one_line(self) -> str:
        """Class and message without line breaks; classes of Flink and its SQL are not named.

        Where a function in Python failed, the message is its whole traceback: then it is what
        Python says at its end. Of what a parser has met, not all that it would have liked is told.
        """
        told = _EXPECTED.sub("", self.message)
        message = _end_of_traceback(told) or " ".join(told.split())
        if not message:
            return self.simple_name
        if self.name.startswith(_OWN) or _TRACEBACK in self.message:
            return message
        return f"{self.simple_name}: {message}"


def _end_of_traceback(message: str) -> str:
    """The exception of a Python traceback, which is the last that is not indented; else empty."""
    _, _, frames = message.rpartition(_TRACEBACK)
    lines = frames.splitlines() if _TRACEBACK in message else []
    ends = (number for number, line in enumerate(lines) if line and not line[0].isspace())
    return " ".join(" ".join(lines[next(ends, len(lines)) :]).split())


def causes(stack_trace: str) -> list[JavaError]:
    """The chain of exceptions in a printed stack trace, outermost first.

    Messages keep their line breaks. Suppressed exceptions are left out.
    """
    chain: list[tuple[str, list[str]]] = []
    in_message = False
    for line in stack_trace.splitlines():
        head = _HEAD.match(line)
        if head and (not chain or line.startswith("Caused by: ")):
            chain.append((head["name"], [head["message"] or ""]))
            in_message = True
        elif _FRAME.match(line) or line.strip() in _SERVER_SIDE:
            in_message = False
        elif in_message:
            chain[-1][1].append(line)
    return [JavaError(name, "\n".join(message).strip()) for name, message in chain]


def without_frames(stack_trace: str) -> str:
    """The exceptions with their messages, without the places in the code that they came by.

    Each request passes Flink's `LeaderRetrievalHandler`: a class in a frame says nothing about the
    cause.
    """
    return "\n".join(line for line in stack_trace.splitlines() if not _FRAME.match(line))


def root_cause(stack_trace: str) -> str:
    """What happened, in one line: `IllegalArgumentException: bad record 50`.

    That is the innermost exception with something to say. A text that is no stack trace is given
    back as its first line; empty stays empty. Where its words are those of a file system alone,
    what the file was to be is told, too.
    """
    told = _innermost(stack_trace)
    if _OF_CHECKPOINT_DIRECTORY in stack_trace:
        return f"the directory for checkpoints cannot be made: {told}"
    return told


def advice(stack_trace: str) -> str | None:
    """What to do about a cause that is known by its words, or the place where it arose."""
    return next((told for mark, told in _ADVICE.items() if mark in stack_trace), None)


def _innermost(stack_trace: str) -> str:
    chain = causes(stack_trace)
    if not chain:
        stripped = stack_trace.strip()
        return stripped.splitlines()[0] if stripped else ""
    telling = [error for error in chain if error.message and error.name not in _UNINFORMATIVE]
    if not telling:
        return chain[-1].one_line
    innermost, around = telling[-1], telling[-2] if len(telling) > 1 else None
    # A class that is missing is told better by Flink's sentence about it, where there is one.
    is_missing_class = innermost.simple_name == "ClassNotFoundException"
    if is_missing_class and around is not None and innermost.message in around.message:
        return around.one_line
    return innermost.one_line


@dataclass(frozen=True, slots=True)
class StopSavepoint:
    """A savepoint of a job that failed while it stopped. The id is empty where it is not told."""

    path: str
    job_id: str


def savepoint_of_stop(stack_trace: str) -> StopSavepoint | None:
    """The savepoint that was made although stopping failed afterwards.

    Flink tells it only inside the message of that failure: without this the path would be lost,
    and with it the way to go on.
    """
    found = _SAVEPOINT_PATH.search(stack_trace)
    return StopSavepoint(found["path"], found["job"] or "") if found else None
