"""What the recorded JobManagers asked for, asked of a broker: each recording, request by request.

A scripted JobManager sends what the real one sent, in its order; the API server behind the broker
gives the recorded answers, and what was done to pods then is done to them again. What the broker
tells the JobManager, and what it sends to the API server itself, has to be what was recorded, or
one of `DIFFERENCES`, each of which has a reason (`docs/broker.md` tells them as well).

That the pods are the recorded ones is shown by `test_broker_pods`.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kubeflink import objects
from kubeflink.apiserver.deletion import DeleteOptions
from kubeflink.apiserver.faults import Fault, FaultPlan
from kubeflink.apiserver.server import ApiServer
from kubeflink.apiserver.store import ObjectStore
from kubeflink.broker.driver import Timing
from kubeflink.broker.process import ONE_ATTEMPT, Broker, Listening
from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import ForbiddenError
from kubeflink.kube import KubeClient
from kubeflink.objects import JsonObject, owner_reference
from support.broker import TOKEN, Events, blueprint_of, kubeconfig, until
from support.objects import Client
from support.recorder import Request
from support.scenarios import Scenario, load_scenarios

PATIENT = Timing(answer=30.0, refused_first=0.01, refused_longest=0.02, retry_first=0.001)
NOW = DeleteOptions(grace_period=0)
RUNNING = {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}]}


# --- the differences ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a broker does something else, and why.

    It is about requests whose `METHOD path status` matches `request`, in recordings whose name
    matches `recording`, `times` at most. `told`: the status that the JobManager gets; None: a real
    JobManager does not come to ask. `sent`: the methods of what goes to the API server.
    """

    request: str
    told: int | None
    sent: tuple[str, ...]
    reason: str
    recording: str = ""
    times: int | None = None

    def is_about(self, name: str, request: Request) -> bool:
        text = f"{request.method} {request.path} {request.status}"
        return bool(re.search(self.request, text) and re.search(self.recording, name))


DIFFERENCES = (
    Difference(
        r"DELETE .*/pods/.* 404",
        told=404,
        sent=(),
        reason="the broker knows which pods there are, and need not ask",
    ),
    Difference(
        r"PATCH .*/configmaps/.* 200",
        told=200,
        sent=("PUT",),
        reason="a broker has no right to patch: it writes what it has read, by its version",
    ),
    Difference(
        r"PATCH .*/configmaps/.* 409",
        told=409,
        sent=(),
        reason="the broker has read the ConfigMap, and sees that the version is an old one",
    ),
    Difference(
        r"DELETE .*/deployments/demo 200",
        told=403,
        sent=(),
        reason="a session is not ended by whoever reaches the REST API",
        recording="shutdown-rest",
    ),
    Difference(
        r"POST .*/pods 500",
        told=201,
        sent=("POST",) * 13,
        reason="the broker tries again by itself for as long as the JobManager waits",
        recording="create-500-few",
        times=1,
    ),
    Difference(
        r"POST .*/pods (500|201)",
        told=None,
        sent=(),
        reason="the JobManager has its pod from the first request",
        recording="create-500-few",
    ),
    Difference(
        r"GET .*/pods 101",
        told=None,
        sent=(),
        reason="when the API server closes watches, those of the JobManager stay open",
        recording="event-watch-closed",
        times=1,
    ),
)

WITHOUT_AN_ANSWER = {
    "2.3.0/list-403": "a broker that may not list pods ends and says why; its JobManager finds "
    "nobody, and ends as it does by itself",
}


@dataclass(frozen=True, slots=True)
class Expected:
    """A request of the script, and what has to come of it."""

    request: Request
    told: int | None
    sent: tuple[str, ...]


def expectations(scenario: Scenario) -> list[Expected]:
    """The recorded requests with the recorded outcome, or the different one."""
    left = {each: each.times for each in DIFFERENCES}
    found = []
    for raw, request in zip(scenario.raw["requests"], scenario.requests, strict=True):
        sent = () if request.method == "GET" else (request.method,)
        expected = Expected(request, request.status, sent)
        after_close = raw.get("phase") == "all watch connections closed by the server"
        for difference in DIFFERENCES:
            if not difference.is_about(scenario.name, request) or left[difference] == 0:
                continue
            if difference.recording == "event-watch-closed" and not after_close:
                continue
            if (times := left[difference]) is not None:
                left[difference] = times - 1
            expected = replace(expected, told=difference.told, sent=difference.sent)
            break
        found.append(expected)
    return found


# --- the script --------------------------------------------------------------------------------


def label(action: list[Any]) -> str | None:
    """The phase that an action of a recording begins; None: it begins none."""
    match action:
        case ["pod_status", name, *_]:
            return f"pod {name} status set"
        case ["pod_delete", name, *_]:
            return f"pod {name} deleted by somebody else"
        case ["restart", *_]:
            return "jobmanager killed and started again"
        case ["drop_watches", *_]:
            return "all watch connections closed by the server"
        case ["rest", method, path, *_]:
            return f"REST {method} {path}"
        case ["job", parallelism, *_]:
            return f"job with parallelism {parallelism} submitted"
        case ["cancel", *_]:
            return "job cancelled over REST"
    return None


@dataclass
class Replay:
    """A broker with its API server, and the JobManager that follows the script."""

    scenario: Scenario
    store: ObjectStore
    server: ApiServer
    faults: FaultPlan
    broker: Broker
    session: aiohttp.ClientSession
    namespace: str
    watches: AsyncExitStack = field(default_factory=AsyncExitStack)
    events: Events | None = None
    versions: dict[str, JsonObject] = field(default_factory=dict)
    listed: str = "0"
    read: JsonObject = field(default_factory=dict)

    async def run(self) -> None:
        """All of the script: what was asked for at each phase, and what was done in between."""
        script = list(zip(self.scenario.raw["requests"], expectations(self.scenario), strict=True))
        phase = script[0][0].get("phase") if script else None
        actions = [each for each in self.scenario.raw.get("actions") or () if label(each)]
        if actions and label(actions[0]) == phase:
            actions.pop(0)
        await self._ask(expected for raw, expected in script if raw.get("phase") == phase)
        for action in self.scenario.raw.get("actions") or ():
            if action[0] == "pods_running":
                for pod in (await self.store.list(objects.PODS, self.namespace)).items:
                    await self._set_status(objects.name_of(pod), RUNNING)
            if action not in actions:
                continue
            await self._act(action)
            phase = label(action)
            await self._ask(expected for raw, expected in script if raw.get("phase") == phase)

    async def _ask(self, script: Iterator[Expected]) -> None:
        for expected in script:
            if expected.told is None:
                continue
            before = len(self._writes())
            status = await self._send(expected.request)
            what = f"{expected.request.method} {expected.request.path}"
            assert status == expected.told, f"{what}: {status} is told, {expected.told} expected"
            requests = self._sent(before, expected.request.path)
            sent = [method for method, _ in requests]
            assert sent == list(expected.sent), f"{what}: {sent} is sent, not {expected.sent}"
            paths = {path.partition("?")[0] for _, path in requests}
            assert paths <= {expected.request.path}, f"{what}: {paths}"

    def _writes(self) -> list[tuple[str, str]]:
        return [request for request in self.faults.requests if request[0] != "GET"]

    def _sent(self, before: int, asked: str) -> list[tuple[str, str]]:
        """What was written since, but for the broker's note, which comes when it comes."""
        own = "" if "/services/" in asked else "/services/"
        return [each for each in self._writes()[before:] if not own or own not in each[1]]

    # What the JobManager does

    async def _send(self, request: Request) -> int:
        if request.query.get("watch") == "true":
            return await self._watch(request)
        body = self._body(request)
        kind = "application/json; charset=utf-8"
        if request.method == "PATCH":
            kind = "application/merge-patch+json; charset=utf-8"
        async with self.session.request(
            request.method,
            f"{self.broker.server.url}{request.path}",
            params=dict(request.query),
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": kind},
        ) as answer:
            told = json.loads(await answer.read())
        if answer.status < 300:
            self.listed = objects.metadata(told).get("resourceVersion") or self.listed
            if told.get("kind") in ("ConfigMap", "Service"):
                self.read = told
            if request.method == "DELETE" and "/deployments/" in request.path:
                await self._collect_garbage()
        return answer.status

    async def _watch(self, request: Request) -> int:
        query = dict(request.query)
        if query.get("resourceVersion") not in (None, "0"):
            query["resourceVersion"] = self.listed
        url = f"{self.broker.server.url}{request.path}"
        socket = await self.watches.enter_async_context(self.session.ws_connect(url, params=query))
        if "/pods" in request.path:
            self.events = Events(socket)
        return 101

    def _body(self, request: Request) -> Any:
        """The recorded body, with the versions, ids and times of this run."""
        body = json.loads(json.dumps(request.body))
        if not isinstance(body, dict) or body["kind"] not in ("ConfigMap", "Service"):
            return body
        text = json.dumps(body).replace("${TIME}", f"time of request {len(self.faults.requests)}")
        body = json.loads(text)
        metadata = body["metadata"]
        if (recorded := metadata.get("resourceVersion")) is not None:
            read = self.versions.setdefault(recorded, self.read)["metadata"]
            metadata["resourceVersion"] = read["resourceVersion"]
            if request.method == "PUT":  # what was read goes back with other data
                metadata["annotations"] = read.get("annotations") or {}
        return body

    # What is done to pods

    async def _act(self, action: list[Any]) -> None:
        match action:
            case ["pod_status", name, status, *_]:
                await self._set_status(name, status)
            case ["pod_delete", name, *_]:
                await self.store.delete(objects.PODS, self.namespace, name, NOW)
                assert self.events is not None
                await self.events.until("DELETED", name)
            case ["restart", *_]:
                await self.watches.aclose()
                self.events = None
            case ["drop_watches", *_]:
                self.server.close_watches()

    async def _set_status(self, name: str, status: JsonObject) -> None:
        """The pod gets the status, and the JobManager is told so."""
        pod = await self.store.get(objects.PODS, self.namespace, name)
        pod["status"] = {**(pod.get("status") or {}), **status}
        await self.store.replace(objects.PODS, self.namespace, pod, subresource="status")
        assert self.events is not None
        while True:
            shown = (await self.events.until("MODIFIED", name))["status"]
            if shown.get("phase") == status.get("phase"):
                break
        assert _read_by_flink(shown) == _read_by_flink(status)

    async def _collect_garbage(self) -> None:
        """What the Deployment owned goes at once; the recorded server did so as well."""
        for pod in (await self.store.list(objects.PODS, self.namespace)).items:
            await self.store.delete(objects.PODS, self.namespace, objects.name_of(pod), NOW)

        async def noticed() -> bool:
            return not self.broker.pods.objects

        await until(noticed)

    async def check_watch(self) -> None:
        """A watch that the API server has closed has cost the JobManager nothing."""
        for name in self.broker.pods.objects:
            await self._set_status(name, {"phase": "Running"})


def _read_by_flink(status: JsonObject) -> JsonObject:
    """What Flink's driver looks at."""
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    containers = [each.get("state") for each in status.get("containerStatuses") or ()]
    keys = ("phase", "reason", "message")
    return {**{key: status.get(key) for key in keys}, "of": [conditions, containers]}


@asynccontextmanager
async def replay(scenario: Scenario, directory: Path) -> AsyncIterator[Replay]:
    """The recording's cluster, deployed, with its broker."""
    client = Client(directory, scenario)
    built = client.spec()
    store, faults, namespace = ObjectStore(), FaultPlan(), built.namespace
    for fault in scenario.faults:
        path, told = fault.path.replace("$", r"(\?|$)"), fault.message or "as recorded"
        faults.add(Fault(path, fault.method, fault.times, status=fault.status, message=told))
    async with ApiServer(store, faults=faults) as server:
        if namespace != "default":
            await store.create(objects.NAMESPACES, None, {"metadata": {"name": namespace}})
        deployment = await store.create(objects.DEPLOYMENTS, namespace, built.deployment)
        owner = [owner_reference(deployment)]
        for obj in built.accompanying:
            if obj["kind"] == "Service":
                owned = {**obj, "metadata": {**obj["metadata"], "ownerReferences": owner}}
                await store.create(objects.SERVICES, namespace, owned)
        known = blueprint_of(built, deployment, directory, FlinkVersion.parse(scenario.version))
        config = kubeconfig(server, directory)
        async with (
            KubeClient.connect(kubeconfig=config, environ={}, limits=ONE_ATTEMPT) as kube,
            Broker(kube, known, Listening(TOKEN, None), timing=PATIENT) as broker,
            aiohttp.ClientSession(headers={"Authorization": f"Bearer {TOKEN}"}) as session,
        ):
            await broker.ready()
            made = Replay(scenario, store, server, faults, broker, session, namespace)
            async with made.watches:
                yield made


RECORDINGS = load_scenarios("jobmanager")


@pytest.mark.parametrize("scenario", RECORDINGS, ids=lambda scenario: scenario.name)
async def test_the_broker_answers_as_recorded(scenario: Scenario, tmp_path: Path) -> None:
    if scenario.name in WITHOUT_AN_ANSWER:
        with pytest.raises(ForbiddenError):
            async with replay(scenario, tmp_path):
                pass
        return
    async with replay(scenario, tmp_path) as made:
        await made.run()
        if made.scenario.raw["id"] == "event-watch-closed":
            await made.check_watch()
        left = {objects.name_of(pod) for pod in (await made.store.list(objects.PODS)).items}
        assert left == set(_workers_at_the_end(scenario))


def _workers_at_the_end(scenario: Scenario) -> Iterator[str]:
    """The pods that the recording has left in the server, or that a difference has spared."""
    names: dict[str, None] = {}
    for expected in expectations(scenario):
        request, told = expected.request, expected.told
        if request.method == "POST" and told == 201 and request.path.endswith("/pods"):
            names[request.body["metadata"]["name"]] = None
        if request.method == "DELETE" and told in (200, 404):
            name = request.path.rsplit("/", 1)[-1]
            if "/deployments/" in request.path:
                names.clear()
            names.pop(name, None)
    yield from names


def test_each_difference_has_a_recording() -> None:
    """One that nothing needs any more is to be removed."""
    used = {
        difference
        for scenario in RECORDINGS
        for request in scenario.requests
        for difference in DIFFERENCES
        if difference.is_about(scenario.name, request)
    }
    assert used == set(DIFFERENCES)
    assert WITHOUT_AN_ANSWER.keys() <= {scenario.name for scenario in RECORDINGS}
