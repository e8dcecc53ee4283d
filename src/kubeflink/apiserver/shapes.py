"""The types of the fields that the server itself reads, checked before anything reads them.

The real server decodes into Go structures, so `value: 1` for an environment variable or a list
where a mapping belongs is refused with 400 before validation. These structures do the same for the
fields that defaulting, validation, selectors and the controllers rely on. They are no complete
schema: a field that is not here is stored as it was sent. Whoever reads another field has to enter
it here: one object that cannot be read would take its controller, or a whole list, with it.
"""

from __future__ import annotations

from datetime import datetime
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


class _Reference(_Shape):
    """A ConfigMap or Secret, or one key of it."""

    name: str = ""
    key: str = ""
    optional: bool = False


class _FieldReference(_Shape):
    field_path: str = ""


class _ResourceReference(_Shape):
    container_name: str = ""
    resource: str = ""
    divisor: str | int | float = 1


class _EnvSource(_Shape):
    field_ref: _FieldReference | None = None
    config_map_key_ref: _Reference | None = None
    secret_key_ref: _Reference | None = None
    resource_field_ref: _ResourceReference | None = None


class _EnvFrom(_Shape):
    prefix: str = ""
    config_map_ref: _Reference | None = None
    secret_ref: _Reference | None = None


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


class _ProbeAction(_Shape):
    path: str = ""
    port: int | str = 0


class _Probe(_Shape):
    http_get: _ProbeAction | None = None
    tcp_socket: _ProbeAction | None = None
    initial_delay_seconds: int = 0


class _Container(_Shape):
    name: str = ""
    image: str = ""
    image_pull_policy: str = ""
    working_dir: str = ""
    command: list[str] = []
    args: list[str] = []
    env: list[_EnvVar] = []
    env_from: list[_EnvFrom] = []
    ports: list[_ContainerPort] = []
    volume_mounts: list[_VolumeMount] = []
    readiness_probe: _Probe | None = None
    resources: _Resources | None = None
    security_context: _AnyMap = {}


class _Item(_Shape):
    """One file of a volume."""

    key: str = ""
    path: str = ""
    mode: int = 0
    field_ref: _FieldReference | None = None


class _Files(_Shape):
    """A volume of files, or a part of one."""

    name: str = ""
    secret_name: str = ""
    items: list[_Item] = []
    default_mode: int = 0
    optional: bool = False


class _Projection(_Shape):
    config_map: _Files | None = None
    secret: _Files | None = None
    downward_api: _Files | None = msgspec.field(default=None, name="downwardAPI")


class _Projected(_Shape):
    sources: list[_Projection] = []


class _HostPath(_Shape):
    path: str = ""
    type: str = ""


class _Claim(_Shape):
    claim_name: str = ""


class _Volume(_Shape):
    name: str = ""
    config_map: _Files | None = None
    secret: _Files | None = None
    downward_api: _Files | None = msgspec.field(default=None, name="downwardAPI")
    projected: _Projected | None = None
    empty_dir: _AnyMap | None = None
    host_path: _HostPath | None = None
    persistent_volume_claim: _Claim | None = None


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


class _Condition(_Shape):
    type: str
    status: str
    last_transition_time: datetime | None = None


class _ContainerStatus(_Shape):
    name: str
    state: dict[str, _AnyMap] = {}
    last_state: dict[str, _AnyMap] = {}
    restart_count: int = 0
    ready: bool = False
    container_id: str = msgspec.field(default="", name="containerID")


class _Address(_Shape):
    ip: str


class _PodStatus(_Shape):
    phase: str = ""
    reason: str = ""
    conditions: list[_Condition] = []
    container_statuses: list[_ContainerStatus] = []
    init_container_statuses: list[_ContainerStatus] = []
    pod_ips: list[_Address] = msgspec.field(default_factory=list, name="podIPs")


class _Pod(_Object):
    spec: _PodSpec | None = None
    status: _PodStatus | None = None


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


class _RollingUpdate(_Shape):
    max_unavailable: int | str = 0
    max_surge: int | str = 0


class _Strategy(_Shape):
    type: str = ""
    rolling_update: _RollingUpdate | None = None


class _WorkloadSpec(_Shape):
    replicas: int = 1
    selector: _Selector | None = None
    template: _Template | None = None
    strategy: _Strategy | None = None
    min_ready_seconds: int = 0
    progress_deadline_seconds: int = 0
    paused: bool = False


class _WorkloadStatus(_Shape):
    conditions: list[_Condition] = []
    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0


class _Workload(_Object):
    spec: _WorkloadSpec | None = None
    status: _WorkloadStatus | None = None


class _ServicePort(_Shape):
    name: str = ""
    port: int = 0
    node_port: int = 0
    protocol: str = "TCP"
    target_port: int | str = 0


class _ServiceSpec(_Shape):
    type: str = ""
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    external_ips: list[str] = msgspec.field(default_factory=list, name="externalIPs")
    external_name: str = ""
    selector: _Texts = {}
    ports: list[_ServicePort] = []
    publish_not_ready_addresses: bool = False


class _LoadBalancer(_Shape):
    ingress: list[_AnyMap] = []


class _ServiceStatus(_Shape):
    load_balancer: _LoadBalancer | None = None


class _Service(_Object):
    spec: _ServiceSpec | None = None
    status: _ServiceStatus | None = None


class _ConfigMap(_Object):
    data: _Texts = {}
    binary_data: _Texts = {}
    immutable: bool = False


class _Secret(_Object):
    data: _Texts = {}
    string_data: _Texts = {}
    type: str = ""
    immutable: bool = False


class _EventSource(_Shape):
    component: str = ""
    host: str = ""


class _Event(_Object):
    involved_object: _Texts = {}
    source: _EventSource | None = None
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int = 0
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None


class _ServiceAccount(_Object):
    secrets: list[_AnyMap] = []


class _EndpointPort(_Shape):
    port: int


class _Subset(_Shape):
    addresses: list[_Address] = []
    ports: list[_EndpointPort] = []


class _Endpoints(_Object):
    subsets: list[_Subset] = []


class _Endpoint(_Shape):
    addresses: list[str] = []


class _SlicePort(_Shape):
    port: int = 0


class _EndpointSlice(_Object):
    address_type: str = ""
    endpoints: list[_Endpoint] = []
    ports: list[_SlicePort] = []


class _NamespaceStatus(_Shape):
    phase: str = ""


class _Namespace(_Object):
    spec: _AnyMap = {}
    status: _NamespaceStatus | None = None


class _NodeAddress(_Shape):
    type: str
    address: str


class _NodeInfo(_Shape):
    kubelet_version: str = ""
    os_image: str = ""
    kernel_version: str = ""
    container_runtime_version: str = ""


class _NodeStatus(_Shape):
    conditions: list[_Condition] = []
    addresses: list[_NodeAddress] = []
    node_info: _NodeInfo | None = None


class _NodeSpec(_Shape):
    unschedulable: bool = False


class _Node(_Object):
    spec: _NodeSpec | None = None
    status: _NodeStatus | None = None


_SHAPES: dict[Resource, type[_Object]] = {
    objects.PODS: _Pod,
    objects.DEPLOYMENTS: _Workload,
    objects.REPLICA_SETS: _Workload,
    objects.SERVICES: _Service,
    objects.CONFIG_MAPS: _ConfigMap,
    objects.SECRETS: _Secret,
    objects.EVENTS: _Event,
    objects.NAMESPACES: _Namespace,
    objects.NODES: _Node,
    objects.SERVICE_ACCOUNTS: _ServiceAccount,
    objects.ENDPOINTS: _Endpoints,
    objects.ENDPOINT_SLICES: _EndpointSlice,
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
