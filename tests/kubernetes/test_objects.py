"""All that kubeflink makes is what a real API server takes: whole, unchanged, without a warning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from kubeflink import config
from kubeflink.config.versions import SUPPORTED, FlinkVersion
from kubeflink.errors import KubeflinkError
from kubeflink.objects import JsonObject, name_of
from kubeflink.spec import (
    JobManagerSpec,
    Program,
    application_configuration,
    build_jobmanager,
    build_taskmanager_pod,
    session_configuration,
)
from support.acceptance import complaints
from support.clusters import SMALLEST
from support.kubectl import Kubectl
from support.objects import Client, bodies
from support.real_cluster import Namespace
from support.scenarios import load_scenarios
from support.shell import Shell

TEMPLATE = """
apiVersion: v1
kind: Pod
metadata:
  labels: {team: data}
  annotations: {prometheus.io/scrape: "true"}
spec:
  initContainers:
    - name: fetch
      image: busybox:1.36
      command: [sh, -c, "wget -O /jars/job.jar http://jars/job.jar"]
      volumeMounts: [{name: jars, mountPath: /jars}]
  containers:
    - name: flink-main-container
      env:
        - {name: REGION, value: eu}
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
      envFrom: [{secretRef: {name: credentials, optional: true}}]
      volumeMounts: [{name: jars, mountPath: /opt/flink/usrlib}]
      livenessProbe: {tcpSocket: {port: 6123}, periodSeconds: 20}
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    - name: fluentbit
      image: fluent/fluent-bit:3.1
      resources: {limits: {cpu: 100m, memory: 64Mi}}
  volumes:
    - {name: jars, emptyDir: {sizeLimit: 1Gi}}
    - name: data
      ephemeral:
        volumeClaimTemplate:
          spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  securityContext: {runAsNonRoot: true, runAsUser: 9999, fsGroup: 9999}
  tolerations: [{key: spot, operator: Exists, effect: NoSchedule}]
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: topology.kubernetes.io/zone
      whenUnsatisfiable: ScheduleAnyway
      labelSelector: {matchLabels: {component: taskmanager}}
  terminationGracePeriodSeconds: 60
"""

HIGH_AVAILABILITY = {
    "high-availability.type": "kubernetes",
    "high-availability.storageDir": "s3://bucket/ha",
    "kubernetes.jobmanager.replicas": "2",
}

EVERYTHING = {
    "kubernetes.jobmanager.labels": "team:data,stage:prod",
    "kubernetes.taskmanager.labels": "team:data",
    "kubernetes.jobmanager.annotations": "a.example/owner:me,note:two words",
    "kubernetes.taskmanager.annotations": "note:x",
    "kubernetes.rest-service.annotations": "lb.example/type:internal",
    "kubernetes.internal-service.annotations": "a:b",
    "kubernetes.jobmanager.node-selector": "disk:ssd",
    "kubernetes.taskmanager.node-selector": "disk:ssd",
    "kubernetes.jobmanager.tolerations": "key:spot,operator:Equal,value:yes,effect:NoSchedule",
    "kubernetes.taskmanager.tolerations": "key:spot,operator:Exists,effect:NoExecute,"
    "tolerationSeconds:60",
    "kubernetes.jobmanager.owner.reference": "apiVersion:example.com/v1,kind:Job,name:j,"
    "uid:3d1d5b1c-6bc5-4d17-9cc9-a5a3f31c5a91,blockOwnerDeletion:true,controller:false",
    "kubernetes.container.image.pull-secrets": "registry;another",
    "kubernetes.container.image.pull-policy": "Always",
    "kubernetes.secrets": "credentials:/etc/credentials",
    "kubernetes.env.secretKeyRef": "env:PASSWORD,secret:credentials,key:password",
    "kubernetes.jobmanager.cpu.amount": "0.5",
    "kubernetes.taskmanager.cpu.amount": "1.5",
    "kubernetes.jobmanager.cpu.limit-factor": "2.0",
    "kubernetes.taskmanager.memory.limit-factor": "1.5",
    "external-resources": "gpu",
    "external-resource.gpu.amount": "2",
    "external-resource.gpu.kubernetes.config-key": "nvidia.com/gpu",
    "containerized.master.env.MASTER": '$(HOME) and "quotes"',
    "containerized.taskmanager.env.WORKER": "x=y",
    "kubernetes.hadoop.conf.config-map.name": "hadoop",
    "kubernetes.service-account": "flink",
}

UID = "3d1d5b1c-6bc5-4d17-9cc9-a5a3f31c5a91"

CASES: Mapping[str, Mapping[str, object]] = {
    "plain": {},
    "headless": {"kubernetes.rest-service.exposed.type": "Headless_ClusterIP"},
    "node port": {"kubernetes.rest-service.exposed.type": "NodePort"},
    "load balancer": {"kubernetes.rest-service.exposed.type": "LoadBalancer"},
    "high availability": HIGH_AVAILABILITY,
    "host network": {"kubernetes.hostnetwork.enabled": "true"},
    "host network, high availability": {
        "kubernetes.hostnetwork.enabled": "true",
        **HIGH_AVAILABILITY,
    },
    "everything": EVERYTHING,
    "broker": {"kubeflink.broker.enabled": "true"},
    "broker, high availability": {"kubeflink.broker.enabled": "true", **HIGH_AVAILABILITY},
    "broker, host network": {
        "kubeflink.broker.enabled": "true",
        "kubernetes.hostnetwork.enabled": "true",
    },
}


def with_template(options: Mapping[str, object], path: Path) -> dict[str, object]:
    template = path / "template.yaml"
    template.write_text(TEMPLATE)
    return {**options, "kubernetes.pod-template-file.default": str(template)}


def configuration(options: Mapping[str, object], version: FlinkVersion) -> config.Configuration:
    chosen = {**SMALLEST, **options}
    if version.release >= (2, 3):
        chosen.setdefault("kubernetes.persistent-volume-claims", "checkpoints:/checkpoints")
    return config.load(conf_dir=None, overrides=chosen, version=version, environ={})


def pods_of(spec: JobManagerSpec, made: config.Configuration) -> list[JsonObject]:
    """The first TaskManager pod, which names the Deployment of a cluster that exists as owner."""
    owner = {**spec.deployment, "metadata": {**spec.deployment["metadata"], "uid": "u-1"}}
    return [build_taskmanager_pod(made, attempt=1, index=1, deployment=owner, environ={})]


@pytest.fixture
async def accounts(namespace: Namespace) -> Namespace:
    """The namespace with the service account that the options name."""
    await namespace.add(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "flink"}}
    )
    return namespace


@pytest.mark.parametrize("version", SUPPORTED, ids=str)
async def test_objects_of_every_version(
    accounts: Namespace, version: FlinkVersion, tmp_path: Path
) -> None:
    program = Program("local:///opt/flink/usrlib/job.jar", "org.example.Job", ("--input", "a b"))
    wrong = []
    for name, options in {**CASES, "template": with_template(EVERYTHING, tmp_path)}.items():
        loaded = configuration(options, version)
        for made in (
            session_configuration(loaded),
            application_configuration(loaded, program),
        ):
            spec = build_jobmanager(made, environ={})
            for obj in (spec.deployment, *spec.accompanying, *pods_of(spec, made)):
                wrong += [f"{name}: {each}" for each in await complaints(accounts, obj)]
    assert wrong == []


async def test_objects_of_all_recorded_scenarios(accounts: Namespace, tmp_path: Path) -> None:
    """What Flink users set, and real Flink was recorded with; each object that differs, once.

    What is refused would also have been refused if Flink itself had sent it.
    """
    seen: set[str] = set()
    wrong = []
    for scenario in load_scenarios("session", "application"):
        if scenario.exit_code != 0:
            continue
        root = tmp_path / scenario.name.replace("/", "-")
        root.mkdir()
        client = Client(root, scenario)
        try:
            spec = client.spec()
        except KubeflinkError:  # a mistake that real Flink did not notice
            continue
        flinks = {(obj["kind"], name_of(obj)): obj for obj in bodies(scenario)}
        for obj in (spec.deployment, *spec.accompanying):
            text = json.dumps(obj)
            if text in seen:
                continue
            seen.add(text)
            if found := await complaints(accounts, obj):
                flinks_own = flinks.get((obj["kind"], name_of(obj)))
                if flinks_own is None or not await complaints(accounts, flinks_own):
                    wrong += [f"{scenario.name}: {each}" for each in found]
    assert len(seen) > 300
    assert wrong == []


@pytest.mark.parametrize("kind", ["session", "application", "taskmanager"])
async def test_manifests_are_taken_by_kubectl(
    accounts: Namespace, kind: str, tmp_path: Path
) -> None:
    values = {**SMALLEST, **HIGH_AVAILABILITY, "kubernetes.namespace": accounts.name}
    options = [f"-D{key}={value}" for key, value in values.items()]
    if kind == "application":
        options += ["-t", "kubernetes-application", "local:///opt/flink/usrlib/job.jar", "a b"]
    made = await Shell(accounts.admin, {}).succeed("manifest", kind, *options)

    told = await Kubectl("", tmp_path, kubeconfig=accounts.admin).run(
        *("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
        # There is no Deployment yet whose uid the pod could name.
        stdin=made.out.replace("uid: ''", f"uid: {UID}"),
    )

    assert (told.code, told.err) == (0, "")
    assert "demo" in told.out
