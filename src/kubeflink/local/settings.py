"""How an embedded cluster runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubeflink.local.state import read_typed

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
        """For the state directory; see `stored_settings`."""
        return {
            "port": self.port,
            "flink_homes": [str(home) for home in self.flink_homes],
            "jvm_options": list(self.jvm_options),
            "back_off": [self.back_off.initial, self.back_off.maximum, self.back_off.reset_after],
        }


@dataclass(frozen=True, slots=True)
class _Stored:
    """What `as_json` gives; what is missing has its default."""

    port: int = 0
    flink_homes: tuple[str, ...] = ()
    jvm_options: tuple[str, ...] = FAST_START
    back_off: tuple[float, float, float] = (1.0, 60.0, 60.0)


def stored_settings(path: Path, name: str) -> Settings:
    """The settings in this file, the defaults if there is none; LocalError for a damaged file."""
    way_out = (
        f"Give them again, as in `kubeflink local up {name} --port 0`;"
        f" or remove the file, and the defaults hold"
    )
    stored = read_typed(path, _Stored, way_out) or _Stored()
    return Settings(
        port=stored.port,
        flink_homes=tuple(map(Path, stored.flink_homes)),
        jvm_options=stored.jvm_options,
        back_off=BackOff(*stored.back_off),
    )
