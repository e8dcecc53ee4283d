"""The order in which a Java HashMap gives its keys.

Flink assembles the `-D` arguments of a process from a HashMap, so their order on a real command
line looks random but is fixed: it follows from the hashes of the keys. Reproducing it makes our
command lines equal to Flink's, and not just equal as sets.
"""

from __future__ import annotations

from collections.abc import Collection

_FIRST_CAPACITY = 16


def java_hash(text: str) -> int:
    """`String.hashCode` as 32 unsigned bits: it counts UTF-16 code units, not characters."""
    units = text.encode("utf-16-be", "surrogatepass")
    result = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        result = (31 * result + (high << 8 | low)) & 0xFFFF_FFFF
    return result


def hash_order(keys: Collection[str]) -> list[str]:
    """Different keys, given in the order of their insertion, in the order of iteration.

    The map doubles its buckets as soon as they are more than three quarters full; keys of one
    bucket stay in the order of their insertion.
    """
    buckets = _FIRST_CAPACITY
    while 4 * len(keys) > 3 * buckets:
        buckets *= 2

    def bucket(key: str) -> int:
        hashed = java_hash(key)
        return (hashed ^ hashed >> 16) & (buckets - 1)

    return sorted(keys, key=bucket)
