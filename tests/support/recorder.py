"""A recording API server: it keeps what is sent to it, and can be told to answer with errors.

It is the counterpart of the recordings of real Flink, not a Kubernetes: it validates nothing and
fills in nothing that a recorded body would not have, so that an object in the store is what the
client sent plus uid, resource version and time. What it does have is what a deployment depends on:
conflicts, stale resource versions, deletion of dependents, node ports, addresses of load balancers,
dry runs, and access reviews that are always answered with yes.

The server runs in a thread of its own and serves any client process::

    with RecordingServer(faults=[Fault("POST", "/deployments$", 500)]) as server:
        run(env={"KUBECONFIG": write(server.kubeconfig())})
    server.requests
"""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import re
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from aiohttp import web

JsonObject = dict[str, Any]

START_TIMEOUT = 60.0

_PATH = re.compile(
    r"/(?:api/v1|apis/(?P<group>[^/]+)/v1)"
    r"(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+))?(?P<rest>/.*)?"
)
_KINDS = {
    "configmaps": "ConfigMap",
    "deployments": "Deployment",
    "endpoints": "Endpoints",
    "events": "Event",
    "namespaces": "Namespace",
    "nodes": "Node",
    "pods": "Pod",
    "replicasets": "ReplicaSet",
    "secrets": "Secret",
    "serviceaccounts": "ServiceAccount",
    "services": "Service",
}
FIRST_NODE_PORT = 30001


@dataclass(frozen=True, slots=True)
class Target:
    """What a path is about; `name` is None for a collection."""

    plural: str
    namespace: str | None
    name: str | None

    @property
    def member(self) -> str:
        """`plural/name`, as scenarios list objects."""
        return f"{self.plural}/{self.name}"


def target_of(path: str) -> Target | None:
    """The target of a path; None if it belongs to no stored kind."""
    match = _PATH.fullmatch(path)
    if match is None or match["plural"] not in _KINDS or match["rest"]:
        return None
    return Target(match["plural"], match["namespace"], match["name"])


@dataclass(slots=True)
class Fault:
    """An answer to give to the next `times` requests that match; `path` is searched."""

    method: str
    path: str
    status: int
    reason: str = "InternalError"
    message: str = "injected fault"
    times: int = 1
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A request and its answer. `created_uid` is set for an object that it made."""

    method: str
    path: str
    query: Mapping[str, str]
    user_agent: str
    body: Any
    status: int
    created_uid: str | None = None

    @property
    def mutating(self) -> bool:
        """Whether it could change anything: dry runs and access reviews cannot."""
        return (
            self.method in ("POST", "PUT", "PATCH", "DELETE")
            and self.query.get("dryRun") != "All"
            and not self.path.startswith("/apis/authorization.k8s.io/")
        )

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status < 300

    @property
    def object_path(self) -> str:
        """The path of the object that it is about; for a POST that of the new object."""
        if self.method != "POST" or not isinstance(self.body, dict):
            return self.path
        return f"{self.path}/{(self.body.get('metadata') or {}).get('name')}"


class StatusError(Exception):
    """Answered as a `Status` object."""

    def __init__(self, code: int, reason: str, message: str, retry_after: int | None = None):
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.retry_after = retry_after

    def response(self) -> web.Response:
        body = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": str(self),
            "reason": self.reason,
            "code": self.code,
        }
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return web.json_response(body, status=self.code, headers=headers)


@dataclass
class Objects:
    """The objects by target, and what a server adds to them."""

    ingress: Sequence[Mapping[str, str]] = ()
    by_target: dict[Target, JsonObject] = field(default_factory=dict)
    _versions: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _node_ports: itertools.count[int] = field(
        default_factory=lambda: itertools.count(FIRST_NODE_PORT)
    )

    def get(self, target: Target) -> JsonObject:
        if target not in self.by_target:
            raise StatusError(404, "NotFound", f'{target.plural} "{target.name}" not found')
        return self.by_target[target]

    def list(self, collection: Target, selector: str) -> JsonObject:
        terms = [term.split("=", 1) for term in selector.split(",") if "=" in term]
        items = [
            obj
            for target, obj in self.by_target.items()
            if target.plural == collection.plural
            and collection.namespace in (None, target.namespace)
            and all(
                (obj["metadata"].get("labels") or {}).get(name) == value.lstrip("=")
                for name, value in terms
            )
        ]
        kind = f"{_KINDS[collection.plural]}List"
        version = str(next(self._versions))
        return {
            "kind": kind,
            "apiVersion": _api_version(collection.plural),
            "metadata": {"resourceVersion": version},
            "items": items,
        }

    def create(self, collection: Target, body: JsonObject, *, dry_run: bool = False) -> JsonObject:
        target = Target(collection.plural, collection.namespace, body["metadata"].get("name"))
        if target in self.by_target:
            raise StatusError(
                409, "AlreadyExists", f'{target.plural} "{target.name}" already exists'
            )
        obj = copy.deepcopy(body)
        obj.setdefault("kind", _KINDS[target.plural])
        obj.setdefault("apiVersion", _api_version(target.plural))
        obj["metadata"] |= {
            "uid": str(uuid.uuid4()),
            "creationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        if target.namespace is not None:
            obj["metadata"]["namespace"] = target.namespace
        self._complete(target, obj)
        return obj if dry_run else self._store(target, obj)

    def replace(self, target: Target, body: JsonObject) -> JsonObject:
        old = self.get(target)
        sent = body["metadata"].get("resourceVersion")
        if sent not in (None, old["metadata"]["resourceVersion"]):
            raise StatusError(
                409, "Conflict", f'{target.plural} "{target.name}": the object has been modified'
            )
        obj = copy.deepcopy(body)
        for name in ("uid", "creationTimestamp", "namespace"):
            if name in old["metadata"]:
                obj["metadata"][name] = old["metadata"][name]
        return self._store(target, obj)

    def delete(self, target: Target, options: Any) -> JsonObject:
        obj = self.get(target)
        preconditions = (options or {}).get("preconditions") or {}
        if preconditions.get("uid") not in (None, obj["metadata"]["uid"]):
            raise StatusError(409, "Conflict", "the UID in the precondition does not match")
        del self.by_target[target]
        gone = obj["metadata"]["uid"]
        for other, dependent in list(self.by_target.items()):
            owners = dependent["metadata"].get("ownerReferences") or ()
            if any(owner["uid"] == gone for owner in owners) and other in self.by_target:
                self.delete(other, None)
        return obj

    def snapshot(self) -> dict[Target, JsonObject]:
        return copy.deepcopy(self.by_target)

    def _store(self, target: Target, obj: JsonObject) -> JsonObject:
        obj["metadata"]["resourceVersion"] = str(next(self._versions))
        self.by_target[target] = obj
        return obj

    def _complete(self, target: Target, obj: JsonObject) -> None:
        spec = obj.setdefault("spec", {}) if target.plural in ("services", "deployments") else {}
        if target.plural == "deployments":
            replicas = spec.get("replicas", 1)
            obj["status"] = {
                "replicas": replicas,
                "readyReplicas": replicas,
                "availableReplicas": replicas,
            }
        elif target.plural == "services":
            spec.setdefault("clusterIP", "10.96.0.1")
            if spec.get("type") in ("NodePort", "LoadBalancer"):
                for port in spec.get("ports") or ():
                    port.setdefault("nodePort", next(self._node_ports))
            balancer = {"ingress": [dict(each) for each in self.ingress]} if self.ingress else {}
            obj["status"] = {"loadBalancer": balancer if spec.get("type") == "LoadBalancer" else {}}


def _api_version(plural: str) -> str:
    return "apps/v1" if plural in ("deployments", "replicasets") else "v1"


class RecordingServer:
    """Serves `objects` on a free port of 127.0.0.1 while it is entered."""

    def __init__(
        self, faults: Sequence[Fault] = (), ingress: Sequence[Mapping[str, str]] = ()
    ) -> None:
        self.objects = Objects(ingress)
        self.faults = list(faults)
        self.warnings: list[str] = []
        """`Warning` headers of each answer."""
        self.requests: list[Request] = []
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="recorder", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(START_TIMEOUT), "the recorder did not start"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kubeconfig(self) -> str:
        """A kubeconfig with the contexts that the scenarios know."""
        cluster = {"name": "recorder", "cluster": {"server": self.url}}
        contexts = [
            {"name": "test", "context": {"cluster": "recorder", "user": "u"}},
            {
                "name": "other",
                "context": {"cluster": "recorder", "user": "u", "namespace": "ctx-ns"},
            },
        ]
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "test",
                "clusters": [cluster],
                "users": [{"name": "u", "user": {}}],
                "contexts": contexts,
            }
        )

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._until_stopped())
        finally:
            self._loop.close()

    async def _until_stopped(self) -> None:
        self._stop = asyncio.Event()
        runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=0.1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.port = runner.addresses[0][1]
            self._started.set()
            await self._stop.wait()
        finally:
            await runner.cleanup()

    async def _handle(self, incoming: web.BaseRequest) -> web.StreamResponse:
        text = await incoming.text()
        body = json.loads(text) if text else None
        created = None
        try:
            self._fail(incoming.method, incoming.path)
            answer, status = self._answer(incoming, body)
            if status == 201 and "metadata" in answer:
                created = answer["metadata"].get("uid")
            response: web.Response = web.json_response(answer, status=status)
        except StatusError as error:
            response = error.response()
        for warning in self.warnings:
            response.headers.add("Warning", warning)
        self.requests.append(
            Request(
                method=incoming.method,
                path=incoming.path,
                query=dict(incoming.query),
                user_agent=incoming.headers.get("User-Agent", ""),
                body=body,
                status=response.status,
                created_uid=created,
            )
        )
        return response

    def _fail(self, method: str, path: str) -> None:
        for fault in self.faults:
            if fault.times > 0 and fault.method == method and re.search(fault.path, path):
                fault.times -= 1
                raise StatusError(fault.status, fault.reason, fault.message, fault.retry_after)

    def _answer(self, incoming: web.BaseRequest, body: Any) -> tuple[JsonObject, int]:
        if incoming.path.startswith("/apis/authorization.k8s.io/"):
            return body | {"status": {"allowed": True}}, 201
        target = target_of(incoming.path)
        if target is None:
            raise StatusError(404, "NotFound", "the server could not find the requested resource")
        dry_run = incoming.query.get("dryRun") == "All"
        method = incoming.method
        if method == "GET" and target.name is None:
            return self.objects.list(target, incoming.query.get("labelSelector", "")), 200
        if method == "GET":
            return self.objects.get(target), 200
        if method == "POST":
            return self.objects.create(target, body, dry_run=dry_run), 201
        if method == "PUT" and target.name is not None:
            return self.objects.replace(target, body), 200
        if method == "DELETE" and target.name is not None:
            return self.objects.delete(target, body), 200
        raise StatusError(405, "MethodNotAllowed", f"the server does not allow {method} here")
