"""What the native integration makes of the memory options: containers and workers.

The client needs only the totals, for the JobManager's container and to refuse early what the
ResourceManager would refuse later. The ResourceManager computes the default worker once, keeps of
it what slots can use (a `WorkerResourceSpec`), and derives the process again from that for each pod
that it creates. The second derivation gives the same sizes; it is imitated because it has checks
of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubeflink.config.configuration import Configuration
from kubeflink.config.java_text import java_double
from kubeflink.config.memory.jobmanager import OPTIONS as JOBMANAGER
from kubeflink.config.memory.jobmanager import JobManagerMemory, jobmanager_memory_with
from kubeflink.config.memory.legacy import TASKMANAGER_HEAP, with_legacy_heap
from kubeflink.config.memory.process import jvm_memory_beside
from kubeflink.config.memory.resources import cpu_cores
from kubeflink.config.memory.taskmanager import OPTIONS as TASKMANAGER
from kubeflink.config.memory.taskmanager import (
    TaskManagerMemory,
    taskmanager_memory_with,
    with_resources,
)
from kubeflink.config.options import kubernetes, taskmanager


@dataclass(frozen=True, slots=True)
class ClusterSpecification:
    """The processes of a cluster as a client deploys it."""

    jobmanager: JobManagerMemory
    taskmanager: TaskManagerMemory


def cluster_specification(
    configuration: Configuration, *, environ: Mapping[str, str] | None = None
) -> ClusterSpecification:
    """What Flink's client computes before it deploys; `environ` is the client's.

    Raises ConfigurationError where the memory of either process cannot be derived. Source:
    `AbstractContainerizedClusterClientFactory.getClusterSpecification`.
    """
    return ClusterSpecification(
        jobmanager_memory_with(configuration, JOBMANAGER.total_process, environ),
        taskmanager_memory_with(configuration, TASKMANAGER.total_process, environ),
    )


def worker_memory(
    configuration: Configuration, *, environ: Mapping[str, str] | None = None
) -> TaskManagerMemory:
    """What the ResourceManager in the JobManager gives each TaskManager pod.

    `configuration` is that of the JobManager, `environ` that of its container. Raises
    ConfigurationError where the JobManager would fail. Sources:
    `KubernetesWorkerResourceSpecFactory`,
    `TaskExecutorProcessUtils.processSpecFromWorkerResourceSpec`.
    """
    settings = with_legacy_heap(
        configuration, TASKMANAGER_HEAP, TASKMANAGER.total_process, environ or {}
    )
    cores = cpu_cores(settings, default=settings.get(kubernetes.TASKMANAGER_CPU_AMOUNT))
    settings = settings.with_values(
        {taskmanager.CPU_CORES.key: java_double(cores)},
        origin=kubernetes.TASKMANAGER_CPU_AMOUNT.key,
    )
    flink = taskmanager_memory_with(settings, TASKMANAGER.total_process, {}).flink
    return with_resources(
        settings, flink, jvm_memory_beside(TASKMANAGER, settings, flink.total_flink)
    )
