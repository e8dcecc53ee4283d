"""Requests to one JobManager: time limits, repetition, and errors of kubeflink's own.

A JobManager that starts, or takes over from another, answers 500 or 503 for some seconds, and a
connection may be refused or break. A request is therefore repeated, with pauses that grow, as long
as its limit lasts, if repeating cannot do something twice: reads always, changes when the caller
says so (because Flink recognises the id that they carry). A change of unknown fate is repeated only
if it certainly did not arrive.

That patience is for a JobManager that is known to be there. An address that somebody typed may be
wrong: with `FirstContact` it has to answer soon once, before it is waited for. And a cluster may go
away, or never come up: an `Onlooker` who sees that ends the patience. Where it ends by itself, the
onlooker says what the cause was.

What answers 403, 404 or 405 and is not Flink stands on the way to it; and Flink itself sends
whoever speaks plainly to where TLS is spoken. There may be another way then, the `detour`, which is
kept.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from contextlib import aclosing, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import httpx2
import msgspec

from kubeflink.errors import KubeflinkError, NotFoundError, RestStatusError, RestUnreachableError
from kubeflink.kube.outage import Outage
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

    @property
    def is_slow(self) -> bool:
        """Whether its answer takes long by nature: a program runs, or a jar is sent."""
        return self.read_seconds > READ_SECONDS


@dataclass(frozen=True, slots=True)
class Way:
    """How requests go: by an HTTP client that its maker closes, to an address.

    `base_url` may be absolute, or a path under the client's own base URL: so a JobManager that is
    reached directly and one behind the API server's service proxy are the same to the transport.
    `where` is how messages name the place.
    """

    http: httpx2.AsyncClient
    base_url: str
    where: str

    @property
    def is_secure(self) -> bool:
        """Whether TLS is spoken with the JobManager itself, by whomever."""
        return self.base_url.startswith("https://") or "/https:" in self.base_url


class Onlooker(Protocol):
    """Whoever sees a JobManager's cluster from outside; asked only when there was no answer.

    `has_answered` tells both whether the JobManager has answered before.
    """

    async def look(self, *, has_answered: bool) -> str | None:
        """What keeps it from answering, in one line; None if nothing is seen.

        Raises what ends the patience, such as ClusterNotFoundError.
        """

    async def explain(
        self, error: RestUnreachableError, *, has_answered: bool
    ) -> RestUnreachableError:
        """The error to raise when the patience is over, for the one of the last attempt."""


Detour: TypeAlias = Callable[[KubeflinkError], Awaitable[Way]]
"""Makes another way, and says so; given the error of the present one, which it raises without."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """An attempt that failed, and for how long in all it is worth another one (seconds).

    `is_in_the_way` says that not Flink refused it, but what stands before it.
    """

    error: KubeflinkError
    patience: float
    is_in_the_way: bool = False


class Transport:
    """Sends requests to one REST API, by one way after the other."""

    def __init__(
        self,
        way: Way,
        *,
        retry_seconds: float = RETRY_SECONDS,
        first_contact: FirstContact | None = None,
        onlooker: Onlooker | None = None,
        detour: Detour | None = None,
    ) -> None:
        self._way = way
        self._retry_seconds = retry_seconds
        self._first_contact = first_contact
        self._onlooker = onlooker
        self._has_answered = False
        self._detour = detour
        self._turning = asyncio.Lock()
        self._outage = Outage(way.where)

    @property
    def where(self) -> str:
        """The place as messages name it."""
        return self._way.where

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

        Raises RestUnreachableError, RestStatusError, an ApiStatusError of the API server on the
        way, or what the onlooker raises. Cancellation ends the attempt; whether it arrived is then
        unknown.
        """
        loop = asyncio.get_running_loop()
        start = loop.time()
        pause = _FIRST_PAUSE
        patience_with_answer = self._first_answer_seconds(call)
        while True:
            way = self._way
            outcome = await self._attempt(call, way, patience_with_answer)
            if isinstance(outcome, httpx2.Response):
                self._outage.over()
                return outcome
            seen = await self._seen_from_outside(outcome.error)
            if outcome.is_in_the_way and await self._turned(way, outcome.error):
                continue
            elapsed = loop.time() - start
            if elapsed + pause > outcome.patience:
                error = await self._explained(outcome.error)
                self._outage.given_up()
                raise error
            message, limit = seen or outcome.error.message, outcome.patience
            self._outage.failed(message, limit=limit, pause=pause)
            if pause == _FIRST_PAUSE:
                logger.info("%s; trying again for up to %.0f s", message, limit)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            patience_with_answer = min(patience_with_answer * 2, call.read_seconds)

    async def _seen_from_outside(self, error: KubeflinkError) -> str | None:
        """What the onlooker sees after an error that this would explain; raises what it raises."""
        if self._onlooker is None or not isinstance(error, (RestUnreachableError, NotFoundError)):
            return None
        try:
            return await self._onlooker.look(has_answered=self._has_answered)
        except KubeflinkError as final:
            self._outage.given_up()
            raise final from error

    async def _explained(self, error: KubeflinkError) -> KubeflinkError:
        if self._onlooker is None or not isinstance(error, RestUnreachableError):
            return error
        return await self._onlooker.explain(error, has_answered=self._has_answered)

    async def _turned(self, way: Way, error: KubeflinkError) -> bool:
        """Takes the detour, unless another request has; False if there is none."""
        async with self._turning:
            if self._way is not way:
                return True
            if self._detour is None:
                return False
            try:
                self._way = await self._detour(error)
            except KubeflinkError:
                self._outage.given_up()
                raise
            return True

    def _first_answer_seconds(self, call: Call) -> float:
        if not call.repeatable or self._retry_seconds <= FIRST_ANSWER_SECONDS:
            return call.read_seconds
        return min(FIRST_ANSWER_SECONDS, call.read_seconds)

    async def _attempt(
        self, call: Call, way: Way, read_seconds: float
    ) -> httpx2.Response | _Failed:
        try:
            response = await self._answer(call, way, read_seconds)
        except (httpx2.RequestError, ssl.SSLError) as error:
            spoilt = failures.tls_failure(way.where, error)
            if spoilt is not None:
                spoilt.__cause__ = error
                return _Failed(spoilt, 0.0)
            unreachable = failures.unreachable(way.where, error)
            unreachable.__cause__ = error
            never_sent = isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout))
            is_silent = isinstance(error, httpx2.TimeoutException)
            patience = self._patience(call.repeatable or never_sent, is_refused=not is_silent)
            return _Failed(unreachable, patience)
        if response.status_code < 500:
            self._first_contact, self._has_answered = None, True
        if response.is_success:
            return response
        if failures.wants_tls(response) and not way.is_secure:
            return _Failed(failures.no_tls(way.where), 0.0, is_in_the_way=True)
        failure = failures.failure_of(response, call.what, way.where)
        if failures.is_in_the_way(response):
            return _Failed(failure, 0.0, is_in_the_way=True)
        if failures.is_transient(failure):
            safe = call.repeatable or failures.was_not_handled(response)
            return _Failed(failure, self._patience(safe))
        # Flink answers 500 also for mistakes of the request: worth another try only for reads.
        if call.method == "GET" and response.status_code == 500:
            return _Failed(failure, min(SERVER_ERROR_SECONDS, self._retry_seconds))
        return _Failed(failure, 0.0)

    async def _answer(self, call: Call, way: Way, read_seconds: float) -> httpx2.Response:
        """Sends once and reads the whole answer. Raises httpx2.RequestError, for a trickle too."""
        timeout = httpx2.Timeout(
            connect=CONNECT_SECONDS, read=read_seconds, write=READ_SECONDS, pool=None
        )
        if way.http.is_closed:
            raise RuntimeError(f"The client of Flink's REST API at {way.where} is closed")
        content = None if call.content is None else call.content()
        answer_seconds = call.answer_seconds or ANSWER_SECONDS
        # A large body is sent for as long as that takes.
        is_large = content is not None and not isinstance(content, bytes)
        request = way.http.build_request(
            call.method,
            way.base_url.rstrip("/") + call.path,
            content=content,
            headers=call.headers,
            params=call.params,
            timeout=timeout,
        )
        # Who has nothing repeated here repeats it himself, and tells of it.
        is_told = self._retry_seconds > 0.0 and not call.is_slow
        try:
            async with asyncio.timeout(None if is_large else read_seconds + answer_seconds):
                with self._outage.asked() if is_told else nullcontext():
                    response = await way.http.send(request, stream=True)
                async with aclosing(response), asyncio.timeout(answer_seconds):
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
        except (msgspec.DecodeError, RecursionError) as error:
            raise RestStatusError(
                f"{what} failed: {self.where} does not answer as Flink's REST API does ({error})",
                code=response.status_code,
            ) from error
