"""The start command of the JobManager (CmdJobManagerDecorator)."""

from __future__ import annotations

from kubeflink.config.options import kubernetes
from kubeflink.spec.decorators.decorator import Decorator
from kubeflink.spec.parameters import JobManagerParameters
from kubeflink.spec.pod import FlinkPod

SCRIPT = "kubernetes-jobmanager.sh"


class JobManagerCommand(Decorator[JobManagerParameters]):
    """Entry point of the image and its arguments.

    `kubernetes.jobmanager.entrypoint.args` is shell text: it stands as it is in a line that bash
    reads. It is the only value of the user of which that is so.
    """

    def decorate(self, pod: FlinkPod) -> FlinkPod:
        configuration = self.parameters.configuration
        arguments = configuration.get(kubernetes.JOBMANAGER_ENTRYPOINT_ARGS)
        line = f"{SCRIPT} {self.parameters.mode} {arguments}"
        return pod.with_main_container(
            command=[configuration.get(kubernetes.ENTRY_PATH)], args=["bash", "-c", line]
        )
