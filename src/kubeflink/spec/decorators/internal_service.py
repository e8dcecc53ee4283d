"""The Service by which TaskManagers find the JobManager (InternalServiceDecorator)."""

from __future__ import annotations

from kubeflink.config.options import kubernetes
from kubeflink.objects import JsonObject
from kubeflink.spec import names
from kubeflink.spec.decorators.decorator import Decorator
from kubeflink.spec.decorators.services import service
from kubeflink.spec.parameters import JobManagerParameters


class InternalService(Decorator[JobManagerParameters]):
    """A headless Service with the RPC and the blob server port; none with high availability."""

    def accompanying(self) -> list[JsonObject]:
        parameters = self.parameters
        if not parameters.has_internal_service:
            return []
        configuration, version = parameters.configuration, parameters.version
        labels = configuration.get(kubernetes.INTERNAL_SERVICE_LABELS)
        annotations = configuration.get(kubernetes.INTERNAL_SERVICE_ANNOTATIONS)
        ports = {
            names.JOBMANAGER_RPC_PORT: parameters.rpc_port,
            names.BLOB_SERVER_PORT: parameters.blob_server_port,
        }
        return [
            service(
                parameters,
                names.internal_service_name(parameters.cluster_id),
                labels=labels if version.has_service_labels else None,
                annotations=annotations if version.has_internal_service_annotations else None,
                spec={
                    "clusterIP": "None",
                    "ports": [{"name": name, "port": port} for name, port in ports.items()],
                },
            )
        ]
