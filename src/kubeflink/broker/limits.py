"""How much a cluster may have at a time, and how fast."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from kubeflink.config import Configuration
from kubeflink.config.options import broker


@dataclass(frozen=True, slots=True)
class Limits:
    """`cpu` in cores, `memory` in bytes, of all TaskManagers together; None: no limit of ours."""

    pods: int
    pods_per_minute: int
    config_maps: int
    cpu: float | None = None
    memory: int | None = None


def limits_of(configuration: Configuration) -> Limits:
    """The limits that a cluster was deployed with."""
    return Limits(
        pods=configuration.get(broker.LIMIT_PODS),
        pods_per_minute=configuration.get(broker.LIMIT_PODS_PER_MINUTE),
        config_maps=configuration.get(broker.LIMIT_CONFIG_MAPS),
        cpu=configuration.get(broker.LIMIT_CPU),
        memory=configuration.get(broker.LIMIT_MEMORY),
    )


@dataclass(frozen=True, slots=True)
class Usage:
    """What TaskManagers ask for: pods, CPU cores, bytes of memory."""

    pods: int = 0
    cpu: float = 0.0
    memory: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.pods + other.pods, self.cpu + other.cpu, self.memory + other.memory)

    def __sub__(self, other: Usage) -> Usage:
        return Usage(self.pods - other.pods, self.cpu - other.cpu, self.memory - other.memory)


def why_too_much(limits: Limits, used: Usage, wanted: Usage) -> str | None:
    """The sentence for a request beyond a limit; None for one within all of them."""
    then = used + wanted
    if then.pods > limits.pods:
        return (
            f"the cluster has {used.pods} TaskManager pods, "
            f"and {broker.LIMIT_PODS.key} allows {limits.pods}"
        )
    # Sums of fractions: a hair above the limit is the limit.
    if limits.cpu is not None and then.cpu > limits.cpu * (1 + 1e-9):
        return (
            f"its TaskManagers ask for {used.cpu:g} CPU cores, {wanted.cpu:g} more are wanted, "
            f"and {broker.LIMIT_CPU.key} allows {limits.cpu:g}"
        )
    if limits.memory is not None and then.memory > limits.memory:
        return (
            f"its TaskManagers ask for {used.memory >> 20} MiB, {wanted.memory >> 20} more are "
            f"wanted, and {broker.LIMIT_MEMORY.key} allows {limits.memory >> 20}"
        )
    return None


class Pace:
    """So many per minute, of which a minute's worth may come at once (a token bucket)."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._level = self._capacity
        self._at = clock()

    def take(self) -> float:
        """Take one, and return the seconds after which it may be used."""
        now = self._clock()
        self._level = min(self._capacity, self._level + (now - self._at) * self._per_second) - 1
        self._at = now
        return max(0.0, -self._level / self._per_second)

    def give_back(self) -> None:
        """It was not used."""
        self._level += 1
