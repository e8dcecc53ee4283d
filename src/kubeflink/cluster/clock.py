"""Limits of waits, in one form."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the event loop's clock; None is never."""

    at: float | None

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """`seconds` from now; None waits for ever."""
        if seconds is None:
            return cls(None)
        return cls(asyncio.get_running_loop().time() + seconds)

    @property
    def remaining(self) -> float | None:
        """Seconds that are left, never negative; None for ever."""
        if self.at is None:
            return None
        return max(0.0, self.at - asyncio.get_running_loop().time())

    @property
    def has_passed(self) -> bool:
        """Whether nothing is left."""
        return self.remaining == 0.0

    async def pause(self, seconds: float) -> bool:
        """Sleeps, but not past the deadline; False if that had passed already."""
        remaining = self.remaining
        if remaining is None:
            await asyncio.sleep(seconds)
            return True
        if remaining <= 0:
            return False
        await asyncio.sleep(min(seconds, remaining))
        return True
