"""The memory of Flink's processes: who gets how many bytes for what.

`jobmanager_memory` and `taskmanager_memory` give what Flink's start scripts compute in a container
(BashJavaUtils), `cluster_specification` what the client deploys, and `worker_memory` what the
JobManager asks for when it creates a TaskManager pod.
"""

from __future__ import annotations

from kubeflink.config.memory.jobmanager import JobManagerMemory, jobmanager_memory
from kubeflink.config.memory.taskmanager import (
    TaskManagerFlinkMemory,
    TaskManagerMemory,
    taskmanager_memory,
)
from kubeflink.config.memory.worker import (
    ClusterSpecification,
    cluster_specification,
    worker_memory,
)

__all__ = [
    "ClusterSpecification",
    "JobManagerMemory",
    "TaskManagerFlinkMemory",
    "TaskManagerMemory",
    "cluster_specification",
    "jobmanager_memory",
    "taskmanager_memory",
    "worker_memory",
]
