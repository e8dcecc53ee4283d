"""The types of the fields that the server itself reads, checked before anything reads them.

The real server decodes into Go structures, so `value: 1` for an environment variable or a list
where a mapping belongs is refused with 400 before validation. These structures do the same for the
fields that defaulting, validation, selectors and the controllers rely on. They are no complete
schema: a field that is not here is stored as it was sent.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kubeflink import objects
from kubeflink.apiserver import statuses
from kubeflink.objects import JsonObject, Resource

_Texts = dict[str, str]
_AnyMap = dict[str, Any]


class _Shape(msgspec.Struct, rename="camel"):
    """The base of all shapes: members are named as in Kubernetes' JSON."""


class _OwnerReference(_Shape):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class _Metadata(_Shape):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: _Texts = {}
    annotations: _Texts = {}
    finalizers: list[str] = []
    owner_references: list[_OwnerReference] = []
    managed_fields: list[_AnyMap] = []


class _Object(_Shape):
    metadata: _Metadata


class _EnvSource(_Shape):
    field_ref: _AnyMap | None = None
    config_map_key_ref: _AnyMap | None = None
    secret_key_ref: _AnyMap | None = None
    resource_field_ref: _AnyMap | None = None


class _EnvVar(_Shape):
    name: str = ""
    value: str = ""
    value_from: _EnvSource | None = None


class _ContainerPort(_Shape):
    name: str = ""
    container_port: int = 0
    host_port: int = 0
    protocol: str = "TCP"


class _VolumeMount(_Shape):
    name: str = ""
    mount_path: str = ""
    sub_path: str = ""
    read_only: bool = False


class _Resources(_Shape):
    limits: dict[str, str | int | float] = {}
    requests: dict[str, str | int | float] = {}


class _Container(_Shape):
    name: str = ""
    image: str = ""
    image_pull_policy: str = ""
    working_dir: str = ""
    command: list[str] = []
    args: list[str] = []
    env: list[_EnvVar] = []
    env_from: list[_AnyMap] = []
    ports: list[_ContainerPort] = []
    volume_mounts: list[_VolumeMount] = []
    resources: _Resources | None = None
    security_context: _AnyMap = {}


class _Volume(_Shape):
    name: str = ""
    config_map: _AnyMap | None = None
    secret: _AnyMap | None = None
    downward_api: _AnyMap | None = msgspec.field(default=None, name="downwardAPI")
    projected: _AnyMap | None = None
    empty_dir: _AnyMap | None = None
    host_path: _AnyMap | None = None


class _PodSpec(_Shape):
    containers: list[_Container] = []
    init_containers: list[_Container] = []
    volumes: list[_Volume] = []
    restart_policy: str = ""
    node_name: str = ""
    service_account_name: str = ""
    service_account: str = ""
    host_network: bool = False
    termination_grace_period_seconds: int = 0
    node_selector: _Texts = {}
    tolerations: list[_AnyMap] = []
    image_pull_secrets: list[_AnyMap] = []
    security_context: _AnyMap = {}


class _Pod(_Object):
    spec: _PodSpec | None = None
    status: _AnyMap = {}


class _Template(_Shape):
    metadata: _Metadata | None = None
    spec: _PodSpec | None = None


class _Requirement(_Shape):
    key: str
    operator: str
    values: list[str] = []


class _Selector(_Shape):
    match_labels: _Texts = {}
    match_expressions: list[_Requirement] = []


class _WorkloadSpec(_Shape):
    replicas: int = 1
    selector: _Selector | None = None
    template: _Template | None = None
    strategy: _AnyMap = {}


class _Workload(_Object):
    spec: _WorkloadSpec | None = None
    status: _AnyMap = {}


class _ServicePort(_Shape):
    name: str = ""
    port: int = 0
    node_port: int = 0
    protocol: str = "TCP"
    target_port: int | str = 0


class _ServiceSpec(_Shape):
    type: str = ""
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    selector: _Texts = {}
    ports: list[_ServicePort] = []


class _Service(_Object):
    spec: _ServiceSpec | None = None
    status: _AnyMap = {}


class _ConfigMap(_Object):
    data: _Texts = {}
    binary_data: _Texts = {}
    immutable: bool = False


class _Secret(_Object):
    data: _Texts = {}
    string_data: _Texts = {}
    type: str = ""
    immutable: bool = False


class _Event(_Object):
    involved_object: _AnyMap = {}


class _WithSpecAndStatus(_Object):
    spec: _AnyMap = {}
    status: _AnyMap = {}


_SHAPES: dict[Resource, type[_Object]] = {
    objects.PODS: _Pod,
    objects.DEPLOYMENTS: _Workload,
    objects.REPLICA_SETS: _Workload,
    objects.SERVICES: _Service,
    objects.CONFIG_MAPS: _ConfigMap,
    objects.SECRETS: _Secret,
    objects.EVENTS: _Event,
    objects.NAMESPACES: _WithSpecAndStatus,
    objects.NODES: _WithSpecAndStatus,
}


def check(resource: Resource, obj: JsonObject) -> None:
    """Refuse an object whose fields have other types than the kind declares: a 400 error."""
    try:
        msgspec.convert(obj, _SHAPES.get(resource, _Object))
    except msgspec.ValidationError as error:
        raise statuses.bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a '
            f"{resource.kind}: {error}"
        ) from error
