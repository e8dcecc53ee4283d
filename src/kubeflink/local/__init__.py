"""The embedded Kubernetes: real Flink on this machine, as pods that are processes.

An API server over a journalled store (`kubeflink.apiserver`), the controllers that Flink relies on
and a kubelet whose containers are local processes. It is no simulation: the JobManager in it is
Flink's own entrypoint, whose own driver asks this API server for TaskManager pods.

    state.py             the directory of one embedded cluster: paths, lock, settings
    journal.py           objects that survive the server (sqlite)
    ports.py             which port of 127.0.0.1 stands for which port of a pod or Service
    processes.py         a container's process: start, outlive the server, adopt, stop
    volumes.py           ConfigMaps, Secrets, host paths and the like as directories
    environment.py       a container's environment, with its references resolved
    command.py           what the Flink image's scripts would do, as one java command line
    brokers.py           containers that run kubeflink itself
    starting.py          from a container's description to its running process
    containers.py        one container of a pod, with its restarts
    pods.py              one pod, from its binding to its end
    kubelet.py           all pods of the node
    seats.py, sockets.py who sits on which ports, and who listens there
    deployments.py       Deployment controller
    garbage_collector.py what has lost its owner goes
    services.py          Services that can be reached, Endpoints
    template_admission.py the pod template of TaskManagers
    cluster.py           all of it together, as a context manager
    daemon.py            all of it together, in the background
"""

from __future__ import annotations

import sys

from kubeflink.errors import LocalError

if sys.platform == "win32":
    raise LocalError(
        "The embedded Kubernetes runs on Linux and macOS",
        hint="On Windows it runs in the Windows Subsystem for Linux",
    )
