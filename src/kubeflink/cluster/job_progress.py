"""What is seen of a job while its JobManager is asked again and again, and how it is asked.

A question without an answer says nothing about the job. So each has a limit, after which it is
asked whether the cluster is there at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kubeflink.cluster.clock import Deadline
from kubeflink.errors import (
    ApiUnreachableError,
    RestUnreachableError,
    ServerError,
    TooManyRequestsError,
)
from kubeflink.rest import models

UNKNOWN: Final = "UNKNOWN"
"""The state of a job on a cluster that cannot be reached."""

ANSWER_SECONDS = 10.0
"""How long an answer is waited for before it is asked whether the cluster is there at all."""

UNREACHABLE = (RestUnreachableError, ApiUnreachableError, ServerError, TooManyRequestsError)
"""No proof of anything but of a bad way to the cluster."""

LONGEST_PAUSE = 1.0
"""Seconds between two questions."""

_FIRST_PAUSE = 0.2


@dataclass(frozen=True, slots=True)
class JobProgress:
    """A moment in a job's life. `tasks` counts the subtasks by state, empty if not known."""

    job_id: str
    name: str
    state: str
    tasks: dict[str, int]


@dataclass(slots=True)
class Pauses:
    """The pauses between questions, which grow, until a deadline."""

    deadline: Deadline
    _next: float = field(default=_FIRST_PAUSE, init=False)

    async def pause(self) -> bool:
        """The next one, but not past the deadline; False if that had passed already."""
        seconds, self._next = self._next, min(self._next * 1.3, LONGEST_PAUSE)
        return await self.deadline.pause(seconds)


def tasks_by_state(details: models.JobDetails) -> dict[str, int]:
    """The subtasks of all vertices by state; without the zeros."""
    counts: dict[str, int] = {}
    for vertex in details.vertices:
        for state, count in vertex.tasks.items():
            if count:
                counts[state] = counts.get(state, 0) + count
    return counts


def counted(tasks: Mapping[str, int]) -> str:
    """The subtasks in brackets, behind the state of their job; empty if they are not known."""
    told = ", ".join(f"{count} {state}" for state, count in sorted(tasks.items()))
    return f" ({told})" if told else ""
