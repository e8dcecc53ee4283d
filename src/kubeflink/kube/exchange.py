"""One request and its answer, tried again where that is safe.

What may be repeated depends on what the server has done:

- it did nothing (429, a connection that never came about): repeat always;
- it may have done it (no answer, 5xx): repeat when doing it twice is the same as doing it
  once. GET, PUT and DELETE are like that, and so are merge and apply patches. `Trail` tells the
  caller of it: a DELETE whose answer got lost may come back with 404, a POST with 409, and neither
  is a failure.

All attempts together stay within `Limits`; a server's `Retry-After` is honoured if it fits. As long
as the server has not answered once, refused connections and unknown names are believed soon: then
the address is more likely wrong than the server restarting. Who waits for more than a moment is
told of it, see `outage`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubeflink import errors
from kubeflink.kube import status, warnings
from kubeflink.kube.access import ClusterAccess
from kubeflink.kube.backoff import Backoff
from kubeflink.kube.outage import Outage
from kubeflink.kube.status import Call

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger(__name__)

RETRIED = frozenset({429, 500, 502, 503, 504})
NEVER = -1.0

UNDONE = frozenset({429})
"""Answers after which nothing has been done for sure."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds within which a request is tried again.

    `first_contact` is for a server that has never answered, `internal` for a 500, which is seldom
    a passing matter. `pause` is the first pause between two attempts, which then grows. `answer`
    ends one attempt as a whole: limits between two bytes never do where these trickle.
    """

    total: float = 60.0
    first_contact: float = 3.0
    internal: float = 8.0
    pause: float = 0.25
    answer: float = 120.0


DEFAULT_LIMITS = Limits()


@dataclass(slots=True)
class Trail:
    """What is known of the attempts of one request so far.

    `maybe_done` is True when an attempt that brought no useful answer may have been carried out;
    `first_sent` is when the first attempt was made, in seconds since 1970 by our clock.
    """

    maybe_done: bool = False
    first_sent: float = 0.0


class Exchange:
    """Sends requests through lightkube's client and maps what comes back."""

    def __init__(
        self,
        client: Any,
        access: ClusterAccess,
        limits: Limits = DEFAULT_LIMITS,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.client = client
        self.access = access
        self.limits = limits
        self.clock = clock
        self.wall_clock = wall_clock
        self._answered = False
        self._outage = Outage(f"the API server {access.server}")
        self._date = ""
        self._offset = 0.0
        """Seconds by which the server's clock is ahead of ours, from its last `Date` header."""

    async def send(
        self,
        call: Call,
        build: Callable[[], Any],
        *,
        idempotent: bool = True,
        trail: Trail | None = None,
    ) -> httpx2.Response:
        """Send the lightkube request that `build` makes and read the whole answer.

        `build` is called for each attempt. Cancelling leaves it open whether the server acts.
        """
        trail = trail or Trail()
        started, backoff = self.clock(), Backoff(self.limits.pause)
        trail.first_sent = self.wall_clock()
        while True:
            try:
                response = await self.attempt(call, build())
            except (errors.ApiUnreachableError, errors.ApiStatusError) as error:
                maybe_done = _may_be_done(error)
                trail.maybe_done |= maybe_done
                limit, pause = self._limit(error), backoff.pause(at_least=_wanted(error))
                elapsed = self.clock() - max(started, self.client.credentials_since)
                if elapsed + pause > limit or (maybe_done and not idempotent):
                    self._outage.given_up()
                    raise
                logger.info("%s; trying again in %.1f s", error.message, pause)
                self._outage.failed(error.message, limit=limit, pause=pause)
            else:
                self._outage.over()
                return response
            await asyncio.sleep(pause)

    async def attempt(self, call: Call, request: Any) -> httpx2.Response:
        """Send once. Raises `ApiUnreachableError` and `ApiStatusError`."""
        import httpx2

        self.check_open()
        try:
            async with self._limited():
                response = await self._begun(request)
                try:
                    await response.aread()
                except BaseException:
                    await response.aclose()
                    raise
        except httpx2.RequestError as error:
            raise status.unreachable(error, self.access) from error
        except TimeoutError as error:
            slow = httpx2.ReadTimeout("the answer trickles")
            raise status.unreachable(slow, self.access) from error
        self.heard(response)
        if not response.is_success:
            raise status.error_of_response(response, call, self.access)
        return response

    @asynccontextmanager
    async def _limited(self) -> AsyncIterator[None]:
        """`limits.answer` for what is inside, not counting the time until there are credentials.

        Somebody may be logging in with a browser meanwhile, which has a limit of its own.
        """
        loop, begun, limit = asyncio.get_running_loop(), time.monotonic(), self.limits.answer
        timer: asyncio.TimerHandle

        def look() -> None:
            nonlocal timer
            now = time.monotonic()
            left = min(now, max(begun, self.client.credentials_since)) + limit - now
            if left <= 0.0:
                whole.reschedule(loop.time())
            else:
                timer = loop.call_later(left, look)

        timer = loop.call_later(limit, look)
        try:
            async with asyncio.timeout(None) as whole:
                yield
        finally:
            timer.cancel()

    async def _begun(self, request: Any) -> httpx2.Response:
        """The answer as soon as there is any; its body is still to be read."""
        prepared = self.client.build_adapter_request(request)
        # Who has nothing repeated here repeats it himself, and tells of it.
        is_told = self.limits.total > 0.0
        asked = self._outage.asked(not_before=lambda: self.client.credentials_since)
        with asked if is_told else nullcontext():
            response: httpx2.Response = await self.client.send(prepared, stream=True)
        return response

    def check_open(self) -> None:
        """RuntimeError if the client was closed."""
        if self.client._client.is_closed:
            raise RuntimeError(f"The client of the API server {self.access.server} is closed")

    def heard(self, response: httpx2.Response) -> None:
        """Note that the server has answered, what time it has, and what it warns of."""
        self._answered = True
        warnings.tell(response.headers)
        told = response.headers.get("Date", "")
        if told == self._date:
            return  # most answers come within the same second as another one
        self._date = told
        date = status.moment(told)
        if date is not None:
            self._offset = date - self.wall_clock()

    def server_time(self, moment: float) -> float:
        """A moment of our clock, in seconds since 1970, by the server's clock."""
        return moment + self._offset

    def _limit(self, error: errors.ApiUnreachableError | errors.ApiStatusError) -> float:
        """Seconds within which another attempt may begin; negative where there is to be none."""
        if isinstance(error, errors.ApiStatusError):
            if error.code not in RETRIED:
                return NEVER
            if error.code == 500 and error.retry_after is None:
                return min(self.limits.total, self.limits.internal)
        elif error.__cause__ is not None and status.is_certificate_error(error.__cause__):
            return NEVER
        elif not self._answered:
            return min(self.limits.total, self.limits.first_contact)
        return self.limits.total


def _wanted(error: errors.ApiUnreachableError | errors.ApiStatusError) -> float | None:
    """The pause that the server asked for, in seconds."""
    return error.retry_after if isinstance(error, errors.ApiStatusError) else None


def _may_be_done(error: errors.ApiUnreachableError | errors.ApiStatusError) -> bool:
    if isinstance(error, errors.ApiStatusError):
        return error.code in RETRIED - UNDONE
    return error.__cause__ is None or status.was_sent(error.__cause__)
