"""Objects, retries and errors, over real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kubeflink import errors, objects
from kubeflink.kube import KubeClient, Limits, streams
from support.api_stub import (
    ApiStub,
    answer,
    break_at_once,
    carry_out_and_break,
    status,
    watching,
)

PODS = "/api/v1/namespaces/flink-jobs/pods"


def pod(name: str = "a", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def deployment(name: str) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}}


async def test_objects_go_through_their_life(client: KubeClient, stub: ApiStub) -> None:
    made = await client.create(pod(x=1))
    assert made["spec"] == {"x": 1}
    assert await client.get(objects.PODS, "a") == made
    patched = await client.patch(objects.PODS, "a", {"spec": {"x": 2}})
    assert patched["spec"] == {"x": 2}
    replaced = await client.replace({**patched, "spec": {"x": 3}})
    assert replaced["spec"] == {"x": 3}
    await client.delete(objects.PODS, "a", uid=objects.uid_of(made))
    assert stub.objects == {}


async def test_what_is_given_is_not_changed(client: KubeClient) -> None:
    given = pod(x=1)
    before = pod(x=1)

    await client.create(given)

    assert given == before


@pytest.mark.parametrize(
    ("own", "given", "expected"),
    [
        (None, None, "flink-jobs"),
        (None, "there", "there"),
        ("own", None, "own"),
        ("own", "own", "own"),
    ],
)
async def test_the_namespace_of_a_create(
    client: KubeClient, stub: ApiStub, own: str | None, given: str | None, expected: str
) -> None:
    obj = pod()
    if own:
        obj["metadata"]["namespace"] = own

    await client.create(obj, given)

    assert stub.seen[-1].path == f"/api/v1/namespaces/{expected}/pods"


async def test_two_namespaces_that_differ_are_refused(client: KubeClient, stub: ApiStub) -> None:
    obj = pod()
    obj["metadata"]["namespace"] = "own"

    with pytest.raises(errors.UsageError, match='belongs to namespace "own"'):
        await client.create(obj, "other")

    assert stub.seen == []


async def test_lists_are_read_page_by_page_and_items_have_their_kind(
    client: KubeClient, stub: ApiStub
) -> None:
    stub.page = 3
    for index in range(7):
        stub.store(f"{PODS}/p{index}", pod(f"p{index}"))

    found = await client.list(objects.PODS, labels={"app": "x", "b": "c"}, fields="spec.nodeName=n")

    assert [objects.name_of(one) for one in found.items] == [f"p{index}" for index in range(7)]
    assert {objects.resource_of(one) for one in found.items} == {objects.PODS}
    assert found.resource_version == str(stub.version)
    assert len(stub.seen) == 3
    assert stub.seen[-1].query["labelSelector"] == "app=x,b=c"
    assert stub.seen[-1].query["fieldSelector"] == "spec.nodeName=n"


async def test_a_list_whose_pages_expire_is_read_at_once(client: KubeClient, stub: ApiStub) -> None:
    stub.page = 2
    for index in range(3):
        stub.store(f"{PODS}/p{index}", pod(f"p{index}"))

    async def widen(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        stub.page = 1000
        return status(410, "The provided continue parameter is too old", "Expired")

    async def first_page(request: web.Request, stub: ApiStub) -> None:
        return None

    stub.faults = [("GET", first_page), ("GET", widen)]

    assert len((await client.list(objects.PODS)).items) == 3
    assert "limit" not in stub.seen[-1].query


async def test_all_namespaces(client: KubeClient, stub: ApiStub) -> None:
    await client.list(objects.DEPLOYMENTS, all_namespaces=True)

    assert stub.seen[-1].path == "/apis/apps/v1/deployments"


async def test_deletes_say_how(client: KubeClient, stub: ApiStub) -> None:
    stub.store("/apis/apps/v1/namespaces/flink-jobs/deployments/d", deployment("d"))

    await client.delete(
        objects.DEPLOYMENTS, "d", propagation="Foreground", grace_period=0, dry_run=True
    )

    assert stub.seen[-1].body == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
        "dryRun": ["All"],
    }


async def test_another_object_of_that_name_is_not_deleted(
    client: KubeClient, stub: ApiStub
) -> None:
    stub.store(f"{PODS}/a", pod())

    with pytest.raises(errors.ConflictError):
        await client.delete(objects.PODS, "a", uid="of-an-older-one")

    assert f"{PODS}/a" in stub.objects


@pytest.mark.parametrize(
    ("kind", "content_type"),
    [
        ("merge", "application/merge-patch+json"),
        ("json", "application/json-patch+json"),
        ("strategic", "application/strategic-merge-patch+json"),
        ("apply", "application/apply-patch+yaml"),
    ],
)
async def test_patches_carry_their_type(
    client: KubeClient, stub: ApiStub, kind: Any, content_type: str
) -> None:
    stub.store(f"{PODS}/a", pod())
    body: Any = {"spec": {"x": 2}}

    await client.patch(objects.PODS, "a", body, kind=kind, force=True, dry_run=True)

    seen = stub.seen[-1]
    assert seen.headers["Content-Type"] == content_type
    assert seen.query["force"] == "true"
    assert seen.query["dryRun"] == "All"
    assert ("fieldManager" in seen.query) is (kind == "apply")


async def test_rights_are_asked_for(client: KubeClient, stub: ApiStub) -> None:
    stub.denied.add(("watch", "pods"))

    assert await client.can_i("list", objects.PODS) is True
    assert await client.can_i("watch", objects.PODS) is False
    asked = stub.seen[-1].body["spec"]["resourceAttributes"]
    assert asked == {
        "verb": "watch",
        "version": "v1",
        "resource": "pods",
        "namespace": "flink-jobs",
    }


async def test_a_server_without_access_reviews_gives_no_answer(
    client: KubeClient, stub: ApiStub
) -> None:
    stub.faults = [("POST", answer(404, "the server could not find the requested resource"))]

    assert await client.can_i("list", objects.PODS) is None


async def test_events_come_in_their_order(client: KubeClient, stub: ApiStub) -> None:
    times = {"late": "2026-01-01T00:00:09Z", "early": "2026-01-01T00:00:01Z"}
    for name, time in times.items():
        stub.store(
            f"/api/v1/namespaces/flink-jobs/events/{name}",
            {"metadata": {"name": name}, "lastTimestamp": time},
        )
    stub.store(
        "/api/v1/namespaces/flink-jobs/events/new",
        {"metadata": {"name": "new"}, "eventTime": "2026-01-01T00:00:05.000001Z"},
    )
    about = {"metadata": {"name": "a", "namespace": "flink-jobs", "uid": "u1"}}

    found = await client.events_of(about)

    assert [objects.name_of(one) for one in found] == ["early", "new", "late"]
    assert stub.seen[-1].query["fieldSelector"] == "involvedObject.name=a,involvedObject.uid=u1"


async def test_logs(client: KubeClient, stub: ApiStub) -> None:
    async def log(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in (b"one\ntw", b"o \xff\n", b"three"):
            await response.write(part)
        return response

    stub.faults = [("GET", log), ("GET", log)]

    text = await client.pod_logs("a", container="c", tail_lines=5, previous=True)
    lines = [line async for line in client.follow_pod_logs("a")]

    assert text == "one\ntwo \ufffd\nthree"
    assert lines == ["one", "two \ufffd", "three"]
    assert stub.seen[0].path == f"{PODS}/a/log"
    assert stub.seen[0].query == {"container": "c", "tailLines": "5", "previous": "true"}
    assert stub.seen[1].query == {"follow": "true"}


async def test_a_log_without_line_ends_comes_in_pieces(client: KubeClient, stub: ApiStub) -> None:
    async def log(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)

    stub.faults = [("GET", log)]
    lines = client.follow_pod_logs("a")

    async with aclosing(lines):
        pieces = [await anext(lines) for _ in range(3)]

    assert {len(piece) > streams.LONGEST_LINE for piece in pieces} == {True}
    assert {len(piece) < 2 * streams.LONGEST_LINE for piece in pieces} == {True}


# Watches


async def watch(client: KubeClient, **options: Any) -> list[tuple[str, Any]]:
    events = client.watch(objects.PODS, resource_version="7", **options)
    return [(event.type, event.resource_version) async for event in events]


def event(kind: str, version: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "object": {"metadata": {"resourceVersion": version, **more}}}


async def test_a_watch_gives_events_and_ends_with_the_connection(
    client: KubeClient, stub: ApiStub
) -> None:
    stub.watches = [watching(event("ADDED", "8"), event("BOOKMARK", "9"))]

    assert await watch(client) == [("ADDED", "8"), ("BOOKMARK", "9")]
    query = stub.seen[-1].query
    assert query["resourceVersion"] == "7"
    assert query["allowWatchBookmarks"] == "true"
    assert int(query["timeoutSeconds"]) > 0


async def test_events_may_be_longer_than_any_line_limit(client: KubeClient, stub: ApiStub) -> None:
    long = event("ADDED", "8", annotations={"x": "y" * 3_000_000})
    stub.watches = [watching(long, event("DELETED", "9"))]

    assert await watch(client) == [("ADDED", "8"), ("DELETED", "9")]


async def test_empty_lines_between_events_are_none(client: KubeClient, stub: ApiStub) -> None:
    """Such as a gateway sends to keep a connection open."""
    stub.watches = [watching(b"", event("ADDED", "8"), b"\r", b"", event("BOOKMARK", "9"))]

    assert await watch(client) == [("ADDED", "8"), ("BOOKMARK", "9")]


async def test_a_line_that_is_cut_off_is_no_event(client: KubeClient, stub: ApiStub) -> None:
    async def cut(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(web.json_response(event("ADDED", "8")).body + b"\n")  # type: ignore[operator]
        await response.write(b'{"type":"ADDED","obj')
        return response

    stub.watches = [cut]

    assert await watch(client) == [("ADDED", "8")]


async def test_a_version_that_is_too_old_is_gone_either_way(
    client: KubeClient, stub: ApiStub
) -> None:
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old: 7 (9)"}
    stub.watches = [watching({"type": "ERROR", "object": gone}), answer(410, "too old: 7 (9)")]

    for _ in range(2):
        with pytest.raises(errors.GoneError, match="too old"):
            await watch(client)


async def test_a_watch_that_may_not_be_is_forbidden(client: KubeClient, stub: ApiStub) -> None:
    words = (
        'pods is forbidden: User "system:serviceaccount:flink-jobs:default" cannot watch resource'
        ' "pods" in API group "" in the namespace "flink-jobs"'
    )
    stub.watches = [answer(403, words, "Forbidden")]

    with pytest.raises(errors.ForbiddenError) as caught:
        await watch(client)

    assert caught.value.message == (
        'Account "system:serviceaccount:flink-jobs:default" may not watch pods in namespace'
        ' "flink-jobs"'
    )


async def test_a_silent_watch_is_given_up(client: KubeClient, stub: ApiStub) -> None:
    stub.watches = [watching(event("ADDED", "8"), silent=True)]

    with pytest.raises(errors.ApiUnreachableError, match="no answer within the time limit"):
        await watch(client, timeout_seconds=1, grace=0.2)


@pytest.mark.parametrize(
    "body", [b"<html>log in first</html>", pytest.param(b'{"a":' * 100_000 + b"\n", id="deep")]
)
async def test_a_stream_that_is_no_watch_is_told(
    client: KubeClient, stub: ApiStub, body: bytes
) -> None:
    stub.watches = [watching(body)]

    with pytest.raises(errors.ApiUnreachableError, match="not from an API server"):
        await watch(client)


async def test_an_error_of_a_watch_may_have_any_code(client: KubeClient, stub: ApiStub) -> None:
    error = b'{"type": "ERROR", "object": {"kind": "Status", "code": "many"}}\n'
    stub.watches = [watching(error)]

    with pytest.raises(errors.ServerError):
        await watch(client)


async def test_a_failure_may_be_deeper_than_can_be_read(client: KubeClient, stub: ApiStub) -> None:
    async def page(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        return web.Response(status=403, text="[" * 100_000, content_type="application/json")

    stub.faults = [("*", page)]

    with pytest.raises(errors.ForbiddenError):
        await client.get(objects.PODS, "a")


@pytest.mark.parametrize("year", ["99999999999999999999", "2020 00:00:00 +99999999999999999999"])
async def test_a_date_of_no_year_is_passed_over(
    client: KubeClient, stub: ApiStub, year: str
) -> None:
    stub.date = f"Mon, 01 Jan {year} 00:00:00 GMT"

    assert (await client.list(objects.PODS)).items == ()


# Errors


FORBIDDEN = [
    (
        lambda client: client.create(deployment("d")),
        'deployments.apps is forbidden: User "jane" cannot create resource "deployments" in API'
        ' group "apps" in the namespace "flink-jobs"',
        'Account "jane" may not create deployments.apps in namespace "flink-jobs"',
        'apiGroups ["apps"], resources ["deployments"], verbs ["create"]',
    ),
    (
        lambda client: client.pod_logs("a"),
        'pods "a" is forbidden: User "jane" cannot get resource "pods/log" in API group "" in the'
        ' namespace "flink-jobs"',
        'Account "jane" may not get pods/log in namespace "flink-jobs"',
        'resources ["pods/log"], verbs ["get"]',
    ),
    (
        lambda client: client.list(objects.NODES),
        'nodes is forbidden: User "system:anonymous" cannot list resource "nodes" in API group ""'
        " at the cluster scope",
        'Account "system:anonymous" may not list nodes in the whole cluster',
        "No credentials were sent",
    ),
    (
        lambda client: client.create(pod()),
        'pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=5',
        'Cannot create pods a in namespace "flink-jobs": pods "a" is forbidden: exceeded quota: q,'
        " requested: pods=1, used: pods=5",
        None,
    ),
    (  # as on OpenShift
        lambda client: client.create(pod()),
        'pods "a" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a'
        " resource you can't set finalizers on: , <nil>",
        'Cannot create pods a in namespace "flink-jobs": pods "a" is forbidden: cannot set'
        " blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on",
        'apiGroups ["apps"], resources ["deployments/finalizers"], verbs ["update"]',
    ),
]


@pytest.mark.parametrize(("call", "words", "message", "hint"), FORBIDDEN)
async def test_403_is_one_line_with_verb_resource_namespace_and_account(
    client: KubeClient,
    stub: ApiStub,
    call: Callable[[KubeClient], Awaitable[Any]],
    words: str,
    message: str,
    hint: str | None,
) -> None:
    stub.faults = [("*", answer(403, words, "Forbidden"))]

    with pytest.raises(errors.ForbiddenError) as caught:
        await call(client)

    assert caught.value.message == message
    assert (caught.value.hint is None) if hint is None else (hint in str(caught.value.hint))
    assert caught.value.server_message == words
    assert len(stub.seen) == 1


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, errors.BadRequestError),
        (404, errors.NotFoundError),
        (405, errors.ApiStatusError),
        (409, errors.ConflictError),
        (410, errors.GoneError),
        (413, errors.ApiStatusError),
        (422, errors.InvalidError),
    ],
)
async def test_answers_become_errors_with_their_status(
    client: KubeClient, stub: ApiStub, code: int, kind: type[errors.ApiStatusError]
) -> None:
    stub.faults = [("GET", answer(code, "the words of the server", "TheReason"))]

    with pytest.raises(kind) as caught:
        await client.get(objects.PODS, "a")

    error = caught.value
    assert type(error) is kind
    assert (error.code, error.reason) == (code, "TheReason")
    assert error.server_message == "the words of the server"
    assert error.server_message in error.message
    assert error.status["kind"] == "Status"
    assert len(stub.seen) == 1


async def test_an_answer_of_something_else_is_cut_to_a_line(
    client: KubeClient, stub: ApiStub
) -> None:
    async def page(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        text = "<html><body><h1>Blocked</h1>\n<p>by the\ngateway</p></body></html>"
        return web.Response(status=418, text=text, content_type="text/html")

    stub.faults = [("GET", page)]

    with pytest.raises(errors.ApiStatusError) as caught:
        await client.get(objects.PODS, "a")

    assert caught.value.message.endswith(
        f"{stub.url} answered 418, not as an API server does: Blocked by the gateway"
    )


@pytest.mark.parametrize("code", [302, 403, 404, 409, 410, 422])
async def test_an_answer_without_a_status_proves_nothing_about_an_object(
    client: KubeClient, stub: ApiStub, code: int
) -> None:
    async def page(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        text = f"<html><title>Log in</title>{'<p>Welcome to the portal</p>' * 100}</html>"
        return web.Response(status=code, text=text, content_type="text/html")

    stub.faults = [("*", page)]

    with pytest.raises(errors.ApiStatusError) as caught:
        await client.get(objects.PODS, "a")

    assert not isinstance(caught.value, errors.NotFoundError)
    assert caught.value.code == code
    assert len(str(caught.value).splitlines()) <= 3
    assert len(caught.value.message) < 300
    assert "not as an API server does: Log in" in caught.value.message


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Log in</html>",
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"kind":',
        b"\xff\xfe",
        b'{"kind": "PodList", "metadata": [], "items": []}',
        b'{"kind": "PodList", "metadata": {}, "items": "none"}',
        b'{"kind": "PodList", "metadata": {}, "items": [null, 3]}',
        b'{"kind": "PodList", "metadata": {}, "items": [{"metadata": null}]}',
        b'{"kind": "Status", "metadata": {}, "status": "Failure", "code": 403}',
        b'{"kind": "PodList", "metadata": {"continue": "the same again"}, "items": []}',
        pytest.param(b"[" * 100_000, id="deeper than can be read"),
    ],
)
async def test_a_success_of_something_else_is_no_answer(
    client: KubeClient, stub: ApiStub, body: bytes
) -> None:
    async def page(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        return web.Response(body=body, content_type="application/json")

    stub.faults = [("*", page)] * 2  # for a second page

    with pytest.raises(errors.ApiUnreachableError, match="is not from an API server"):
        await client.list(objects.PODS)


async def test_an_empty_list_may_come_without_items(client: KubeClient, stub: ApiStub) -> None:
    async def page(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        return web.json_response({"kind": "PodList", "metadata": {}, "items": None})

    stub.faults = [("*", page)]

    assert (await client.list(objects.PODS)).items == ()


async def test_an_address_where_nobody_listens(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        file = ApiStub(port=taken.getsockname()[1]).kubeconfig(tmp_path)
        limits = Limits(total=3600, first_contact=0.5)
        async with KubeClient.connect(kubeconfig=file, environ={}, limits=limits) as client:
            with pytest.raises(errors.ApiUnreachableError) as caught:
                await client.get(objects.PODS, "a")

    assert "connection refused" in caught.value.message
    assert client.server in caught.value.message
    assert "context stub" in str(caught.value.hint)


async def test_a_name_that_is_none(tmp_path: Path) -> None:
    file = ApiStub(port=1).kubeconfig(tmp_path)
    file.write_text(file.read_text().replace("127.0.0.1", "kube.invalid"))
    limits = Limits(total=3600, first_contact=0.5)
    async with KubeClient.connect(kubeconfig=file, environ={}, limits=limits) as client:
        with pytest.raises(errors.ApiUnreachableError, match="its name cannot be resolved"):
            await client.get(objects.PODS, "a")


async def test_plain_http_on_a_tls_port_is_told(stub: ApiStub, tmp_path: Path) -> None:
    file = stub.kubeconfig(tmp_path)
    file.write_text(file.read_text().replace("http:", "https:"))
    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        with pytest.raises(errors.ApiUnreachableError, match="TLS failed"):
            await client.get(objects.PODS, "a")


# Trying again


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
async def test_passing_faults_are_tried_again(client: KubeClient, stub: ApiStub, code: int) -> None:
    stub.store(f"{PODS}/a", pod())
    stub.faults = [("GET", answer(code)), ("GET", break_at_once), ("GET", answer(code))]

    assert objects.name_of(await client.get(objects.PODS, "a")) == "a"
    assert len(stub.seen) == 4


@pytest.mark.parametrize(
    ("code", "kind"), [(503, errors.ServerError), (429, errors.TooManyRequestsError)]
)
async def test_faults_that_stay_end_within_the_limit(
    stub: ApiStub, tmp_path: Path, code: int, kind: type[errors.ApiStatusError]
) -> None:
    stub.faults = [("GET", answer(code, "later"))] * 100
    limits = Limits(total=1.0)
    file = stub.kubeconfig(tmp_path)
    async with KubeClient.connect(kubeconfig=file, environ={}, limits=limits) as client:
        with pytest.raises(kind):
            await client.get(objects.PODS, "a")

    assert 2 <= len(stub.seen) < 10


async def test_retry_after_is_honoured_and_given_on(stub: ApiStub, tmp_path: Path) -> None:
    """A pause that does not fit into the limit is not begun."""
    stub.faults = [("GET", answer(429, "later", headers={"Retry-After": "120"}))]
    file = stub.kubeconfig(tmp_path)
    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        with pytest.raises(errors.TooManyRequestsError) as caught:
            await client.get(objects.PODS, "a")

    assert caught.value.retry_after == 120
    assert len(stub.seen) == 1


async def test_retry_after_may_be_a_date(client: KubeClient, stub: ApiStub) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    stub.faults = [("GET", answer(503, "later", headers={"Retry-After": date}))]

    with pytest.raises(errors.ServerError) as caught:
        await client.get(objects.PODS, "a")

    assert 3500 < (caught.value.retry_after or 0) <= 3600


async def test_a_pause_is_at_least_what_was_asked_for(client: KubeClient, stub: ApiStub) -> None:
    stub.store(f"{PODS}/a", pod())
    times: list[float] = []

    async def busy(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        times.append(asyncio.get_running_loop().time())
        return await answer(429, "later", headers={"Retry-After": "1"})(request, stub)  # type: ignore[return-value]

    async def note(request: web.Request, stub: ApiStub) -> None:
        times.append(asyncio.get_running_loop().time())

    stub.faults = [("GET", busy), ("GET", note)]

    await client.get(objects.PODS, "a")

    assert times[1] - times[0] >= 0.99


async def test_a_create_whose_answer_is_lost_is_found_again(
    client: KubeClient, stub: ApiStub
) -> None:
    stub.faults = [("POST", carry_out_and_break)]

    made = await client.create(pod(x=1, containers=[{"name": "c"}]))

    assert made == stub.objects[f"{PODS}/a"]
    assert [one.method for one in stub.seen] == ["POST", "POST", "GET"]


async def test_a_create_that_was_not_carried_out_is_repeated(
    client: KubeClient, stub: ApiStub
) -> None:
    stub.faults = [("POST", break_at_once), ("POST", answer(503))]

    made = await client.create(pod(x=1))

    assert made == stub.objects[f"{PODS}/a"]


async def test_somebody_elses_object_is_not_taken_for_ones_own(
    client: KubeClient, stub: ApiStub
) -> None:
    """There before the first attempt, and equal to what is to be made."""
    old = pod(x=1)
    old["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    stub.store(f"{PODS}/a", old)
    stub.faults = [("POST", break_at_once)]

    with pytest.raises(errors.ConflictError):
        await client.create(pod(x=1))


async def test_an_object_made_by_somebody_else_meanwhile_is_a_conflict(
    client: KubeClient, stub: ApiStub
) -> None:
    async def overtaken(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        stub.store(f"{PODS}/a", pod(x=2))
        return await break_at_once(request, stub)

    stub.faults = [("POST", overtaken)]

    with pytest.raises(errors.ConflictError):
        await client.create(pod(x=1))


async def test_an_object_that_exists_is_a_conflict_at_once(
    client: KubeClient, stub: ApiStub
) -> None:
    stub.store(f"{PODS}/a", pod(x=1))

    with pytest.raises(errors.ConflictError, match="already exists"):
        await client.create(pod(x=1))

    assert len(stub.seen) == 1


async def test_the_servers_clock_counts(client: KubeClient, stub: ApiStub) -> None:
    """An hour behind ours: its creation time lies before our first attempt."""
    stub.clock_offset = timedelta(hours=-1)
    stub.faults = [("POST", carry_out_and_break)]

    made = await client.create(pod(x=1))

    assert made == stub.objects[f"{PODS}/a"]


async def test_a_delete_whose_answer_is_lost_has_succeeded(
    client: KubeClient, stub: ApiStub
) -> None:
    stub.store(f"{PODS}/a", pod())
    stub.faults = [("DELETE", carry_out_and_break)]

    await client.delete(objects.PODS, "a")

    assert stub.objects == {}
    assert len(stub.seen) == 2


async def test_a_name_does_not_lead_elsewhere(client: KubeClient, stub: ApiStub) -> None:
    stub.store(
        "/api/v1/namespaces/flink-jobs/secrets/s", {"kind": "Secret", "metadata": {"name": "s"}}
    )

    for name in ("../secrets/s", "a?b=c", "a#b", "%2e%2e"):
        with pytest.raises(errors.NotFoundError):
            await client.get(objects.PODS, name)
        with pytest.raises(errors.NotFoundError):
            await client.pod_logs(name)

    assert all(seen.raw_path.startswith(f"{PODS}/") for seen in stub.seen)
    assert "/../" not in "".join(seen.raw_path for seen in stub.seen)


@pytest.mark.parametrize("name", ["", " ", ".", ".."])
async def test_a_name_that_means_more_than_one_object_is_refused(
    client: KubeClient, stub: ApiStub, name: str
) -> None:
    calls: list[Callable[[], Awaitable[Any]]] = [
        lambda: client.get(objects.PODS, name),
        lambda: client.delete(objects.PODS, name),
        lambda: client.patch(objects.PODS, name, {}),
        lambda: client.pod_logs(name),
        lambda: client.delete(objects.NAMESPACES, name),
    ]
    if name:  # an empty namespace is that of the context
        calls.append(lambda: client.get(objects.PODS, "a", name))
    for call in calls:
        with pytest.raises(errors.UsageError, match="cannot be a name in Kubernetes"):
            await call()
    assert stub.seen == []


async def test_an_answer_that_trickles_is_given_up(stub: ApiStub, tmp_path: Path) -> None:
    async def trickle(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for _ in range(10_000):
            await response.write(b" ")
            await asyncio.sleep(0.01)
        return response

    stub.faults = [("*", trickle)]
    file = stub.kubeconfig(tmp_path)
    limits = Limits(total=0.1, answer=0.5)

    async with KubeClient.connect(kubeconfig=file, environ={}, limits=limits) as client:
        with pytest.raises(errors.ApiUnreachableError, match="no answer within the time limit"):
            await client.get(objects.PODS, "a")


async def test_a_refusal_of_a_stream_that_trickles_is_given_up(
    stub: ApiStub, tmp_path: Path
) -> None:
    async def trickle(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        response = web.StreamResponse(status=503)
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.01)

    stub.faults = [("*", trickle)]
    file = stub.kubeconfig(tmp_path)
    limits = Limits(total=0.1, answer=0.5)

    async with KubeClient.connect(kubeconfig=file, environ={}, limits=limits) as client:
        with pytest.raises(errors.ApiUnreachableError, match="no answer within the time limit"):
            await anext(client.follow_pod_logs("a"))


async def test_a_broken_encoding_is_no_answer(client: KubeClient, stub: ApiStub) -> None:
    async def broken(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        response = web.Response(body=b"no gzip", headers={"Content-Encoding": "gzip"})
        response.enable_compression(web.ContentCoding.identity)
        return response

    stub.store(f"{PODS}/a", pod())
    stub.faults = [("GET", broken)]

    await client.get(objects.PODS, "a")


async def test_a_delete_of_what_is_not_there_is_told(client: KubeClient) -> None:
    with pytest.raises(errors.NotFoundError):
        await client.delete(objects.PODS, "a")


async def test_a_json_patch_is_not_done_twice(client: KubeClient, stub: ApiStub) -> None:
    stub.store(f"{PODS}/a", pod())
    stub.faults = [("PATCH", break_at_once)]
    body = [{"op": "add", "path": "/metadata/finalizers/-", "value": "x"}]

    with pytest.raises(errors.ApiUnreachableError):
        await client.patch(objects.PODS, "a", body, kind="json")

    assert len(stub.seen) == 1


async def test_a_server_that_comes_back_is_found_again(stub: ApiStub, tmp_path: Path) -> None:
    file = stub.kubeconfig(tmp_path)
    port = stub.port
    async with KubeClient.connect(
        kubeconfig=file, environ={}, limits=Limits(total=60, first_contact=0)
    ) as client:
        await client.list(objects.PODS)
        await stub.__aexit__()
        asking = asyncio.create_task(client.list(objects.PODS))
        await asyncio.sleep(0.5)
        assert not asking.done()
        async with ApiStub(port=port) as again:
            await asking
            assert again.count("GET") == 1


async def test_a_hundred_requests_at_once_are_not_held_back(
    client: KubeClient, stub: ApiStub
) -> None:
    """Each waits until all have arrived: a limit on connections would hang here."""
    arrived = 0
    all_there = asyncio.Event()

    async def gather(request: web.Request, stub: ApiStub) -> None:
        nonlocal arrived
        arrived += 1
        if arrived == 150:
            all_there.set()
        await asyncio.wait_for(all_there.wait(), 60)

    stub.faults = [("GET", gather)] * 150

    async with asyncio.TaskGroup() as group:
        for _ in range(150):
            group.create_task(client.list(objects.PODS))

    assert arrived == 150


async def test_a_hundred_pods_cost_a_hundred_requests(client: KubeClient, stub: ApiStub) -> None:
    async with asyncio.TaskGroup() as group:
        for index in range(100):
            group.create_task(client.create(pod(f"p{index}")))

    assert len(stub.seen) == 100


async def test_the_path_of_the_service_proxy(client: KubeClient) -> None:
    path = client.service_proxy_path("demo-rest", "rest")

    assert path == "/api/v1/namespaces/flink-jobs/services/demo-rest:rest/proxy"
