"""The one node of the embedded Kubernetes: this machine, and how containers run on it."""

from __future__ import annotations

import os
import platform
import socket
from dataclasses import dataclass, field

from kubeflink.jvm.flink_home import FlinkHomes
from kubeflink.jvm.java import JavaRuntime
from kubeflink.local.ports import PortBook
from kubeflink.local.processes import Guardian
from kubeflink.local.settings import BackOff
from kubeflink.local.state import StateDirectory
from kubeflink.objects import JsonObject
from kubeflink.quantities import parse_quantity

NODE_NAME = "localhost"
HOSTNAME_LABEL = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Node:
    """What containers run with."""

    state: StateDirectory
    homes: FlinkHomes
    java: JavaRuntime
    ports: PortBook
    guardian: Guardian | None = None
    jvm_options: tuple[str, ...] = ()
    back_off: BackOff = field(default_factory=BackOff)

    def as_object(self, version: str) -> JsonObject:
        """The Node object; `version` is what it gives for its kubelet."""
        capacity = {"cpu": str(os.cpu_count() or 1), "memory": f"{memory_kib()}Ki", "pods": "110"}
        machine = {"arm64": "arm64", "aarch64": "arm64"}.get(platform.machine(), "amd64")
        system = platform.system().lower()
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": NODE_NAME, "labels": node_labels()},
            "spec": {},
            "status": {
                "capacity": capacity,
                "allocatable": capacity,
                "addresses": [
                    {"type": "InternalIP", "address": "127.0.0.1"},
                    {"type": "Hostname", "address": NODE_NAME},
                ],
                "conditions": [],
                "nodeInfo": {
                    "architecture": machine,
                    "operatingSystem": system,
                    "osImage": platform.platform(terse=True),
                    "kernelVersion": platform.release(),
                    "kubeletVersion": version,
                    "kubeProxyVersion": version,
                    "containerRuntimeVersion": "process://1",
                    "machineID": "",
                    "systemUUID": "",
                    "bootID": "",
                },
            },
        }


def node_labels() -> dict[str, str]:
    """What a pod's node selector can ask for."""
    machine = {"arm64": "arm64", "aarch64": "arm64"}.get(platform.machine(), "amd64")
    return {
        HOSTNAME_LABEL: NODE_NAME,
        "kubernetes.io/os": platform.system().lower(),
        "kubernetes.io/arch": machine,
        "kubeflink.io/host": "".join(c if c.isalnum() or c in "-_." else "-" for c in _host())[:63],
    }


def _host() -> str:
    return socket.gethostname().strip("-_.") or "unknown"


def memory_kib() -> int:
    """The machine's memory in KiB."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024


def why_it_does_not_fit(pod: JsonObject) -> str | None:
    """The scheduler's message for a pod that this node cannot take; None for one that it can.

    The node selector must match, and no pod may ask for more memory than the machine has. What all
    pods ask for together is not counted: processes take what they use, not what they ask for.
    """
    labels = node_labels()
    selector = pod["spec"].get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
    asked = sum(
        parse_quantity(_memory_request(container)) or 0 for container in pod["spec"]["containers"]
    )
    if asked > memory_kib() * 1024:
        return "0/1 nodes are available: 1 Insufficient memory."
    return None


def _memory_request(container: JsonObject) -> str | int:
    value: str | int = ((container.get("resources") or {}).get("requests") or {}).get("memory", 0)
    return value
