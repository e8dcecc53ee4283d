"""Configuration -> Kubernetes objects. Pure but for one step that reads files (`inputs`)."""

from __future__ import annotations

from kubeflink.spec.client import application_configuration, session_configuration
from kubeflink.spec.jobmanager import JobManagerSpec, build_jobmanager
from kubeflink.spec.names import random_cluster_id, validate_cluster_id
from kubeflink.spec.program import Program, PythonProgram
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
    "validate_cluster_id",
]
