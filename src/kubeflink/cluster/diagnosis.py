"""Why a pod does not run, in one sentence and with what to do about it.

Pure functions over what the API server tells: conditions, container states, events, and the end of
a log. They look from the outside in, and the first that finds something wins: was a pod made at
all, was it given a node, do its volumes and its image exist, did its process live.

Some causes pass by themselves (no node is free: an autoscaler may add one), some look final and are
not for a moment (a ConfigMap that is being created). `patience` says for how long a cause has to
last before it is taken for final; None means that only the caller's own limit ends the wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kubeflink import objects
from kubeflink.cluster.log_diagnosis import explain_log, explain_own_log
from kubeflink.kube import next_step
from kubeflink.objects import JsonObject
from kubeflink.spec import names

_Json = Mapping[str, Any]

SECONDS_FOR_REFERENCES: Final = 20.0
"""A missing ConfigMap, Secret or volume may be on its way."""

SECONDS_FOR_REGISTRY: Final = 25.0
"""A registry may have hiccups; the kubelet's second attempt comes after ten seconds."""


SECONDS_FOR_RESTART: Final = 20.0
"""A container that ended is started again; the second end is `CrashLoopBackOff`, which is final."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One cause. `patience` is in seconds, see above; `kind` stays while the words change."""

    kind: str
    sentence: str
    hint: str | None = None
    patience: float | None = None

    @property
    def stage(self) -> str:
        """How it is told while it is waited for whether it passes.

        In short where it cannot be long until an error tells all of it.
        """
        return self.sentence if self.patience is None else _SO_FAR.get(self.kind, self.sentence)


_STARTED_AGAIN = "its container has ended and is started again"

_SO_FAR: Final[Mapping[str, str]] = {
    "creation": "no pod can be created so far",
    "image": "the image cannot be pulled so far",
    "reference": "what the container refers to is missing so far",
    "FailedMount": "a volume cannot be mounted so far",
    "container": "the container cannot be started so far",
    "exit": _STARTED_AGAIN,
    "memory": _STARTED_AGAIN,
}


@dataclass(slots=True)
class Course:
    """How a cause has been seen to last. Times are in seconds on any clock that only goes on."""

    seen: Diagnosis | None = None
    since: float = 0.0

    def note(self, found: Diagnosis | None, now: float) -> bool:
        """Takes in what was just seen; whether that is news, and not the same in other words."""
        is_news = found is None or self.seen is None or found.kind != self.seen.kind
        if is_news:
            self.since = now
        self.seen = found
        return is_news

    def is_final(self, now: float) -> bool:
        """Whether the cause has lasted for so long that it will not pass by itself."""
        if self.seen is None or self.seen.patience is None:
            return False
        return now - self.since >= self.seen.patience


@dataclass(frozen=True, slots=True)
class Observed:
    """What was seen of a component: its Deployment if it has one, pods, their events and logs.

    `events` and `logs` are by pod name; the log of a container that was restarted is that of its
    last run.
    """

    deployment: JsonObject | None = None
    pods: Sequence[JsonObject] = ()
    events: Mapping[str, Sequence[JsonObject]] = field(default_factory=dict)
    logs: Mapping[str, str] = field(default_factory=dict)


def diagnose(observed: Observed) -> Diagnosis | None:
    """The cause that is nearest to the root; None while nothing is wrong."""
    if not observed.pods and observed.deployment is not None:
        return explain_deployment(observed.deployment)
    for pod in observed.pods:
        name = objects.name_of(pod)
        found = explain_pod(pod, observed.events.get(name, ()), observed.logs.get(name, ""))
        if found is not None:
            return found
    return None


def explain_deployment(deployment: JsonObject) -> Diagnosis | None:
    """Why a Deployment has no pods: none are wanted, quota, admission, service account."""
    name = objects.name_of(deployment)
    if (deployment.get("spec") or {}).get("replicas") == 0:
        where = objects.namespace_of(deployment)
        scale = next_step.kubectl(f"scale deployment {name} --replicas=1", where)
        return Diagnosis(
            "scale", f"Deployment {name} is scaled to none", f"Scale it: {scale}", patience=5.0
        )
    for condition in (deployment.get("status") or {}).get("conditions") or ():
        is_failure = (condition.get("type"), condition.get("status")) == ("ReplicaFailure", "True")
        if not is_failure:
            continue
        told = str(condition.get("message") or condition.get("reason") or "")
        return Diagnosis(
            "creation",
            f"No pod of Deployment {name} can be created: {_one_line(told)}",
            _creation_hint(deployment, told),
            patience=5.0,
        )
    return None


def explain_pod(
    pod: JsonObject, events: Sequence[JsonObject] = (), log: str = ""
) -> Diagnosis | None:
    """Why one pod does not run, or ended."""
    status: _Json = pod.get("status") or {}
    what = _title(pod)
    if status.get("phase") == "Failed" and status.get("reason"):
        return _ended(what, status)
    unscheduled = _unscheduled(what, pod, status)
    if unscheduled is not None:
        return unscheduled
    for container in _container_statuses(status):
        found = _explain_container(what, pod, container, log)
        if found is not None:
            return found
    return _from_events(what, events)


def explain_termination(pod: JsonObject, log: str = "") -> Diagnosis | None:
    """How the main container of a pod ended; None if it did not, or ended well."""
    for container in _container_statuses(pod.get("status") or {}):
        state: _Json = container.get("state") or {}
        terminated = state.get("terminated") or (container.get("lastState") or {}).get("terminated")
        if terminated and terminated.get("exitCode") != 0:
            return _terminated(_title(pod), pod, container, terminated, log)
    return None


def _explain_container(what: str, pod: JsonObject, container: _Json, log: str) -> Diagnosis | None:
    state: _Json = container.get("state") or {}
    waiting: _Json | None = state.get("waiting")
    last: _Json | None = (container.get("lastState") or {}).get("terminated")
    ended: _Json | None = state.get("terminated")
    if waiting and waiting.get("reason") == "CrashLoopBackOff":
        return _terminated(what, pod, container, last or {}, log, patience=0.0)
    if waiting:
        return _waiting(what, pod, container, waiting)
    if ended and ended.get("exitCode") != 0:
        is_final = (pod.get("spec") or {}).get("restartPolicy") == "Never"
        patience = 0.0 if is_final else SECONDS_FOR_RESTART
        return _terminated(what, pod, container, ended, log, patience)
    if last and not container.get("ready") and int(container.get("restartCount") or 0) > 1:
        return _terminated(what, pod, container, last, log, patience=None)
    return None


def _waiting(what: str, pod: JsonObject, container: _Json, waiting: _Json) -> Diagnosis | None:
    reason, told = str(waiting.get("reason") or ""), _one_line(str(waiting.get("message") or ""))
    image = container.get("image") or "?"
    detail = f": {told}" if told else ""
    match reason:
        case "ErrImagePull" | "ImagePullBackOff" | "RegistryUnavailable":
            return Diagnosis(
                "image",
                f"{what}: its image {image} cannot be pulled ({reason}{detail})",
                f"Check {_image_option(pod)}, and kubernetes.container.image.pull-secrets"
                " for a private registry",
                SECONDS_FOR_REGISTRY,
            )
        case "ErrImageNeverPull":
            return Diagnosis(
                "image",
                f"{what}: its image {image} is not on the node and may not be pulled ({reason})",
                "Load the image into the nodes, or set"
                " kubernetes.container.image.pull-policy=IfNotPresent",
                0.0,
            )
        case "InvalidImageName":
            return Diagnosis(
                "image",
                f"{what}: {image} is no valid image name",
                f"Check {_image_option(pod)}",
                0.0,
            )
        case "CreateContainerConfigError":
            return Diagnosis(
                "reference",
                f"{what}: the container refers to something that is missing ({told or reason})",
                "Create it, or check kubernetes.env.secretKeyRef and the pod template",
                SECONDS_FOR_REFERENCES,
            )
        case "CreateContainerError" | "RunContainerError" | "StartError":
            return Diagnosis(
                "container",
                f"{what}: the container cannot be started ({reason}{detail})",
                "Check kubeflink.broker.image, which has to have the command kubeflink"
                if component_of(pod) == names.BROKER
                else "Check kubernetes.entry.path and the mounts of the pod template",
                SECONDS_FOR_REFERENCES,
            )
    return None


def _terminated(
    what: str,
    pod: JsonObject,
    container: _Json,
    terminated: _Json,
    log: str,
    patience: float | None = 0.0,
) -> Diagnosis:
    reason, code = terminated.get("reason"), terminated.get("exitCode")
    if reason == "OOMKilled":
        limit = _limit_of(pod, str(container.get("name") or ""), "memory")
        return Diagnosis(
            "memory",
            f"{what} was OOMKilled: it used more memory than its limit"
            + (f" of {limit}" if limit else ""),
            _memory_hint(pod),
            patience,
        )
    told = str(terminated.get("message") or "")
    own = explain_own_log(log or told) if component_of(pod) == names.BROKER else None
    finding = own or explain_log(log or told, of_process=_is_process(container))
    ended = f"{what} ended with exit code {code}" if code is not None else f"{what} keeps ending"
    if finding is not None:
        return Diagnosis("exit", f"{ended}: {finding.sentence}", finding.hint, patience)
    last = _last_line(log or told)
    return Diagnosis("exit", f"{ended}: {last}" if last else ended, None, patience)


def _ended(what: str, status: _Json) -> Diagnosis:
    reason, told = status["reason"], _one_line(str(status.get("message") or ""))
    hint = None
    if reason == "Evicted":
        hint = "The node ran short of memory or disk; give the pod what it really uses"
    return Diagnosis(
        "end", f"{what}: {reason}" + (f" ({told})" if told else ""), hint, patience=10.0
    )


def _unscheduled(what: str, pod: JsonObject, status: _Json) -> Diagnosis | None:
    for condition in status.get("conditions") or ():
        if (condition.get("type"), condition.get("status")) != ("PodScheduled", "False"):
            continue
        told = _one_line(str(condition.get("message") or condition.get("reason") or ""))
        asked = ", ".join(f"{kind} {amount}" for kind, amount in _requests_of(pod).items())
        return Diagnosis(
            "scheduling",
            f"{what} gets no node: {told}" + (f" (it asks for {asked})" if asked else ""),
            _scheduling_hint(pod, told),
        )
    return None


_EVENT_HINTS: Final[Mapping[str, str]] = {
    "FailedMount": "Create what is missing, or correct the name in the options or the pod template",
    "FailedAttachVolume": "Check the volume and where it is attached now",
    "FailedCreatePodSandBox": "The node's network or runtime has a problem; see its events",
    "FailedScheduling": "Ask for less, or add nodes",
}


def _from_events(what: str, events: Iterable[JsonObject]) -> Diagnosis | None:
    for event in reversed(list(events)):
        reason = str(event.get("reason") or "")
        if event.get("type") == "Warning" and reason in _EVENT_HINTS:
            told = _one_line(str(event.get("message") or ""))
            patience = SECONDS_FOR_REFERENCES if reason == "FailedMount" else None
            return Diagnosis(reason, f"{what}: {reason}: {told}", _EVENT_HINTS[reason], patience)
    return None


def _title(pod: JsonObject) -> str:
    kind = {
        names.JOBMANAGER: "JobManager pod",
        names.TASKMANAGER: "TaskManager",
        names.BROKER: "Broker pod",
    }
    return f"{kind.get(component_of(pod), 'Pod')} {objects.name_of(pod)}"


def component_of(obj: JsonObject) -> str:
    """What an object is of its cluster: `jobmanager`, `taskmanager`, `broker`; or empty."""
    return str(objects.labels_of(obj).get(names.LABEL_COMPONENT) or "")


def _container_statuses(status: _Json) -> list[_Json]:
    """Init containers first, as they start; Flink's own before those of a pod template."""
    main = list(status.get("containerStatuses") or ())
    main.sort(key=lambda container: container.get("name") != names.MAIN_CONTAINER)
    return [*(status.get("initContainerStatuses") or ()), *main]


def _container_spec(pod: JsonObject, name: str) -> _Json:
    spec: _Json = pod.get("spec") or {}
    for container in spec.get("containers") or ():
        if container.get("name") == name:
            found: _Json = container
            return found
    return {}


def _is_process(container: _Json) -> bool:
    """Whether it is none but a process of its node, as on the embedded Kubernetes."""
    states = (container.get("state") or {}, container.get("lastState") or {})
    ids = [str((state.get("terminated") or {}).get("containerID")) for state in states]
    return any(each.startswith("process://") for each in (str(container.get("containerID")), *ids))


def _limit_of(pod: JsonObject, container: str, kind: str) -> str | None:
    resources = _container_spec(pod, container).get("resources") or {}
    return (resources.get("limits") or {}).get(kind)


def _requests_of(pod: JsonObject) -> Mapping[str, str]:
    main = names.BROKER if component_of(pod) == names.BROKER else names.MAIN_CONTAINER
    resources = _container_spec(pod, main).get("resources") or {}
    return resources.get("requests") or {}


def _image_option(pod: JsonObject) -> str:
    if component_of(pod) == names.BROKER:
        return "kubeflink.broker.image"
    return "kubernetes.container.image.ref"


def _memory_hint(pod: JsonObject) -> str:
    if component_of(pod) == names.BROKER:
        return "Raise kubeflink.broker.memory.size"
    role = "taskmanager" if component_of(pod) == names.TASKMANAGER else "jobmanager"
    return (
        f"Raise {role}.memory.process.size, or {role}.memory.jvm-overhead.fraction if native"
        " memory grows (RocksDB, Python workers)"
    )


def _scheduling_hint(pod: JsonObject, told: str) -> str | None:
    if "Insufficient" in told:
        return "Ask for less cpu or memory, or add nodes"
    if component_of(pod) == names.BROKER:
        return "A broker takes any node without taints; none is free for it"
    if "taint" in told:
        return "Set kubernetes.jobmanager.tolerations and kubernetes.taskmanager.tolerations"
    if "affinity" in told or "selector" in told:
        return "Check kubernetes.jobmanager.node-selector and kubernetes.taskmanager.node-selector"
    if "persistentvolumeclaim" in told.lower():
        return "Check the PersistentVolumeClaim's name and whether it can be bound"
    return None


def _creation_hint(deployment: JsonObject, told: str) -> str | None:
    if "serviceaccount" in told.lower():
        family = "kubeflink.broker" if component_of(deployment) == names.BROKER else "kubernetes"
        return f"Create the service account, or set {family}.service-account to one that exists"
    if "exceeded quota" in told:
        return "Ask for less, or have the namespace's ResourceQuota raised"
    if "violates PodSecurity" in told:
        return (
            "Give the containers a securityContext in a pod template"
            " (kubernetes.pod-template-file.default), or choose another namespace"
        )
    return None


def _one_line(text: str, limit: int = 300) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= limit else f"{joined[: limit - 3]}..."


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return _one_line(lines[-1]) if lines else ""
