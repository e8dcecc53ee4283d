"""The mirror stays right whatever happens to its watch."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from kubeflink import errors, objects
from kubeflink.kube import KubeClient, Limits
from kubeflink.kube.backoff import Backoff
from kubeflink.kube.reflector import Change, Reflector
from support.api_stub import ApiStub, Fault, answer, break_at_once, watching

PODS = "/api/v1/namespaces/flink-jobs/pods"
ATTENTION = 60.0
"""Seconds that a change may take on a busy machine."""


def pod(name: str, uid: str = "u", version: str = "1") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "uid": f"{name}-{uid}", "resourceVersion": version},
    }


def event(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": obj}


GONE = watching(
    event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
)


def put(stub: ApiStub, *pods: dict[str, Any], version: int | None = None) -> None:
    """Make these the pods that a list gives."""
    stub.objects = {f"{PODS}/{objects.name_of(one)}": one for one in pods}
    stub.version = version or stub.version + 1


def reflector(client: KubeClient, **options: Any) -> Reflector:
    backoff = Backoff(first=0.05, longest=0.2)
    return Reflector(client, objects.PODS, **{"backoff": backoff, **options})


async def take(changes: AsyncIterator[Change], count: int) -> list[tuple[str, str]]:
    """The next changes, as type and uid."""
    taken = []
    async with asyncio.timeout(ATTENTION):
        while len(taken) < count:
            change = await anext(changes)
            taken.append((change.type, objects.uid_of(change.object)))
    return taken


async def test_a_list_and_a_watch_from_there(client: KubeClient, stub: ApiStub) -> None:
    put(stub, pod("a"), pod("b"), version=50)
    stub.watches = [
        watching(
            event("MODIFIED", pod("a", version="51")),
            event("BOOKMARK", {"metadata": {"resourceVersion": "60"}}),
            event("DELETED", pod("b", version="61")),
            event("ADDED", pod("c", version="62")),
            stay=True,
        )
    ]
    async with reflector(client, labels={"app": "x"}) as mirror:
        assert set(mirror.store) == {"a", "b"}
        async with aclosing(mirror.changes()) as changes:
            assert await take(changes, 5) == [
                ("added", "a-u"),
                ("added", "b-u"),
                ("modified", "a-u"),
                ("deleted", "b-u"),
                ("added", "c-u"),
            ]
        assert set(mirror.store) == {"a", "c"}

    listed, watched = stub.seen
    assert listed.query["labelSelector"] == watched.query["labelSelector"] == "app=x"
    assert watched.query["resourceVersion"] == "50"


async def test_a_watch_that_ends_goes_on_from_the_last_version(
    client: KubeClient, stub: ApiStub
) -> None:
    put(stub, version=50)
    stub.watches = [
        watching(event("ADDED", pod("a", version="51"))),
        watching(event("BOOKMARK", {"metadata": {"resourceVersion": "70"}})),
        watching(event("ADDED", pod("b", version="71")), stay=True),
    ]
    async with reflector(client) as mirror, aclosing(mirror.changes()) as changes:
        assert await take(changes, 2) == [("added", "a-u"), ("added", "b-u")]

    versions = [one.query["resourceVersion"] for one in stub.seen if "watch" in one.query]
    assert versions == ["50", "51", "70"]
    assert len(stub.seen) == 4


async def break_off(request: web.Request, stub: ApiStub) -> web.StreamResponse:
    """Send one event and tear the connection in the middle of the next."""
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(web.json_response(event("ADDED", pod("a", version="51"))).body + b"\n")  # type: ignore[operator]
    await response.write(b'{"type": "ADDED", "obj')
    await asyncio.sleep(0.1)
    assert request.transport is not None
    request.transport.abort()
    return response


async def test_a_connection_that_breaks_loses_no_event(client: KubeClient, stub: ApiStub) -> None:
    put(stub, version=50)
    stub.watches = [break_off, watching(event("ADDED", pod("b", version="52")), stay=True)]
    async with reflector(client) as mirror, aclosing(mirror.changes()) as changes:
        assert await take(changes, 2) == [("added", "a-u"), ("added", "b-u")]

    assert stub.seen[-1].query["resourceVersion"] == "51"


@pytest.mark.parametrize("gone", [GONE, answer(410, "too old", "Expired")], ids=["event", "answer"])
async def test_410_lists_again_and_tells_only_differences(
    client: KubeClient, stub: ApiStub, gone: Fault
) -> None:
    put(stub, pod("same"), pod("changed"), pod("lost"), pod("remade", "old"))

    async def meanwhile(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        put(
            stub,
            pod("same"),
            pod("changed", version="9"),
            pod("remade", "new", version="9"),
            pod("new", version="9"),
        )
        return await gone(request, stub)  # type: ignore[return-value]

    stub.watches = [meanwhile, watching(event("ADDED", pod("last", version="99")), stay=True)]
    async with reflector(client) as mirror, aclosing(mirror.changes()) as changes:
        await take(changes, 4)
        assert await take(changes, 6) == [
            ("deleted", "lost-u"),
            ("modified", "changed-u"),
            ("deleted", "remade-old"),
            ("added", "remade-new"),
            ("added", "new-u"),
            ("added", "last-u"),
        ]
        assert set(mirror.store) == {"same", "changed", "remade", "new", "last"}


async def test_410_for_ever_is_no_busy_loop(client: KubeClient, stub: ApiStub) -> None:
    put(stub, pod("a"))
    stub.watches = [GONE]
    async with reflector(client, backoff=Backoff(first=0.1, longest=1.0)):
        await asyncio.sleep(1.5)

    assert 2 <= stub.count("GET") < 25


async def test_a_watch_that_ends_at_once_is_no_busy_loop(client: KubeClient, stub: ApiStub) -> None:
    put(stub, pod("a"))
    stub.watches = [watching()]
    async with reflector(client, backoff=Backoff(first=0.1, longest=1.0)):
        await asyncio.sleep(1.5)

    assert 2 <= stub.count("GET") < 25


async def test_silence_is_noticed_and_what_was_missed_is_found(
    client: KubeClient, stub: ApiStub
) -> None:
    """A half-open connection: the server takes the request and nothing ever comes."""
    put(stub, pod("a"), pod("b"))

    async def silent(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        put(stub, pod("b"))
        return await watching(silent=True)(request, stub)  # type: ignore[return-value]

    stub.watches = [silent, watching(stay=True)]
    async with (
        reflector(client, watch_seconds=1, grace=0.2) as mirror,
        aclosing(mirror.changes()) as changes,
    ):
        await take(changes, 2)
        assert await take(changes, 1) == [("deleted", "a-u")]
        assert set(mirror.store) == {"b"}


async def test_every_watch_has_a_limit(client: KubeClient, stub: ApiStub) -> None:
    stub.watches = [watching(event("ADDED", pod("a")), stay=True)]
    async with reflector(client) as mirror, aclosing(mirror.changes()) as changes:
        await take(changes, 1)

    assert 1 <= int(stub.seen[-1].query["timeoutSeconds"]) <= 120


async def test_an_api_server_that_is_away_is_no_error(stub: ApiStub, tmp_path: Path) -> None:
    """410, then nobody there, then back: the mirror is kept and made right again."""
    put(stub, pod("a"), pod("b"))
    stub.watches = [GONE]
    file, port = stub.kubeconfig(tmp_path), stub.port
    limits = Limits(total=0.2, first_contact=0.2, pause=0.05)
    async with (
        KubeClient.connect(kubeconfig=file, environ={}, limits=limits) as client,
        reflector(client) as mirror,
        aclosing(mirror.changes()) as changes,
    ):
        await take(changes, 2)
        await stub.__aexit__()
        while mirror.outage is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        assert isinstance(mirror.outage.error, errors.ApiUnreachableError)
        await asyncio.sleep(1)
        assert set(mirror.store) == {"a", "b"}
        async with ApiStub(port=port) as again:
            put(again, pod("b"), pod("c"))
            again.watches = [watching(stay=True)]
            assert await take(changes, 2) == [("deleted", "a-u"), ("added", "c-u")]
            assert mirror.outage is None


@pytest.mark.parametrize("fault", [answer(503), answer(429), answer(500), break_at_once])
async def test_passing_faults_of_a_watch(client: KubeClient, stub: ApiStub, fault: Fault) -> None:
    stub.watches = [fault, fault, watching(event("ADDED", pod("a", version="200")), stay=True)]
    async with reflector(client) as mirror, aclosing(mirror.changes()) as changes:
        assert await take(changes, 1) == [("added", "a-u")]


async def test_a_first_list_that_is_refused_is_raised(client: KubeClient, stub: ApiStub) -> None:
    stub.faults = [("GET", answer(403, "no"))]

    with pytest.raises(errors.ForbiddenError):
        async with reflector(client):
            pass


async def test_a_watch_that_is_refused_is_raised_to_who_listens(
    client: KubeClient, stub: ApiStub
) -> None:
    stub.watches = [answer(403, "no")]
    async with reflector(client) as mirror, aclosing(mirror.changes()) as changes:
        with pytest.raises(errors.ForbiddenError):
            await take(changes, 1)
        with pytest.raises(errors.ForbiddenError):
            await mirror.wait_for(lambda store: store.get("never"))


async def test_a_watch_that_is_refused_is_raised_on_leaving_if_nobody_listened(
    client: KubeClient, stub: ApiStub
) -> None:
    stub.watches = [answer(403, "no")]

    with pytest.raises(errors.ForbiddenError):
        async with reflector(client):
            await asyncio.sleep(1)


async def test_a_server_that_wants_to_be_left_alone_for_years_is_asked_again(
    client: KubeClient, stub: ApiStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeflink.kube.reflector.LONGEST_WISH", 0.1)
    stub.watches = [
        answer(429, "later", headers={"Retry-After": "9" * 400}),
        watching(event("ADDED", pod("a", version="200")), stay=True),
    ]
    async with reflector(client) as mirror, aclosing(mirror.changes()) as changes:
        assert await take(changes, 1) == [("added", "a-u")]


async def test_credentials_that_fail_for_a_moment_are_no_error(
    stub: ApiStub, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("one")
    stub.token = "one"
    put(stub, pod("a"))
    stub.watches = [watching()]
    file = stub.kubeconfig(tmp_path, user="{tokenFile: token}")
    async with (
        KubeClient.connect(kubeconfig=file, environ={}) as client,
        reflector(client) as mirror,
        aclosing(mirror.changes()) as changes,
    ):
        await take(changes, 1)
        stub.token = "two"
        stub.watches = [watching(event("ADDED", pod("b", version="201")), stay=True)]
        while len(stub.seen) < 4:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        token.write_text("two")
        assert await take(changes, 1) == [("added", "b-u")]


async def test_a_refusal_in_the_middle_of_a_watch_renews_the_credentials(
    stub: ApiStub, tmp_path: Path
) -> None:
    script = tmp_path / "plugin"
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    script.write_text(
        f"#!{sys.executable}\n"
        "import json, pathlib\n"
        f"runs = pathlib.Path({str(tmp_path / 'runs')!r})\n"
        "run = len(runs.read_text()) + 1 if runs.exists() else 1\n"
        "runs.write_text('x' * run)\n"
        f"print(json.dumps({credential!r} | {{'status': {{'token': f'token-{{run}}'}}}}))\n"
    )
    script.chmod(0o700)
    user = (
        "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin,"
        " interactiveMode: Never}}"
    )
    refused = {"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"}
    stub.token = "token-1"

    async def revoke(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        stub.token = "token-2"
        return await watching(event("ERROR", refused))(request, stub)  # type: ignore[return-value]

    stub.watches = [revoke, watching(event("ADDED", pod("a", version="200")), stay=True)]
    async with (
        KubeClient.connect(kubeconfig=stub.kubeconfig(tmp_path, user=user), environ={}) as client,
        reflector(client) as mirror,
        aclosing(mirror.changes()) as changes,
    ):
        assert await take(changes, 1) == [("added", "a-u")]

    assert tmp_path.joinpath("runs").read_text() == "xx"


async def test_credentials_that_stay_refused_are_an_error(stub: ApiStub, tmp_path: Path) -> None:
    stub.token = "one"
    stub.watches = [watching()]
    file = stub.kubeconfig(tmp_path, user="{token: one}")
    async with (
        KubeClient.connect(kubeconfig=file, environ={}) as client,
        reflector(client) as mirror,
        aclosing(mirror.changes()) as changes,
    ):
        stub.token = "two"
        with pytest.raises(errors.UnauthorizedError):
            await take(changes, 1)


async def test_several_listen_and_each_gets_everything(client: KubeClient, stub: ApiStub) -> None:
    put(stub, pod("a"))
    go = asyncio.Event()

    async def later(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        await go.wait()
        events = watching(event("ADDED", pod("b", version="200")), stay=True)
        return await events(request, stub)  # type: ignore[return-value]

    stub.watches = [later]
    async with (
        reflector(client) as mirror,
        aclosing(mirror.changes()) as one,
        aclosing(mirror.changes()) as two,
    ):
        assert await take(one, 1) == await take(two, 1) == [("added", "a-u")]
        go.set()
        assert await take(one, 1) == await take(two, 1) == [("added", "b-u")]


async def test_waiting_for_a_state(client: KubeClient, stub: ApiStub) -> None:
    stub.watches = [watching(event("ADDED", pod("a", version="200")), stay=True)]
    async with reflector(client) as mirror, asyncio.timeout(ATTENTION):
        found = await mirror.wait_for(lambda store: store.get("a"))

    assert objects.name_of(found) == "a"


async def test_leaving_ends_the_watch(client: KubeClient, stub: ApiStub) -> None:
    ended = asyncio.Event()

    async def endless(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()
        return response

    stub.watches = [endless]
    before = asyncio.all_tasks()
    async with reflector(client):
        while not stub.count("GET") > 1:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    await asyncio.wait_for(ended.wait(), ATTENTION)
    assert not {one for one in asyncio.all_tasks() - before if "reflector" in one.get_name()}


async def test_names_of_all_namespaces_are_kept_apart(client: KubeClient, stub: ApiStub) -> None:
    one, two = pod("a", "one"), pod("a", "two", version="200")
    one["metadata"]["namespace"], two["metadata"]["namespace"] = "n1", "n2"
    stub.objects = {"/api/v1/pods/a": one}
    stub.watches = [watching(event("ADDED", two), stay=True)]
    async with (
        reflector(client, all_namespaces=True) as mirror,
        aclosing(mirror.changes()) as changes,
    ):
        await take(changes, 2)
        assert set(mirror.store) == {"n1/a", "n2/a"}


@given(
    first=st.integers(1, 50).map(lambda n: n / 10),
    longest=st.integers(50, 300).map(lambda n: n / 10),
    wanted=st.none() | st.integers(0, 100).map(float),
    seed=st.integers(),
)
def test_pauses_grow_to_a_limit_and_differ(
    first: float, longest: float, wanted: float | None, seed: int
) -> None:
    backoff = Backoff(first, longest, random.Random(seed))

    pauses = [backoff.pause(at_least=wanted) for _ in range(20)]

    least = wanted or 0.0
    assert all(max(first / 2, least) <= pause <= max(longest, least) for pause in pauses)
    if wanted is None:
        assert pauses[-1] >= longest / 2
        assert len(set(pauses[-5:])) == 5
        backoff.reset()
        assert backoff.pause() <= first
