"""Configuration -> Kubernetes objects. Pure but for one step that reads files (`inputs`).

What is not used is not loaded: a command that only wants a name, or only deploys a session, does
not pay for pod templates and TaskManagers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubeflink.spec.client import application_configuration, session_configuration
    from kubeflink.spec.jobmanager import JobManagerSpec, build_jobmanager
    from kubeflink.spec.names import random_cluster_id, validate_cluster_id
    from kubeflink.spec.program import Program, PythonProgram, sql_file_program, sql_program
    from kubeflink.spec.taskmanager import JobManagerAddress, build_taskmanager_pod

__all__ = [
    "JobManagerAddress",
    "JobManagerSpec",
    "Program",
    "PythonProgram",
    "application_configuration",
    "build_jobmanager",
    "build_taskmanager_pod",
    "random_cluster_id",
    "session_configuration",
    "sql_file_program",
    "sql_program",
    "validate_cluster_id",
]

_HOMES = {
    "JobManagerAddress": "taskmanager",
    "JobManagerSpec": "jobmanager",
    "Program": "program",
    "PythonProgram": "program",
    "sql_file_program": "program",
    "sql_program": "program",
    "application_configuration": "client",
    "build_jobmanager": "jobmanager",
    "build_taskmanager_pod": "taskmanager",
    "random_cluster_id": "names",
    "session_configuration": "client",
    "validate_cluster_id": "names",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"kubeflink.spec.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
