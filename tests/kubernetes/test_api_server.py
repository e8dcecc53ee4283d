"""The embedded API server and a real one, asked the same: do they answer the same?

Compared are, of each answer, code, reason, kind, and what a 422 complains about. Where the two
differ on purpose, `ON_PURPOSE` says why, and the difference has to be there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest

from kubeflink.apiserver.server import ApiServer
from kubeflink.apiserver.store import ObjectStore
from kubeflink.kube.client import KubeClient
from kubeflink.objects import JsonObject
from support.api_calls import CONVERSATIONS, ON_PURPOSE, answer, differences
from support.control_plane import ApiServerProgram, ControlPlane
from support.real_cluster import eventually


@pytest.fixture(scope="module")
def lonely(control_plane: ControlPlane) -> Iterator[ApiServerProgram]:
    """A real API server with objects of its own, which no controller looks at."""
    flags = ("--etcd-prefix=/alone", "--disable-admission-plugins=ServiceAccount")
    with control_plane.another_apiserver("kube-apiserver-alone", *flags) as server:
        yield server


@pytest.fixture
async def real(
    control_plane: ControlPlane, lonely: ApiServerProgram
) -> AsyncIterator[httpx2.AsyncClient]:
    kubeconfig = control_plane.kubeconfig(server=lonely.url)
    async with KubeClient.connect(kubeconfig=kubeconfig, environ={}) as client:

        async def has_a_namespace() -> bool:
            return (await client.http.get("/api/v1/namespaces/default")).is_success

        await eventually(has_a_namespace, "the namespace default")
        yield client.http


@pytest.fixture
async def embedded() -> AsyncIterator[httpx2.AsyncClient]:
    async with (
        ApiServer(ObjectStore(namespaces=("default", "kube-system"))) as server,
        httpx2.AsyncClient(base_url=server.url) as http,
    ):
        yield http


@pytest.mark.parametrize("conversation", CONVERSATIONS)
async def test_answers_are_the_same(
    real: httpx2.AsyncClient, embedded: httpx2.AsyncClient, conversation: str
) -> None:
    wrong = []
    known = dict(ON_PURPOSE.get(conversation, {}))
    for number, call in enumerate(CONVERSATIONS[conversation]):
        one, other = await answer(real, call), await answer(embedded, call)
        found = differences(essence(one), essence(other))
        reason = known.pop(number, "")
        if reason and not found:
            wrong.append(f"{number} {call}: there is no difference any more: {reason}")
        elif found and not reason:
            wrong.append(f"{number} {call}: {'; '.join(found)}")
    assert wrong == []


def essence(given: JsonObject) -> JsonObject:
    """What clients decide by."""
    body = given["body"] if isinstance(given["body"], dict) else {}
    details = body.get("details") or {}
    fields = {cause.get("field") for cause in details.get("causes") or ()}
    return {
        "code": given["code"],
        "reason": body.get("reason") or "",
        "kind": body.get("kind") or "",
        "about": [details.get("kind"), details.get("name"), details.get("group")],
        "fields": sorted(filter(None, fields)),
        "items": len(body.get("items") or ()),
        "data": body.get("data") or {},
        "columns": [column["name"] for column in body.get("columnDefinitions") or ()],
    }
