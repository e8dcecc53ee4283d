"""What each action says and does when something goes wrong: as tests prove it and the docs tell it.

`TABLE` has an outcome for each action on a session and on an application, and for each failure that
can befall it. `tests/local/test_actions.py` makes each of them happen, with real Flink, by each of
the faces that have the action: the own commands, those with Flink's arguments, and the Python API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["session", "application"]
Face: TypeAlias = Literal["own", "flink", "python"]

OWN: Face = "own"
FLINK: Face = "flink"
PYTHON: Face = "python"
ALL: tuple[Face, ...] = (OWN, FLINK, PYTHON)


class Failure(StrEnum):
    """What goes wrong, as the documentation heads its columns."""

    OF_THE_JOB = "the job fails"
    NO_CLUSTER = "no such cluster"
    GONE = "the cluster goes away half way"
    KILLED = "its JobManager is killed, without high availability"
    AWAY = "REST answers 503 for a while"
    UNWRITABLE = "the savepoint cannot be written or read"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`told` is for the documentation; `says` is a regular expression for the last words."""

    told: str
    code: int
    says: str = ""


DONE = Outcome("done, once", 0)
MISSING = Outcome("exit 4", 4, r"No Flink cluster nope in namespace default")
CAUSE = Outcome("exit 1, the cause", 1, r"/ by zero|Object 'nowhere' not found|nowhere")
LISTED = Outcome("lists it as FAILED", 0, "FAILED")
ENDED = Outcome("exit 1: it has ended", 1, r"\(FAILED\)|ended as FAILED|Could not find Flink job")
SAVED = Outcome("exit 1 and the savepoint, if it was made", 1, r"go on from it: file:\S+")
AWAY = Outcome("exit 4: it has gone away", 4, "went away|has gone away")
LOST = Outcome("exit 1: how it ended is not known", 1, r"How job \w+ ended is not known")
DELETED = Outcome("exit 1: it was deleted", 1, "was deleted before its program had ended")
UNSURE = Outcome("exit 1: whether it was completed is not known", 1, "completed is not known")
GOES_ON = Outcome("exit 1, the cause; the job goes on", 1, "Failed to create savepoint directory")
UNREADABLE = Outcome("exit 1, the cause", 1, "Cannot find|could not be disposed|not.*exist")

TABLE: Mapping[Kind, Mapping[str, Mapping[Failure, Outcome]]] = {
    "session": {
        "run": {
            Failure.OF_THE_JOB: CAUSE,
            Failure.NO_CLUSTER: MISSING,
            Failure.GONE: LOST,
            Failure.KILLED: LOST,
            Failure.AWAY: DONE,
            Failure.UNWRITABLE: UNREADABLE,
        },
        "run --detached": {
            Failure.OF_THE_JOB: CAUSE,
            Failure.NO_CLUSTER: MISSING,
            Failure.GONE: AWAY,
            Failure.AWAY: DONE,
            Failure.UNWRITABLE: UNREADABLE,
        },
        "run --sql": {
            Failure.OF_THE_JOB: CAUSE,
            Failure.NO_CLUSTER: MISSING,
            Failure.GONE: LOST,
            Failure.KILLED: LOST,
            Failure.AWAY: DONE,
            Failure.UNWRITABLE: UNREADABLE,
        },
        "info": {
            Failure.OF_THE_JOB: CAUSE,
            Failure.NO_CLUSTER: MISSING,
            Failure.GONE: AWAY,
            Failure.AWAY: DONE,
        },
        "list": {
            Failure.OF_THE_JOB: LISTED,
            Failure.NO_CLUSTER: MISSING,
            Failure.GONE: AWAY,
            Failure.AWAY: DONE,
        },
        "cancel": {
            Failure.OF_THE_JOB: ENDED,
            Failure.NO_CLUSTER: MISSING,
            Failure.GONE: AWAY,
            Failure.AWAY: DONE,
        },
        "stop": {
            Failure.OF_THE_JOB: SAVED,
            Failure.NO_CLUSTER: MISSING,
            Failure.GONE: AWAY,
            Failure.KILLED: UNSURE,
            Failure.AWAY: DONE,
            Failure.UNWRITABLE: GOES_ON,
        },
        "savepoint": {
            Failure.OF_THE_JOB: ENDED,
            Failure.NO_CLUSTER: MISSING,
            Failure.GONE: AWAY,
            Failure.KILLED: UNSURE,
            Failure.AWAY: DONE,
            Failure.UNWRITABLE: GOES_ON,
        },
        "savepoint --dispose": {
            Failure.NO_CLUSTER: MISSING,
            Failure.GONE: AWAY,
            Failure.AWAY: DONE,
            Failure.UNWRITABLE: UNREADABLE,
        },
        "checkpoint": {
            Failure.OF_THE_JOB: ENDED,
            Failure.NO_CLUSTER: MISSING,
            Failure.GONE: AWAY,
            Failure.KILLED: UNSURE,
            Failure.AWAY: DONE,
        },
    },
    "application": {
        "app start": {
            Failure.OF_THE_JOB: CAUSE,
            Failure.GONE: DELETED,
            Failure.AWAY: DONE,
        },
        "list": {Failure.NO_CLUSTER: MISSING, Failure.GONE: AWAY, Failure.AWAY: DONE},
        "cancel": {Failure.NO_CLUSTER: MISSING, Failure.GONE: AWAY, Failure.AWAY: DONE},
        "stop": {
            Failure.OF_THE_JOB: SAVED,
            Failure.NO_CLUSTER: MISSING,
            Failure.GONE: AWAY,
            Failure.AWAY: DONE,
            Failure.UNWRITABLE: GOES_ON,
        },
        "savepoint": {
            Failure.NO_CLUSTER: MISSING,
            Failure.GONE: AWAY,
            Failure.AWAY: DONE,
            Failure.UNWRITABLE: GOES_ON,
        },
        "savepoint --dispose": {
            Failure.NO_CLUSTER: MISSING,
            Failure.GONE: AWAY,
            Failure.AWAY: DONE,
            Failure.UNWRITABLE: UNREADABLE,
        },
        "checkpoint": {Failure.NO_CLUSTER: MISSING, Failure.GONE: AWAY, Failure.AWAY: DONE},
    },
}

FACES: Mapping[str, tuple[Face, ...]] = {
    "run --sql": (OWN, PYTHON),
    "app start": (OWN, PYTHON),  # by Flink's arguments it is deployed, and not followed
}
"""Who has an action, where not all have."""

COSTLY: Mapping[tuple[Kind, str, Failure], tuple[Face, ...]] = {
    ("session", "stop", Failure.KILLED): (OWN,),
    ("application", "cancel", Failure.AWAY): (OWN,),
    ("application", "stop", Failure.AWAY): (OWN,),
    ("application", "stop", Failure.OF_THE_JOB): (FLINK,),
    **{("application", action, Failure.GONE): (OWN,) for action in TABLE["application"]},
    ("application", "app start", Failure.GONE): (OWN, PYTHON),
}
"""Cells that take a job or a cluster away each time: there one face stands for all."""


@dataclass(frozen=True, slots=True)
class Case:
    """One cell of the table, by one face."""

    kind: Kind
    action: str
    failure: Failure
    face: Face
    outcome: Outcome

    @property
    def id(self) -> str:
        """For the name of the test."""
        return f"{self.kind}-{self.action}-{self.face}"


def cases(failure: Failure, kind: Kind | None = None) -> Iterator[Case]:
    """All that a failure can befall."""
    for each, actions in TABLE.items():
        for action, outcomes in actions.items():
            if failure in outcomes and kind in (None, each):
                faces = COSTLY.get((each, action, failure)) or FACES.get(action, ALL)
                for face in faces:
                    yield Case(each, action, failure, face, outcomes[failure])


def markdown(kind: Kind) -> str:
    """The table of a kind of cluster as the documentation has it."""
    actions = TABLE[kind]
    columns = [each for each in Failure if any(each in row for row in actions.values())]
    lines: list[tuple[str, ...]] = [("", *columns), tuple("---" for _ in ("", *columns))]
    for action, outcomes in actions.items():
        cells = (outcomes[each].told if each in outcomes else "" for each in columns)
        lines.append((f"`{action}`", *cells))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
