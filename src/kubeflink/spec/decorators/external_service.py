"""The Service of the REST API and the web UI (ExternalServiceDecorator)."""

from __future__ import annotations

from kubeflink.config.options import kubernetes
from kubeflink.objects import JsonObject
from kubeflink.spec import names
from kubeflink.spec.decorators.decorator import Decorator
from kubeflink.spec.decorators.services import service
from kubeflink.spec.parameters import HEADLESS_CLUSTER_IP, JobManagerParameters


class ExternalService(Decorator[JobManagerParameters]):
    """`<cluster id>-rest`. Flink takes its existence for the cluster's."""

    def accompanying(self) -> list[JsonObject]:
        parameters = self.parameters
        configuration, version = parameters.configuration, parameters.version
        labels = configuration.get(kubernetes.REST_SERVICE_LABELS)
        annotations = configuration.get(kubernetes.REST_SERVICE_ANNOTATIONS) or {}
        exposed = configuration.get(kubernetes.REST_SERVICE_EXPOSED_TYPE)
        port = {
            "name": names.REST_PORT,
            "port": parameters.rest_port,
            "targetPort": parameters.rest_bind_port,
        }
        spec: JsonObject = {"type": exposed, "ports": [port]}
        if exposed == HEADLESS_CLUSTER_IP:
            spec |= {"type": "ClusterIP", "clusterIP": "None"}
        keep_empty = version.sends_empty_mappings
        return [
            service(
                parameters,
                names.rest_service_name(parameters.cluster_id),
                labels=labels if version.has_service_labels else None,
                annotations=annotations if annotations or keep_empty else None,
                spec=spec,
            )
        ]
