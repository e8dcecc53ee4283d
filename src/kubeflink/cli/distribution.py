"""What Flink's scripts find in their distribution: there is none here.

`flink` and `kubernetes-session.sh` read the `conf` directory beside them, unless `FLINK_CONF_DIR`
names another one. Its file has sizes for the processes, for which Flink has no defaults, and a
logging configuration lies with it. Where no directory is named, the same is meant.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubeflink.config import Configuration
    from kubeflink.objects import JsonObject
    from kubeflink.spec import JobManagerSpec


def build_jobmanager(configuration: Configuration) -> JobManagerSpec:
    """The objects of the cluster. Raises as `spec.build_jobmanager` does."""
    from kubeflink import spec

    return spec.build_jobmanager(
        _with_sizes(configuration), default_logging=configuration.conf_dir is None
    )


def build_taskmanager_pod(configuration: Configuration, *, attempt: int, index: int) -> JsonObject:
    """A worker of that cluster. Raises as `spec.build_taskmanager_pod` does."""
    from kubeflink import spec
    from kubeflink.spec.inputs import read_inputs

    inputs = read_inputs(configuration, os.environ, default_logging=configuration.conf_dir is None)
    return spec.build_taskmanager_pod(
        _with_sizes(configuration), attempt=attempt, index=index, inputs=inputs
    )


def _with_sizes(configuration: Configuration) -> Configuration:
    from kubeflink.cluster.access import with_default_memory

    if configuration.conf_dir is not None:
        return configuration
    sized = with_default_memory(configuration)
    if sized is configuration:
        return configuration
    return sized.with_notices(
        "FLINK_CONF_DIR is not set: memory sizes are those of the file that comes with Flink"
    )
