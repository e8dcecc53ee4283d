"""What a JobManager's log tells of an application and its jobs, line by line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from kubeflink.cluster.job_progress import UNKNOWN
from kubeflink.rest import java_errors

_SHUTDOWN: Final = re.compile(
    r"Shutting \S+ down with application status (?P<status>[A-Z]+)\. Diagnostics (?P<told>.*)$"
)
_START: Final = re.compile(r"\] -  Starting \w+ApplicationClusterEntrypoint ")
_SIGNAL: Final = re.compile(r"\] - RECEIVED SIGNAL \d+: (?P<name>SIG\w+)")
_LOG_LINE: Final = re.compile(r"^\d{4}-\d\d-\d\d|^\[?\d\d:\d\d")
_APPLICATION_FAILURE: Final = re.compile(
    r"^(?:java\.util\.concurrent\.CompletionException: )?org\.apache\.flink\."
    r"(?:client\.deployment\.application\.\w+Exception"
    r"|client\.program\.ProgramInvocationException"
    r"|runtime\.client\.JobExecutionException)"
)
_JOB_FAILED: Final = re.compile(
    r"\] - Job .* \((?P<id>[0-9a-f]{32})\) switched from state \w+ to FAILING\."
)

STATES: Final = {"SUCCEEDED": "FINISHED", "FAILED": "FAILED", "CANCELED": "CANCELED"}
"""States of jobs by the words for applications."""

TRACE_LINES = 400
"""Lines of a stack trace that are kept."""


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
    savepoint: str | None = None
    """One that was made although stopping with it failed."""
    _listening: list[str] | None = None

    def hear(self, line: str) -> None:
        """Takes in one line. A JobManager that starts anew begins the application anew."""
        self.savepoint = java_errors.savepoint_path(line) or self.savepoint
        shutdown = _SHUTDOWN.search(line)
        if shutdown is not None:
            if self.status is None:
                self.status = shutdown["status"]
                self._listening = self.diagnostics = [shutdown["told"]]
        elif _APPLICATION_FAILURE.match(line):
            self._listening = None
            if not self.failure:  # the first is the cause of the others
                self._listening = self.failure = [line]
        elif _LOG_LINE.match(line):
            self._listening = None
            if _START.search(line):
                self._forget()
            elif failed := _JOB_FAILED.search(line):
                self._listening = self.of_jobs[failed["id"]] = []
            elif self.status is None and (signal := _SIGNAL.search(line)):
                self.signal = signal["name"]
        elif self._listening is not None and len(self._listening) < TRACE_LINES:
            self._listening.append(line)

    def _forget(self) -> None:
        self.status = self.signal = self.savepoint = None
        self.diagnostics, self.failure, self.of_jobs = [], [], {}

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
