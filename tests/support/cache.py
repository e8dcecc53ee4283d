"""What tests need and cannot get from a package: made once, and kept for the next run.

The cache is `$KUBEFLINK_TEST_CACHE`, by default `~/.cache/kubeflink-tests`. Several test runs at
once wait for the one that makes a thing. A half-made thing is never seen: it is renamed into place
at its end. Nothing but the standard library is imported, so that CI can begin before there is more.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class MissingError(Exception):
    """It cannot be had on this machine."""


def cache_directory() -> Path:
    """The directory of all of it."""
    return Path(
        os.environ.get("KUBEFLINK_TEST_CACHE") or Path.home() / ".cache" / "kubeflink-tests"
    )


def once(name: str, make: Callable[[Path], None]) -> Path:
    """The directory of that name in the cache; `make` fills it if it is not there."""
    cache = cache_directory()
    target = cache / name
    cache.mkdir(parents=True, exist_ok=True)
    with exclusively(cache / f"{name}.lock"):
        if not target.is_dir():
            with tempfile.TemporaryDirectory(dir=cache, prefix="installing-") as scratch:
                fresh = Path(scratch) / name
                fresh.mkdir()
                make(fresh)
                fresh.rename(target)
    return target


@contextmanager
def exclusively(lock: Path) -> Iterator[None]:
    """The only one of all test runs, for as long as the context lasts."""
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
