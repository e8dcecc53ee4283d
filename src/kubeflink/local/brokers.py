"""Containers that run kubeflink itself: a cluster's broker.

There is no image to be pulled: the command `kubeflink` is this program, run by this Python. It gets
ports of its own as a JobManager does, because all pods share one address.

Its clients find it by the name of its Service, as in any cluster; no process here could resolve
that. Where such an address stands in a variable, the Service's address on this machine takes its
place.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence

from kubeflink import objects
from kubeflink.local.command import HOST, container_words
from kubeflink.local.environment import ContainerConfigError
from kubeflink.local.services import ADDRESSES_ANNOTATION
from kubeflink.objects import JsonObject

PROGRAM = "kubeflink"
PORT_NAMES = ("api", "metrics")
ENV_MASTER = "KUBERNETES_MASTER"

_URL_OF_SERVICE = re.compile(r"(https?://)([a-z0-9-]+\.[a-z0-9-]+:[0-9]+)")


def is_broker(container: JsonObject) -> bool:
    """Whether the container runs `kubeflink ... broker ...`."""
    words = container_words(container)
    return words[:1] == [PROGRAM] and "broker" in words


def own_command(words: Sequence[str], ports: Mapping[str, int]) -> list[str]:
    """The command line; an option that is given twice counts as it was given last."""
    command = [sys.executable, "-m", PROGRAM, *words[1:]]
    if ports:
        command += ["--host", HOST, "--port", str(ports["api"])]
        command += ["--metrics-port", str(ports["metrics"])]
    return command


def service_addresses(services: Iterable[JsonObject]) -> dict[str, str]:
    """Where on this machine Services are: from `name.namespace:port` to `127.0.0.1:port`."""
    found = {}
    for service in services:
        told = objects.annotations_of(service).get(ADDRESSES_ANNOTATION, "")
        by_port = dict(each.split("=", 1) for each in told.split(",") if "=" in each)
        name = f"{objects.name_of(service)}.{objects.namespace_of(service)}"
        for port in service["spec"].get("ports") or ():
            address = by_port.get(str(port.get("name") or port["port"]))
            if address is not None:
                found[f"{name}:{port['port']}"] = address
    return found


def reachable(variables: Mapping[str, str], services: Mapping[str, str]) -> dict[str, str]:
    """The variables with addresses that lead somewhere on this machine.

    Raises `ContainerConfigError` where the API server of a container has no address (yet).
    """

    def replacement(match: re.Match[str]) -> str:
        return match[1] + services.get(match[2], match[2])

    found = {
        name: _URL_OF_SERVICE.sub(replacement, value) if "://" in value else value
        for name, value in variables.items()
    }
    master = found.get(ENV_MASTER, "")
    if (match := _URL_OF_SERVICE.match(master)) and not match[2].startswith(f"{HOST}:"):
        raise ContainerConfigError(f"no Service is at {match[2]} yet")
    return found
