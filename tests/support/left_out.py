"""What a test leaves out where something cannot be had; in CI, where nothing may be, it fails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.cache import MissingError


@contextmanager
def left_out(what: str) -> Iterator[None]:
    """Skips, saying `what` is not tested, when the code inside raises MissingError."""
    try:
        yield
    except MissingError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{what}: {error}")
