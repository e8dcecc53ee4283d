"""Clusters in a few words: the smallest configuration that deploys, and what a test adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kubeflink.config import Configuration, load
from kubeflink.objects import JsonObject, name_of
from kubeflink.spec import (
    JobManagerSpec,
    Program,
    application_configuration,
    build_jobmanager,
    build_taskmanager_pod,
    session_configuration,
)

SMALLEST: Mapping[str, object] = {
    "kubernetes.cluster-id": "demo",
    "jobmanager.memory.process.size": "1600m",
    "taskmanager.memory.process.size": "1728m",
}

JAR = "local:///opt/flink/usrlib/job.jar"


def configuration(
    values: Mapping[str, object] | None = None,
    *,
    version: str = "2.3.0",
    conf_dir: Path | None = None,
) -> Configuration:
    """The smallest configuration with these values; None removes one."""
    overrides = {**SMALLEST, **(values or {})}
    return load(conf_dir=conf_dir, overrides=overrides, version=version, environ={})


def session(
    values: Mapping[str, object] | None = None,
    *,
    version: str = "2.3.0",
    conf_dir: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> JobManagerSpec:
    """The objects of a session cluster."""
    made = session_configuration(configuration(values, version=version, conf_dir=conf_dir))
    return build_jobmanager(made, environ=environ or {})


def application(
    program: Program, values: Mapping[str, object] | None = None, *, version: str = "2.3.0"
) -> JobManagerSpec:
    """The objects of an application cluster."""
    made = application_configuration(configuration(values, version=version), program)
    return build_jobmanager(made, environ={})


def taskmanager(
    values: Mapping[str, object] | None = None,
    *,
    version: str = "2.3.0",
    conf_dir: Path | None = None,
) -> JsonObject:
    """The first TaskManager pod of a session cluster."""
    made = session_configuration(configuration(values, version=version, conf_dir=conf_dir))
    return build_taskmanager_pod(made, attempt=1, index=1, environ={})


def pod_spec(spec: JobManagerSpec) -> JsonObject:
    """The spec of the JobManager's pod."""
    found: JsonObject = spec.deployment["spec"]["template"]["spec"]
    return found


def main_container(pod: JsonObject) -> JsonObject:
    """The container that runs Flink, of a pod spec or a pod."""
    containers = pod.get("spec", pod)["containers"]
    (found,) = (each for each in containers if each["name"] == "flink-main-container")
    return dict(found)


def environment(container: JsonObject) -> dict[str, object]:
    """The values of a container's variables; of references, the reference."""
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}


def accompanying(spec: JobManagerSpec, kind: str) -> dict[str, JsonObject]:
    """The accompanying objects of a kind, by name."""
    return {name_of(obj): obj for obj in spec.accompanying if obj["kind"] == kind}


def messages(spec: JobManagerSpec) -> str:
    """All notices, for searching."""
    return "\n".join(notice.message for notice in spec.notices)
