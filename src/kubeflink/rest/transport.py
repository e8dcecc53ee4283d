"""Requests to one JobManager: time limits, repetition, and errors of kubeflink's own.

A JobManager that starts, or takes over from another, answers 500 or 503 for some seconds, and a
connection may be refused or break. A request is therefore repeated, with pauses that grow, as long
as its limit lasts, if repeating cannot do something twice: reads always, changes when the caller
says so (because Flink recognises the id that they carry). A change of unknown fate is repeated only
if it certainly did not arrive.

That patience is for a JobManager that is known to be there. An address that somebody typed may be
wrong: with `FirstContact` it has to answer soon once, before it is waited for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
import msgspec

from kubeflink.errors import KubeflinkError, RestStatusError
from kubeflink.rest import RETRY_SECONDS, failures

logger = logging.getLogger(__name__)

T = TypeVar("T")

READ_SECONDS = 60.0
"""How long one answer may be awaited, and each of its pieces."""

ANSWER_SECONDS = 120.0
"""How long an answer may take that has begun: limits between pieces never end one that trickles.

A request without a large body has so long beside the wait for its answer, in all.
"""

FIRST_ANSWER_SECONDS = 10.0
"""The same for the first attempt of a request that may be repeated; each next has twice as long.

A standby JobManager whose leader has just died passes requests on to the dead one, and is silent
until web.timeout (10 min). Asked again a little later, it knows the next leader.
"""

CONNECT_SECONDS = 10.0

SERVER_ERROR_SECONDS = 5.0
"""How long a 500 of unknown cause is asked again: a start passes sooner, a defect never."""


@dataclass(frozen=True, slots=True)
class FirstContact:
    """Seconds that an address is given which has never answered.

    `refused` is for a connection that is refused or closed, `failing` for errors of a server and
    for silence.
    """

    refused: float = 10.0
    failing: float = 30.0


QUIET_SECONDS = 5.0
"""How long a request is repeated without a word."""

_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 2.0


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it is to be made; `content` is called anew for each attempt."""

    method: str
    path: str
    what: str
    content: Callable[[], bytes | AsyncIterable[bytes]] | None = None
    headers: Mapping[str, str] | None = None
    params: Mapping[str, str] | None = None
    repeatable: bool = False
    read_seconds: float = READ_SECONDS
    answer_seconds: float | None = None
    """For a large answer, in the place of `ANSWER_SECONDS`."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """An attempt that failed, and for how long in all it is worth another one (seconds)."""

    error: KubeflinkError
    patience: float


class Transport:
    """Sends requests to the REST API at `base_url` through an HTTP client that the caller owns.

    `base_url` may be absolute, or a path under the client's own base URL: so the same class serves
    a JobManager that is reached directly and one behind the API server's service proxy. `where` is
    how messages name the place.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        base_url: str,
        *,
        where: str | None = None,
        retry_seconds: float = RETRY_SECONDS,
        first_contact: FirstContact | None = None,
    ) -> None:
        self._http = http
        self._base_url = base_url.rstrip("/")
        self._retry_seconds = retry_seconds
        self._first_contact = first_contact
        self.where = where or self._base_url

    @property
    def is_unheard(self) -> bool:
        """Whether the first contact is limited, and no JobManager has answered yet."""
        return self._first_contact is not None

    async def read(self, path: str, answer: type[T], *, what: str) -> T:
        """GET and decode; repeated within the limit."""
        response = await self.send(Call("GET", path, what, repeatable=True))
        return self.decode(response, answer, what)

    async def change(
        self,
        method: str,
        path: str,
        answer: type[T],
        *,
        what: str,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
        repeatable: bool = False,
        read_seconds: float = READ_SECONDS,
    ) -> T:
        """A request with a JSON body, decoded; repeated only if that is safe."""
        call = Call(
            method,
            path,
            what,
            content=None if body is None else lambda: msgspec.json.encode(body),
            headers=None if body is None else {"content-type": "application/json"},
            params=params,
            repeatable=repeatable,
            read_seconds=read_seconds,
        )
        return self.decode(await self.send(call), answer, what)

    async def send(self, call: Call) -> httpx2.Response:
        """One request, repeated within the limit.

        Raises RestUnreachableError, RestStatusError, or an ApiStatusError of the API server on the
        way. Cancellation ends the attempt; whether it arrived is then unknown.
        """
        loop = asyncio.get_running_loop()
        start = loop.time()
        pause = _FIRST_PAUSE
        has_told = False
        patience_with_answer = self._first_answer_seconds(call)
        while True:
            outcome = await self._attempt(call, patience_with_answer)
            if isinstance(outcome, httpx2.Response):
                return outcome
            elapsed = loop.time() - start
            if elapsed + pause > outcome.patience:
                raise outcome.error
            if elapsed + pause >= QUIET_SECONDS and not has_told:
                message, limit = outcome.error.message, outcome.patience
                logger.warning("%s; still trying, for up to %.0f s", message, limit)
                has_told = True
            if pause == _FIRST_PAUSE:
                logger.info(
                    "%s; trying again for up to %.0f s", outcome.error.message, outcome.patience
                )
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            patience_with_answer = min(patience_with_answer * 2, call.read_seconds)

    def _first_answer_seconds(self, call: Call) -> float:
        if not call.repeatable or self._retry_seconds <= FIRST_ANSWER_SECONDS:
            return call.read_seconds
        return min(FIRST_ANSWER_SECONDS, call.read_seconds)

    async def _attempt(self, call: Call, read_seconds: float) -> httpx2.Response | _Failed:
        try:
            response = await self._answer(call, read_seconds)
        except httpx2.RequestError as error:
            unreachable = failures.unreachable(self.where, error)
            unreachable.__cause__ = error
            never_sent = isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout))
            is_silent = isinstance(error, httpx2.TimeoutException)
            patience = self._patience(call.repeatable or never_sent, is_refused=not is_silent)
            return _Failed(unreachable, patience)
        if response.status_code < 500:
            self._first_contact = None
        if response.is_success:
            return response
        failure = failures.failure_of(response, call.what, self.where)
        if failures.is_transient(failure):
            safe = call.repeatable or failures.was_not_handled(response)
            return _Failed(failure, self._patience(safe))
        # Flink answers 500 also for mistakes of the request: worth another try only for reads.
        if call.method == "GET" and response.status_code == 500:
            return _Failed(failure, min(SERVER_ERROR_SECONDS, self._retry_seconds))
        return _Failed(failure, 0.0)

    async def _answer(self, call: Call, read_seconds: float) -> httpx2.Response:
        """Sends once and reads the whole answer. Raises httpx2.RequestError, for a trickle too."""
        timeout = httpx2.Timeout(
            connect=CONNECT_SECONDS, read=read_seconds, write=READ_SECONDS, pool=None
        )
        if self._http.is_closed:
            raise RuntimeError(f"The client of Flink's REST API at {self.where} is closed")
        content = None if call.content is None else call.content()
        answer_seconds = call.answer_seconds or ANSWER_SECONDS
        # A large body is sent for as long as that takes.
        is_large = content is not None and not isinstance(content, bytes)
        try:
            async with (
                asyncio.timeout(None if is_large else read_seconds + answer_seconds),
                self._http.stream(
                    call.method,
                    self._base_url + call.path,
                    content=content,
                    headers=call.headers,
                    params=call.params,
                    timeout=timeout,
                ) as response,
                asyncio.timeout(answer_seconds),
            ):
                await response.aread()
        except TimeoutError as error:
            raise httpx2.ReadTimeout("the answer trickles") from error
        return response

    def _patience(self, may_repeat: bool, *, is_refused: bool = False) -> float:
        if not may_repeat:
            return 0.0
        if self._first_contact is None:
            return self._retry_seconds
        limit = self._first_contact.refused if is_refused else self._first_contact.failing
        return min(limit, self._retry_seconds)

    def decode(self, response: httpx2.Response, answer: type[T], what: str) -> T:
        """The body as `answer`; a RestStatusError if it is something else."""
        try:
            return msgspec.json.decode(response.content, type=answer)
        except msgspec.DecodeError as error:
            raise RestStatusError(
                f"{what} failed: {self.where} does not answer as Flink's REST API does ({error})",
                code=response.status_code,
            ) from error
