"""The status of pods and containers, in Kubernetes' words. Pure functions.

Flink reads it: a pod without `PodScheduled=True` it does not take for one of its TaskManagers, and
a TaskManager pod whose phase is `Failed` or `Succeeded` it replaces. People read the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kubeflink.objects import JsonObject

HOST_IP = "127.0.0.1"

EMPTY_STATE: JsonObject = {"waiting": {"reason": "ContainerCreating"}}

_SIGNAL_BASE = 128


@dataclass(frozen=True, slots=True)
class ContainerView:
    """What is known of one container: its `state` and `last_state` as the API has them."""

    name: str
    image: str
    state: JsonObject = field(default_factory=lambda: EMPTY_STATE)
    last_state: JsonObject = field(default_factory=dict)
    restarts: int = 0
    ready: bool = False
    container_id: str = ""

    def waits(self, reason: str, message: str = "") -> ContainerView:
        """The same container, waiting."""
        waiting = {"reason": reason} | ({"message": message} if message else {})
        return replace(self, state={"waiting": waiting}, ready=False)

    def runs(self, started_at: str, container_id: str) -> ContainerView:
        """The same container, running since `started_at`."""
        state = {"running": {"startedAt": started_at}}
        return replace(self, state=state, ready=False, container_id=container_id)

    def ended(self, terminated: JsonObject) -> ContainerView:
        """The same container, ended."""
        return replace(self, state={"terminated": terminated}, ready=False)

    def begins_again(self) -> ContainerView:
        """The same container on its way to its next start: how it ended becomes its past."""
        return replace(self, last_state=self.state, restarts=self.restarts + 1, ready=False)

    @property
    def exit_code(self) -> int | None:
        """The exit code of a container that has ended."""
        terminated = self.state.get("terminated")
        return None if terminated is None else int(terminated["exitCode"])

    @property
    def is_running(self) -> bool:
        """Whether its process is up."""
        return "running" in self.state

    def as_status(self) -> JsonObject:
        """The entry in `containerStatuses`."""
        status: JsonObject = {
            "name": self.name,
            "image": self.image,
            "imageID": f"kubeflink://{self.image}" if self.container_id else "",
            "state": self.state,
            "lastState": self.last_state,
            "ready": self.ready,
            "started": self.is_running,
            "restartCount": self.restarts,
        }
        if self.container_id:
            status["containerID"] = self.container_id
        return status


def view_of_status(container: JsonObject, statuses: Sequence[JsonObject]) -> ContainerView:
    """What an earlier server has told of this container; a new one when it has told nothing."""
    fresh = ContainerView(container["name"], str(container.get("image", "")))
    for status in statuses:
        if status["name"] == fresh.name:
            return replace(
                fresh,
                state=status.get("state") or EMPTY_STATE,
                last_state=status.get("lastState") or {},
                restarts=int(status.get("restartCount", 0)),
                ready=bool(status.get("ready")),
                container_id=status.get("containerID", ""),
            )
    return fresh


def terminated(
    exit_code: int, started_at: str, finished_at: str, container_id: str, log_tail: str
) -> JsonObject:
    """How a container ended. The end of its log is the message, unless it ended well.

    A JVM that ran out of its own memory ends by itself; `OOMKilled` is what a limit of the same
    size would have made of it, and what people look for.
    """
    reason = "Completed" if exit_code == 0 else "Error"
    if exit_code != 0 and "java.lang.OutOfMemoryError" in log_tail:
        reason = "OOMKilled"
    state: JsonObject = {
        "exitCode": exit_code,
        "reason": reason,
        "startedAt": started_at,
        "finishedAt": finished_at,
        "containerID": container_id,
    }
    if exit_code != 0 and log_tail:
        state["message"] = log_tail
    if exit_code > _SIGNAL_BASE:
        state["signal"] = exit_code - _SIGNAL_BASE
    return state


def phase(restart_policy: str, initialized: bool, views: Sequence[ContainerView]) -> str:
    """The pod's phase from its main containers."""
    if not initialized:
        return "Pending"
    codes = [view.exit_code for view in views]
    ended = [code for code in codes if code is not None]
    if len(ended) == len(views) and restart_policy != "Always":
        if all(code == 0 for code in ended):
            return "Succeeded"
        if restart_policy == "Never":
            return "Failed"
    has_started = any(
        view.is_running or view.exit_code is not None or view.restarts for view in views
    )
    return "Running" if has_started else "Pending"


def pod_status(
    pod: JsonObject,
    *,
    now: str,
    initialized: bool,
    init_views: Sequence[ContainerView],
    views: Sequence[ContainerView],
) -> JsonObject:
    """The whole status of a pod that is on the node."""
    before = pod.get("status") or {}
    policy = pod["spec"].get("restartPolicy", "Always")
    current = phase(policy, initialized, views)
    ready = bool(views) and all(view.ready for view in views)
    done = current == "Succeeded"
    waiting_for = ", ".join(view.name for view in views if not view.ready)
    unready = {
        "reason": "PodCompleted" if done else "ContainersNotReady",
        "message": "" if done else f"containers with unready status: [{waiting_for}]",
    }
    status: JsonObject = {
        **{key: before[key] for key in ("startTime", "reason", "message") if key in before},
        "phase": current,
        "hostIP": HOST_IP,
        "hostIPs": [{"ip": HOST_IP}],
        "podIP": HOST_IP,
        "podIPs": [{"ip": HOST_IP}],
        "qosClass": "Burstable",
        "conditions": _conditions(
            before.get("conditions") or (),
            now,
            {
                "PodScheduled": (True, {}),
                "Initialized": (initialized, {"reason": "ContainersNotInitialized"}),
                "ContainersReady": (ready, unready),
                "Ready": (ready, unready),
            },
        ),
        "containerStatuses": [view.as_status() for view in views],
    }
    status.setdefault("startTime", now)
    if init_views:
        status["initContainerStatuses"] = [view.as_status() for view in init_views]
    return status


def unschedulable(pod: JsonObject, now: str, message: str) -> JsonObject:
    """The status of a pod that fits on no node."""
    before = pod.get("status") or {}
    conditions = {"PodScheduled": (False, {"reason": "Unschedulable", "message": message})}
    return {
        **before,
        "phase": "Pending",
        "conditions": _conditions(before.get("conditions") or (), now, conditions),
    }


def _conditions(
    before: Sequence[JsonObject], now: str, wanted: Mapping[str, tuple[bool, JsonObject]]
) -> list[JsonObject]:
    """The conditions, each with the time of its last change; details belong to those not met."""
    known = {condition["type"]: condition for condition in before}
    conditions = []
    for kind, (holds, details) in wanted.items():
        status = "True" if holds else "False"
        old = known.get(kind)
        since = old["lastTransitionTime"] if old and old["status"] == status else now
        told = {} if holds else {key: value for key, value in details.items() if value}
        conditions.append({"type": kind, "status": status, "lastTransitionTime": since, **told})
    return conditions
