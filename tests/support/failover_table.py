"""What happens when a JobManager is killed: as tests prove it and the documentation tells it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Fate(StrEnum):
    """What becomes of the job."""

    GOES_ON = "goes on from its last checkpoint"
    LOST = "is lost"
    BEGINS_ANEW = "begins anew, as another job"


class Workers(StrEnum):
    """What becomes of the TaskManagers."""

    STAY = "the same pods register with the new JobManager"
    COME_BACK = "the same pods register again after `heartbeat.timeout`"
    REPLACED = (
        "new pods; the old ones look at the old port, and are deleted after "
        "`resourcemanager.taskmanager-registration.timeout`"
    )


class Ports(StrEnum):
    """What becomes of the ports."""

    STAY = "as before"
    REST = "new; `<id>-rest` follows"
    ALL = "new; `<id>-rest` and `<id>` follow"


@dataclass(frozen=True, slots=True)
class Row:
    """One combination and its outcome."""

    kind: Literal["session", "application"]
    host_network: bool
    high_availability: bool
    job: Fate
    workers: Workers
    ports: Ports

    @property
    def name(self) -> str:
        """For test ids and cluster ids."""
        host = "host" if self.host_network else "pod"
        recovery = "ha" if self.high_availability else "noha"
        return f"{self.kind[:3]}-{host}-{recovery}"


TABLE = (
    Row("session", False, False, Fate.LOST, Workers.COME_BACK, Ports.STAY),
    Row("session", False, True, Fate.GOES_ON, Workers.STAY, Ports.STAY),
    Row("session", True, False, Fate.LOST, Workers.REPLACED, Ports.ALL),
    Row("session", True, True, Fate.GOES_ON, Workers.STAY, Ports.REST),
    Row("application", False, False, Fate.BEGINS_ANEW, Workers.COME_BACK, Ports.STAY),
    Row("application", False, True, Fate.GOES_ON, Workers.STAY, Ports.STAY),
    Row("application", True, False, Fate.BEGINS_ANEW, Workers.REPLACED, Ports.ALL),
    Row("application", True, True, Fate.GOES_ON, Workers.STAY, Ports.REST),
)


def markdown() -> str:
    """The table as the documentation has it."""
    head = ("cluster", "host network", "high availability", "the job", "TaskManagers", "ports")
    lines = [head, tuple("---" for _ in head)]
    for row in TABLE:
        on = ("yes" if flag else "no" for flag in (row.host_network, row.high_availability))
        lines.append((row.kind, *on, row.job, row.workers, row.ports))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
