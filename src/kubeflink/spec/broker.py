"""The broker's own objects, and a JobManager that has nothing but its broker.

With `kubeflink.broker.enabled` the JobManager's pod gets no token of a service account. What it
gets is a kubeconfig that leads to the broker, from a Secret of its own; the broker's Secret, with
the key of its certificate, is another one, so that no JobManager can pose as the broker. All of it
is owned by the JobManager's Deployment and goes away with it.

The Role is as small as the broker can do with, and names what can be named: RBAC cannot tell pods
apart by their labels, which is just what the broker adds. To delete the JobManager's Deployment is
part of it only where a JobManager ends its cluster itself: an application does at its end.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kubeflink.config import Configuration
from kubeflink.config.options import broker, deployment, kubernetes
from kubeflink.config.yaml import dump_kubernetes
from kubeflink.objects import JsonObject
from kubeflink.spec import names
from kubeflink.spec.certificates import issue
from kubeflink.spec.client import deployment_target
from kubeflink.spec.decorators.flink_conf import VOLUME as FLINK_CONFIG_VOLUME
from kubeflink.spec.decorators.pod_template import VOLUME as POD_TEMPLATE_VOLUME
from kubeflink.spec.jobmanager import JobManagerSpec
from kubeflink.spec.parameters import APPLICATION, is_kubernetes_high_availability
from kubeflink.spec.taskmanager import application_job_id

API_PORT = 8443
METRICS_PORT = 8080
API_PORT_NAME = "api"
METRICS_PORT_NAME = "metrics"

CLIENT_DIRECTORY = "/opt/kubeflink/broker"
CLIENT_VOLUME = "kubeflink-broker-volume"
KUBECONFIG = "kubeconfig"
ENV_KUBECONFIG = "KUBECONFIG"
ENV_MASTER = "KUBERNETES_MASTER"

SERVER_DIRECTORY = "/etc/kubeflink/broker"
CONFIGURATION_DIRECTORY = "/etc/kubeflink/flink"
TEMPLATE_DIRECTORY = "/etc/kubeflink/pod-template"
TOKEN_FILE = "token"
CERTIFICATE_FILE = "tls.crt"
KEY_FILE = "tls.key"

CONTAINER = "broker"
_PLACEMENT = ("nodeSelector", "tolerations", "priorityClassName", "schedulerName")


@dataclass(frozen=True, slots=True)
class BrokerCredentials:
    """What broker and JobManager share, and what only the broker has. PEM as text."""

    token: str = field(repr=False)
    certificate: str
    key: str = field(repr=False)
    authority: str


def make_credentials(cluster_id: str, namespace: str, *more: str) -> BrokerCredentials:
    """New ones, for a broker that is reached by its Service, on this machine, or by `more` names.

    Raises `UsageError` where certificates cannot be made.
    """
    service = names.broker_name(cluster_id)
    hosts = [service, names.service_address(service, namespace), f"{service}.{namespace}.svc"]
    issued = issue(service, f"kubeflink {service}", [*hosts, "localhost", "127.0.0.1", *more])
    return BrokerCredentials(
        secrets.token_urlsafe(32),
        issued.certificate.decode("ascii"),
        issued.key.decode("ascii"),
        issued.authority.decode("ascii"),
    )


def client_kubeconfig(
    credentials: BrokerCredentials, server: str, namespace: str, context: str | None = None
) -> str:
    """The kubeconfig by which a JobManager reaches the broker at `server`.

    `context` is the name that Flink looks for, where `kubernetes.context` is set.
    """
    name = context or "broker"
    authority = base64.b64encode(credentials.authority.encode()).decode("ascii")
    return dump_kubernetes(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "broker",
                    "cluster": {"server": server, "certificate-authority-data": authority},
                }
            ],
            "users": [{"name": "jobmanager", "user": {"token": credentials.token}}],
            "contexts": [
                {
                    "name": name,
                    "context": {"cluster": "broker", "user": "jobmanager", "namespace": namespace},
                }
            ],
            "current-context": name,
        }
    )


def with_broker(
    spec: JobManagerSpec, configuration: Configuration, credentials: BrokerCredentials | None = None
) -> JobManagerSpec:
    """The cluster with a broker. Without credentials new ones are made."""
    credentials = credentials or make_credentials(spec.cluster_id, spec.namespace)
    template = with_client(spec.deployment["spec"]["template"], spec.cluster_id, spec.namespace)
    deployment = {**spec.deployment, "spec": {**spec.deployment["spec"], "template": template}}
    own = _objects(spec, configuration, credentials)
    return replace(spec, deployment=deployment, accompanying=(*spec.accompanying, *own))


# --- the broker's clients --------------------------------------------------------------------


def server_url(cluster_id: str, namespace: str) -> str:
    """Where the broker is for the pods of its cluster."""
    address = names.service_address(names.broker_name(cluster_id), namespace)
    return f"https://{address}:{API_PORT}"


def without_api_access(pod: JsonObject) -> JsonObject:
    """The pod (or template of one) without the token of its service account."""
    return {**pod, "spec": {**pod["spec"], "automountServiceAccountToken": False}}


def with_client(pod: JsonObject, cluster_id: str, namespace: str) -> JsonObject:
    """The pod (or template of one) with the way to the broker, and no other to the API."""
    volume = {
        "name": CLIENT_VOLUME,
        "secret": {"secretName": names.broker_client_secret_name(cluster_id)},
    }
    spec = {
        **pod["spec"],
        "containers": [_with_client(c, cluster_id, namespace) for c in pod["spec"]["containers"]],
        "volumes": [*(pod["spec"].get("volumes") or ()), volume],
    }
    return without_api_access({**pod, "spec": spec})


def _with_client(container: JsonObject, cluster_id: str, namespace: str) -> JsonObject:
    if container["name"] != names.MAIN_CONTAINER:
        return container
    own = {
        ENV_KUBECONFIG: f"{CLIENT_DIRECTORY}/{KUBECONFIG}",
        ENV_MASTER: server_url(cluster_id, namespace),
    }
    env = [each for each in container.get("env") or () if each["name"] not in own]
    mount = {"name": CLIENT_VOLUME, "mountPath": CLIENT_DIRECTORY, "readOnly": True}
    return {
        **container,
        "env": [*env, *({"name": name, "value": value} for name, value in own.items())],
        "volumeMounts": [*(container.get("volumeMounts") or ()), mount],
    }


# --- the broker itself -----------------------------------------------------------------------


def _objects(
    spec: JobManagerSpec, configuration: Configuration, credentials: BrokerCredentials
) -> list[JsonObject]:
    cluster_id = spec.cluster_id
    account = configuration.get(broker.SERVICE_ACCOUNT)
    access = [] if account else _access(spec, configuration)
    context = configuration.get(kubernetes.CONTEXT)
    url = server_url(cluster_id, spec.namespace)
    client = client_kubeconfig(credentials, url, spec.namespace, context)
    own = {
        TOKEN_FILE: credentials.token,
        CERTIFICATE_FILE: credentials.certificate,
        KEY_FILE: credentials.key,
    }
    return [
        *access,
        _secret(names.broker_name(cluster_id), cluster_id, own),
        _secret(names.broker_client_secret_name(cluster_id), cluster_id, {KUBECONFIG: client}),
        _service(cluster_id),
        _deployment(spec, configuration, account or names.broker_name(cluster_id)),
    ]


def _metadata(name: str, cluster_id: str) -> JsonObject:
    return {"name": name, "labels": names.broker_labels(cluster_id)}


def _secret(name: str, cluster_id: str, files: dict[str, str]) -> JsonObject:
    data = {key: base64.b64encode(text.encode()).decode("ascii") for key, text in files.items()}
    metadata = _metadata(name, cluster_id)
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def ends_itself(configuration: Configuration) -> bool:
    """Whether the JobManager of a cluster, as it is deployed, may end it (delete its Deployment).

    An application does so when it is done. A session is ended by who has started it; only
    `DELETE /cluster` of Flink's REST API would need the right, and everybody can call that.
    """
    chosen = configuration.get(broker.SELF_DELETION)
    return deployment_target(configuration) == APPLICATION if chosen is None else chosen


def role_rules(
    cluster_id: str,
    *,
    high_availability: bool = False,
    self_deletion: bool = False,
    jobs: Sequence[str] | None = None,
) -> list[JsonObject]:
    """What the broker may do. ConfigMaps only where Flink keeps its high availability in them.

    `jobs` are the ids of all jobs that there can be; None where nobody knows them beforehand.
    """
    rest, internal = names.rest_service_name(cluster_id), names.internal_service_name(cluster_id)
    jobmanager = [names.deployment_name(cluster_id)]
    rules = [
        _rule("", "pods", "list", "watch", "create", "delete"),
        _rule(
            "apps",
            "deployments",
            *(("get", "delete") if self_deletion else ("get",)),
            named=jobmanager,
        ),
        _rule("", "services", "get", "update", named=[rest, internal]),
    ]
    if self_deletion and high_availability:
        # The JobManager has to clean up before all goes: see `kubeflink.broker.ending`.
        rules.append(_rule("apps", "deployments/scale", "patch", named=jobmanager))
    if high_availability:
        rules += _config_map_rules(cluster_id, jobs)
    return rules


def _config_map_rules(cluster_id: str, jobs: Sequence[str] | None) -> list[JsonObject]:
    """RBAC can name what is read, changed and deleted, but not what is listed and created."""
    known = None
    if jobs is not None:
        of_jobs = [names.job_config_map_name(cluster_id, job) for job in jobs]
        known = [names.high_availability_config_map_name(cluster_id), *of_jobs]
    return [
        _rule("", "configmaps", "list", "watch", "create"),
        _rule("", "configmaps", "get", "update", "delete", named=known),
    ]


def _rule(group: str, resource: str, *verbs: str, named: Sequence[str] | None = None) -> JsonObject:
    rule: JsonObject = {"apiGroups": [group], "resources": [resource]}
    if named is not None:
        rule["resourceNames"] = list(named)
    return {**rule, "verbs": list(verbs)}


def _job_ids(configuration: Configuration) -> list[str] | None:
    """The ids of the jobs of a cluster with high availability, where they follow from its own."""
    if deployment_target(configuration) != APPLICATION:
        return None
    if not configuration.version.runs_one_job_with_high_availability:
        return None
    given = configuration.get(deployment.INTERNAL_PIPELINE_JOB_ID)
    return [given or application_job_id(configuration.get(kubernetes.CLUSTER_ID) or "")]


def _access(spec: JobManagerSpec, configuration: Configuration) -> list[JsonObject]:
    cluster_id, name = spec.cluster_id, names.broker_name(spec.cluster_id)
    rbac = "rbac.authorization.k8s.io"
    rules = role_rules(
        cluster_id,
        high_availability=is_kubernetes_high_availability(configuration),
        self_deletion=ends_itself(configuration),
        jobs=_job_ids(configuration),
    )
    subject = {"kind": "ServiceAccount", "name": name, "namespace": spec.namespace}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(name, cluster_id)},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "Role",
            "metadata": _metadata(name, cluster_id),
            "rules": rules,
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": _metadata(name, cluster_id),
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
            "subjects": [subject],
        },
    ]


def _service(cluster_id: str) -> JsonObject:
    ports = [(API_PORT_NAME, API_PORT), (METRICS_PORT_NAME, METRICS_PORT)]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(names.broker_name(cluster_id), cluster_id),
        "spec": {
            "selector": names.broker_labels(cluster_id),
            # One that is not ready answers all the same: it says why, and to a JobManager that it
            # has to ask again. There is no other one to be asked.
            "publishNotReadyAddresses": True,
            "ports": [{"name": name, "port": port, "targetPort": name} for name, port in ports],
        },
    }


def _deployment(spec: JobManagerSpec, configuration: Configuration, account: str) -> JsonObject:
    labels = names.broker_labels(spec.cluster_id)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(names.broker_name(spec.cluster_id), spec.cluster_id),
        "spec": {
            "replicas": 1,
            # Never two of them: each counts what it has made against the limits.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": _pod_spec(spec, configuration, account),
            },
        },
    }


def _pod_spec(spec: JobManagerSpec, configuration: Configuration, account: str) -> JsonObject:
    volumes = [
        {"name": "broker", "secret": {"secretName": names.broker_name(spec.cluster_id)}},
        {"name": "flink", "configMap": {"name": names.config_map_name(spec.cluster_id)}},
    ]
    mounts = [
        {"name": "broker", "mountPath": SERVER_DIRECTORY, "readOnly": True},
        {"name": "flink", "mountPath": CONFIGURATION_DIRECTORY, "readOnly": True},
    ]
    if _has_template(spec):
        name = names.pod_template_config_map_name(spec.cluster_id)
        volumes.append({"name": "pod-template", "configMap": {"name": name}})
        mounts.append({"name": "pod-template", "mountPath": TEMPLATE_DIRECTORY, "readOnly": True})
    pull_secrets = configuration.get(kubernetes.CONTAINER_IMAGE_PULL_SECRETS) or ()
    container = {
        "name": CONTAINER,
        "image": configuration.get(broker.IMAGE) or _default_image(),
        "imagePullPolicy": configuration.get(kubernetes.CONTAINER_IMAGE_PULL_POLICY),
        "command": ["kubeflink"],
        "args": _arguments(spec, configuration),
        "ports": [
            {"name": API_PORT_NAME, "containerPort": API_PORT},
            {"name": METRICS_PORT_NAME, "containerPort": METRICS_PORT},
        ],
        "resources": _resources(configuration),
        "readinessProbe": _probe(period=2),
        "livenessProbe": _probe(period=10, path="/livez"),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }
    return {
        "serviceAccountName": account,
        "securityContext": {
            # As whom is the image's choice, or that of a cluster which gives out the users' ids.
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "terminationGracePeriodSeconds": 10,
        **(
            {"imagePullSecrets": [{"name": name.strip()} for name in pull_secrets if name.strip()]}
            if pull_secrets
            else {}
        ),
        **_placement(spec.deployment["spec"]["template"]["spec"]),
        "containers": [container],
        "volumes": volumes,
    }


def _placement(jobmanager: JsonObject) -> JsonObject:
    """Where a JobManager may run and how urgently, its broker may too: neither works alone.

    What a pod template says of the JobManager's distance to other pods is not for the broker: a
    rule that keeps JobManagers apart would leave it without a node.
    """
    found = {key: jobmanager[key] for key in _PLACEMENT if jobmanager.get(key)}
    if nodes := (jobmanager.get("affinity") or {}).get("nodeAffinity"):
        found["affinity"] = {"nodeAffinity": nodes}
    return found


def _has_template(spec: JobManagerSpec) -> bool:
    volumes = spec.deployment["spec"]["template"]["spec"].get("volumes") or ()
    assert any(volume["name"] == FLINK_CONFIG_VOLUME for volume in volumes)
    return any(volume["name"] == POD_TEMPLATE_VOLUME for volume in volumes)


def _arguments(spec: JobManagerSpec, configuration: Configuration) -> list[str]:
    arguments = [
        "--flink-version",
        str(configuration.version),
        "broker",
        spec.cluster_id,
        "--namespace",
        spec.namespace,
        "--host",
        "0.0.0.0",
        "--port",
        str(API_PORT),
        "--metrics-port",
        str(METRICS_PORT),
        "--conf-dir",
        CONFIGURATION_DIRECTORY,
        "--credentials",
        SERVER_DIRECTORY,
    ]
    return [*arguments, "--template-dir", TEMPLATE_DIRECTORY] if _has_template(spec) else arguments


def _resources(configuration: Configuration) -> JsonObject:
    memory = f"{configuration.get(broker.MEMORY_SIZE) >> 20}Mi"
    cpu = str(configuration.get(broker.CPU_AMOUNT))
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}}


def _probe(*, period: int, path: str = "/healthz") -> JsonObject:
    get = {"path": path, "port": METRICS_PORT_NAME}
    return {"httpGet": get, "periodSeconds": period, "timeoutSeconds": 5}


def _default_image() -> str:
    from kubeflink import __version__

    return f"kubeflink-broker:{__version__}"
