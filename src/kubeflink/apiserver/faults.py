"""Faults on demand: how tests make a working API server behave like a bad day.

A `FaultPlan` is given to `ApiServer`. A `Fault` names the requests that it strikes by method and
path, how often, and what happens to them: an error status, a delay, a connection that is cut before
or after the request was carried out, a watch that stays silent. The first fault of the plan that
matches is used.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import Literal


@dataclass(slots=True)
class Fault:
    """What happens to requests whose `METHOD path?query` matches.

    `method` empty: any. `path`: a regular expression, searched in path and query. `times`: how
    often, None for always. `skip`: that many matching requests pass unharmed first.

    `status` answers with a `Status` of that code (with `reason`, `message`, `retry_after` in
    seconds). `delay` in seconds comes before anything else. `drop` cuts the connection: "before"
    the request is carried out, or "after" it, so that only the answer is lost. `watch` breaks a
    watch that is asked for: "silent" lets it live without ever sending anything, "gone" sends the
    410 event of a watch that fell behind. With none of these a fault only delays.
    """

    path: str = ""
    method: str = ""
    times: int | None = 1
    skip: int = 0
    status: int = 0
    reason: str = ""
    message: str = "injected fault"
    retry_after: float | None = None
    delay: float = 0.0
    drop: Literal["", "before", "after"] = ""
    watch: Literal["", "silent", "gone"] = ""
    struck: int = field(default=0, init=False)

    def strikes(self, method: str, path: str) -> bool:
        """Whether this request is hit; counts it."""
        if self.method and self.method != method:
            return False
        if not re.search(self.path, path):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is not None and self.struck >= self.times:
            return False
        self.struck += 1
        return True


class FaultPlan:
    """The faults of a server, and a record of the requests that it saw.

    `remember` is how many of the last ones there are in it, None for all.
    """

    def __init__(self, *faults: Fault, remember: int | None = None) -> None:
        self.faults: list[Fault] = list(faults)
        self.requests: deque[tuple[str, str]] = deque(maxlen=remember)

    def add(self, fault: Fault) -> Fault:
        """Add a fault while the server runs; returns it, so that it can be asked and removed."""
        self.faults.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """End a fault."""
        self.faults.remove(fault)

    def strike(self, method: str, path: str) -> Fault | None:
        """The fault that hits this request, if any."""
        self.requests.append((method, path))
        return next((fault for fault in self.faults if fault.strikes(method, path)), None)

    def count(self, method: str, path: str) -> int:
        """How many requests of this method had a path in which the expression is found."""
        return sum(seen == method and bool(re.search(path, at)) for seen, at in self.requests)
