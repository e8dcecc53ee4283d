"""What a TaskManager gets besides memory: CPU cores and external resources such as GPUs.

(`TaskExecutorProcessUtils`, `Resource`, `ExternalResourceUtils`)
"""

from __future__ import annotations

import math
from fractions import Fraction

from kubeflink.config.configuration import Configuration
from kubeflink.config.hash_order import hash_order
from kubeflink.config.options import cluster
from kubeflink.config.options import taskmanager as options
from kubeflink.config.options.kinds import LONG
from kubeflink.config.options.option import Option
from kubeflink.errors import ConfigurationError

_SCALE = 10**8
"""A `Resource` keeps eight decimal places and cuts the others."""


def cpu_cores(settings: Configuration, *, default: float = -1.0) -> float:
    """The cores of a TaskManager: `taskmanager.cpu.cores`, else `default`, else its slots.

    A default that is not positive does not count. Raises ConfigurationError where the result is
    not positive; a tiny number of cores may still be cut to zero.
    """
    if settings.contains(options.CPU_CORES):
        cores = settings.get(options.CPU_CORES)
    elif default > 0:
        cores = default
    else:
        cores = float(settings.get(options.NUMBER_OF_TASK_SLOTS))
    if cores is None or not math.isfinite(cores) or cores <= 0:
        raise ConfigurationError(
            f"a TaskManager needs a positive number of CPU cores, not {cores}",
            option=options.CPU_CORES.key,
            hint=f"Set {options.CPU_CORES.key} or {options.NUMBER_OF_TASK_SLOTS.key}.",
        )
    # Through the decimal text: 0.1 is meant as a tenth, not as its binary neighbour.
    return float(Fraction(int(Fraction(repr(cores)) * _SCALE), _SCALE))


def external_resources(settings: Configuration) -> tuple[tuple[str, int], ...]:
    """Names and amounts; a resource without a positive amount is left out, as Flink does."""
    names = settings.get(cluster.EXTERNAL_RESOURCES)
    if tuple(names) == ("none",):
        return ()
    amounts: dict[str, int] = {}
    for name in hash_order(dict.fromkeys(names)):
        option: Option[int | None] = Option(amount_key(name), LONG, None)
        amount = settings.get(option)
        if amount is not None and amount > 0:
            amounts[name] = amount
    return tuple((name, amounts[name]) for name in hash_order(amounts))


def amount_key(name: str) -> str:
    """The option with the amount of an external resource."""
    return f"external-resource.{name}.amount"
