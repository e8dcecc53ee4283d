"""How an embedded cluster runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FAST_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""JVM options for processes that are started often and live briefly: a second less to the start of
a JobManager, and less memory; a job that computes for long is faster without them."""


@dataclass(frozen=True, slots=True)
class BackOff:
    """How long a failed container waits before it is started again, in seconds.

    The first restart comes at once, then `initial`, twice as long each time, at most `maximum`; a
    container that ran for `reset_after` begins anew. Kubernetes has 10 s and 300 s (and 1 s and
    60 s behind a feature gate): on one's own machine nobody gains from waiting.
    """

    initial: float = 1.0
    maximum: float = 60.0
    reset_after: float = 60.0

    def delay(self, failures: int) -> float:
        """The wait before the next start after this many failures in a row (at least one)."""
        if failures <= 1:
            return 0.0
        return min(self.initial * 2.0 ** min(failures - 2, 32), self.maximum)


@dataclass(frozen=True, slots=True)
class Settings:
    """`port` 0 takes a free one, which the cluster then keeps.

    `flink_homes` are directories with Flink, before those of the environment and the one of PyPI.
    `jvm_options` go to all Flink processes; what a Flink configuration says comes after them.
    """

    port: int = 0
    flink_homes: tuple[Path, ...] = ()
    jvm_options: tuple[str, ...] = FAST_START
    back_off: BackOff = field(default_factory=BackOff)

    def as_json(self) -> dict[str, Any]:
        """For the state directory; see `settings_of`."""
        return {
            "port": self.port,
            "flink_homes": [str(home) for home in self.flink_homes],
            "jvm_options": list(self.jvm_options),
            "back_off": [self.back_off.initial, self.back_off.maximum, self.back_off.reset_after],
        }


def settings_of(value: Mapping[str, Any]) -> Settings:
    """What `as_json` gave; what is missing has its default."""
    return Settings(
        port=int(value.get("port", 0)),
        flink_homes=tuple(map(Path, value.get("flink_homes", ()))),
        jvm_options=tuple(value.get("jvm_options", FAST_START)),
        back_off=BackOff(*value.get("back_off", ())),
    )
