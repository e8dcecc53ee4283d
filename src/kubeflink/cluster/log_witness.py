"""What a JobManager's log tells of an application and its jobs, line by line.

The program of an application runs in the JobManager, and what it prints and logs is in the same
log: perhaps the very words for which this listens, out of another log that it reads. So these count
only where Flink's own logger says them, in a line of the layout that Flink's images have:

    2026-01-31 12:00:00,000 INFO  org.apache.flink.runtime.entrypoint.ClusterEntrypoint [] -
    Shutting KubernetesApplicationClusterEntrypoint down with application status SUCCEEDED. ...

Where no logger of Flink has that layout, another one was configured, and any line may say them. Of
several words about the end the last counts, which Flink says when the program is over. What remains
is that a program can write whole lines as Flink does, and stack traces, which have no logger: it
can tell a wrong cause, or a wrong end if the right one is never heard. It is the program of the one
who asks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from kubeflink.cluster.job_progress import UNKNOWN
from kubeflink.rest import java_errors

_LAYOUT: Final = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\S* +[A-Z]+ +(?P<logger>[\w.$]+) +(?:\[[^\]]*\] +)?- (?P<said>.*)"
)
_FLINK: Final = ("org.apache.flink.", "o.a.f.")
_ENTRYPOINT: Final = "ClusterEntrypoint"
_EXECUTION_GRAPH: Final = "ExecutionGraph"
_SHUTDOWN: Final = re.compile(
    r"Shutting \S+ down with application status (?P<status>[A-Z]+)\. Diagnostics (?P<told>.*)$"
)
_START: Final = re.compile(r" Starting \w+ApplicationClusterEntrypoint ")
_SIGNAL: Final = re.compile(r"RECEIVED SIGNAL \d+: (?P<name>SIG\w+)")
_LOG_LINE: Final = re.compile(r"^\d{4}-\d\d-\d\d|^\[?\d\d:\d\d")
_APPLICATION_FAILURE: Final = re.compile(
    r"^(?:java\.util\.concurrent\.CompletionException: )?org\.apache\.flink\."
    r"(?:client\.deployment\.application\.\w+Exception"
    r"|client\.program\.ProgramInvocationException"
    r"|runtime\.client\.JobExecutionException)"
)
_JOB: Final = re.compile(
    r"Job .* \((?P<id>[0-9a-f]{32})\) switched from state \w+ to (?P<state>FAILING|RUNNING)\."
)

STATES: Final = {"SUCCEEDED": "FINISHED", "FAILED": "FAILED", "CANCELED": "CANCELED"}
"""States of jobs by the words for applications."""

TRACE_LINES = 400
"""Lines of a stack trace that are kept."""

LONGEST_LINE = 10_000
"""Characters of a line that are looked at; a program may print one without an end."""


@dataclass(slots=True)
class LogWitness:
    """Reads the JobManager's log for the word about the application, and for why it failed.

    Of the many stack traces in a log only those of the application and of its jobs are kept: a
    JobManager that goes away complains about much that is of no consequence.
    """

    status: str | None = None
    signal: str | None = None
    diagnostics: list[str] = field(default_factory=list)
    failure: list[str] = field(default_factory=list)
    of_jobs: dict[str, list[str]] = field(default_factory=dict)
    """The failures of jobs, by their ids."""
    savepoints: dict[str, str] = field(default_factory=dict)
    """Those that were made although stopping with them failed, by the ids of their jobs."""
    _listening: list[str] | None = None
    _is_laid_out: bool = False
    """Whether there are lines of Flink's in this layout."""

    def hear(self, line: str) -> None:
        """Takes in one line. A JobManager that starts anew begins the application anew."""
        line = line[:LONGEST_LINE]
        logged = _LAYOUT.match(line)
        # A program may log in this layout although Flink has another one.
        self._is_laid_out |= logged is not None and logged["logger"].startswith(_FLINK)
        if shutdown := self._said(_SHUTDOWN, _ENTRYPOINT, line, logged):
            self._listening = None
            # A standby that is ended from outside says UNKNOWN after its leader said how it went.
            if self.status is None or shutdown["status"] in STATES:
                self.status = shutdown["status"]
                self._listening = self.diagnostics = [shutdown["told"]]
        elif logged is None and _APPLICATION_FAILURE.match(line):
            self._hear_of_savepoint(line)
            self._listening = None
            if not self.failure:  # the first is the cause of the others
                self._listening = self.failure = [line]
        elif logged is not None or _LOG_LINE.match(line):
            self._listening = None
            self._hear_of_course(line, logged)
        else:
            self._hear_of_savepoint(line)
            if self._listening is not None and len(self._listening) < TRACE_LINES:
                self._listening.append(line)

    def _said(
        self, words: re.Pattern[str], logger: str, line: str, logged: re.Match[str] | None
    ) -> re.Match[str] | None:
        """The words, if it is the logger who says them or nobody can tell."""
        if logged is not None:
            return words.match(logged["said"]) if logged["logger"].endswith(logger) else None
        return None if self._is_laid_out else words.search(line)

    def _hear_of_course(self, line: str, logged: re.Match[str] | None) -> None:
        if self._said(_START, _ENTRYPOINT, line, logged):
            self._forget()
        elif job := self._said(_JOB, _EXECUTION_GRAPH, line, logged):
            if job["state"] == "RUNNING":  # it goes on, further than the savepoint
                self.savepoints.pop(job["id"], None)
            else:
                self._listening = self.of_jobs[job["id"]] = []
        elif self.status is None and (signal := self._said(_SIGNAL, _ENTRYPOINT, line, logged)):
            self.signal = signal["name"]

    def _hear_of_savepoint(self, line: str) -> None:
        """Takes note of a line of a stack trace that has the path of one."""
        saved = java_errors.savepoint_of_stop(line)
        if saved is not None:
            self.savepoints[saved.job_id] = saved.path

    def _forget(self) -> None:
        self.status = self.signal = None
        self.diagnostics, self.failure = [], []
        self.of_jobs, self.savepoints = {}, {}

    @property
    def state(self) -> str | None:
        """The state of the application in the words of jobs; None if nothing was said of it."""
        return None if self.status is None else STATES.get(self.status, UNKNOWN)

    @property
    def trace(self) -> str | None:
        """The stack trace that explains the failure."""
        told = "\n".join(self.diagnostics).strip()
        if told.rstrip(".") not in ("", "null"):
            return told
        return "\n".join(self.failure) or None

    def trace_of(self, job_id: str) -> str | None:
        """The stack trace with which a job began to fail; that of the first one without an id."""
        lines = self.of_jobs.get(job_id) if job_id else next(iter(self.of_jobs.values()), None)
        return "\n".join(lines) if lines else None

    def savepoint_of(self, job_id: str) -> str | None:
        """The savepoint that was made of a job that failed when it stopped; the last without id."""
        if not job_id:
            return next(reversed(self.savepoints.values()), None)
        return self.savepoints.get(job_id)
