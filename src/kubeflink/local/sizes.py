"""Flink sizes that fit several JVMs on a small machine.

Flink's defaults divide 1.6 GB for a JobManager and 1.7 GB for a TaskManager, most of which a small
job never touches. These are the smallest at which SQL jobs run: a planner needs metaspace, and with
100 MB of it a JobManager ends in OutOfMemoryError; a batch shuffle needs 512 buffers of 32 KB.
"""

from __future__ import annotations

from collections.abc import Mapping

SMALL_MEMORY: Mapping[str, str] = {
    "jobmanager.memory.heap.size": "160m",
    "jobmanager.memory.jvm-metaspace.size": "160m",
    "jobmanager.memory.off-heap.size": "32m",
    "jobmanager.memory.jvm-overhead.min": "32m",
    "jobmanager.memory.jvm-overhead.max": "32m",
    "taskmanager.memory.framework.heap.size": "48m",
    "taskmanager.memory.task.heap.size": "48m",
    "taskmanager.memory.framework.off-heap.size": "48m",
    "taskmanager.memory.framework.off-heap.batch-shuffle.size": "16m",
    "taskmanager.memory.network.min": "24m",
    "taskmanager.memory.network.max": "24m",
    "taskmanager.memory.managed.size": "16m",
    "taskmanager.memory.jvm-metaspace.size": "96m",
    "taskmanager.memory.jvm-overhead.min": "32m",
    "taskmanager.memory.jvm-overhead.max": "32m",
}
"""About 350 MB of resident memory for a JobManager, 240 MB for a TaskManager."""
