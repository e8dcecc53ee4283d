"""Kubernetes' protobuf encoding, as far as `kubectl` sends it.

`kubectl create` and `kubectl auth can-i` use typed clients, which in current versions send objects
as protobuf and do not fall back to JSON. So those kinds are read here, by a table of field numbers
(from the published `generated.proto` files). A field that is not in the table is refused rather
than lost; answers are always JSON, which these clients accept.

The encoding writes zero values of plain members and leaves unset pointers out. Hence a zero is kept
only for members that are pointers in Go, which the table marks with `?`.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubeflink.apiserver import statuses
from kubeflink.errors import ApiStatusError
from kubeflink.objects import JsonObject

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"

# Number, name, type. Types: `text`, `int`, `bool`, `bytes`, a message of this table; `*` before it:
# a list; `map:TYPE`; `?` behind it: a pointer; `-`: read over (what only the server writes).
_TABLE = """
ConfigMap: 1 metadata ObjectMeta, 2 data map:text, 3 binaryData map:bytes, 4 immutable bool?
Secret: 1 metadata ObjectMeta, 2 data map:bytes, 3 type text, 4 stringData map:text,
  5 immutable bool?
Namespace: 1 metadata ObjectMeta, 2 spec NamespaceSpec, 3 status -
NamespaceSpec: 1 finalizers *text
ServiceAccount: 1 metadata ObjectMeta, 2 secrets *ObjectReference,
  3 imagePullSecrets *LocalReference, 4 automountServiceAccountToken bool?
ObjectReference: 1 kind text, 2 namespace text, 3 name text, 4 uid text, 5 apiVersion text,
  6 resourceVersion text, 7 fieldPath text
LocalReference: 1 name text
Service: 1 metadata ObjectMeta, 2 spec ServiceSpec, 3 status -
ServiceSpec: 1 ports *ServicePort, 2 selector map:text, 3 clusterIP text, 4 type text,
  5 externalIPs *text, 7 sessionAffinity text, 8 loadBalancerIP text,
  9 loadBalancerSourceRanges *text, 10 externalName text, 11 externalTrafficPolicy text,
  12 healthCheckNodePort int, 13 publishNotReadyAddresses bool, 17 ipFamilyPolicy text?,
  18 clusterIPs *text, 19 ipFamilies *text, 20 allocateLoadBalancerNodePorts bool?,
  21 loadBalancerClass text?, 22 internalTrafficPolicy text?, 23 trafficDistribution text?
ServicePort: 1 name text, 2 protocol text, 3 port int, 4 targetPort IntOrString, 5 nodePort int,
  6 appProtocol text?
IntOrString: 1 type int, 2 intVal int, 3 strVal text
Deployment: 1 metadata ObjectMeta, 2 spec DeploymentSpec, 3 status -
DeploymentSpec: 1 replicas int?, 2 selector LabelSelector?, 3 template PodTemplateSpec,
  4 strategy DeploymentStrategy, 5 minReadySeconds int, 6 revisionHistoryLimit int?, 7 paused bool,
  9 progressDeadlineSeconds int?
DeploymentStrategy: 1 type text, 2 rollingUpdate RollingUpdate?
RollingUpdate: 1 maxUnavailable IntOrString?, 2 maxSurge IntOrString?
LabelSelector: 1 matchLabels map:text, 2 matchExpressions *LabelRequirement
LabelRequirement: 1 key text, 2 operator text, 3 values *text
PodTemplateSpec: 1 metadata ObjectMeta, 2 spec PodSpec
Pod: 1 metadata ObjectMeta, 2 spec PodSpec, 3 status -
PodSpec: 2 containers *Container, 3 restartPolicy text, 4 terminationGracePeriodSeconds int?,
  5 activeDeadlineSeconds int?, 6 dnsPolicy text, 7 nodeSelector map:text,
  8 serviceAccountName text, 9 serviceAccount text, 10 nodeName text, 11 hostNetwork bool,
  12 hostPID bool, 13 hostIPC bool, 15 imagePullSecrets *LocalReference, 16 hostname text,
  17 subdomain text, 19 schedulerName text, 20 initContainers *Container,
  21 automountServiceAccountToken bool?
Container: 1 name text, 2 image text, 3 command *text, 4 args *text, 5 workingDir text,
  6 ports *ContainerPort, 7 env *EnvVar, 8 resources Resources, 13 terminationMessagePath text,
  14 imagePullPolicy text, 16 stdin bool, 17 stdinOnce bool, 18 tty bool,
  20 terminationMessagePolicy text
ContainerPort: 1 name text, 2 hostPort int, 3 containerPort int, 4 protocol text, 5 hostIP text
EnvVar: 1 name text, 2 value text
Resources: 1 limits map:Quantity, 2 requests map:Quantity
Quantity: 1 string text
ObjectMeta: 1 name text, 2 generateName text, 3 namespace text, 4 selfLink -, 5 uid text,
  6 resourceVersion text, 7 generation -, 8 creationTimestamp -, 9 deletionTimestamp -,
  10 deletionGracePeriodSeconds -, 11 labels map:text, 12 annotations map:text,
  13 ownerReferences *OwnerReference, 14 finalizers *text, 17 managedFields -
OwnerReference: 1 kind text, 3 name text, 4 uid text, 5 apiVersion text, 6 controller bool?,
  7 blockOwnerDeletion bool?
SelfSubjectAccessReview: 1 metadata ObjectMeta, 2 spec AccessReviewSpec, 3 status -
AccessReviewSpec: 1 resourceAttributes ResourceAttributes?, 2 nonResourceAttributes PathAttributes?
ResourceAttributes: 1 namespace text, 2 verb text, 3 group text, 4 version text, 5 resource text,
  6 subresource text, 7 name text
PathAttributes: 1 path text, 2 verb text
TypeMeta: 1 apiVersion text, 2 kind text
Unknown: 1 typeMeta TypeMeta, 2 raw bytes, 3 contentEncoding text, 4 contentType text
"""


@dataclass(frozen=True, slots=True)
class _Member:
    """One line of the table."""

    name: str
    type: str
    many: bool = False
    map: bool = False
    pointer: bool = False

    @classmethod
    def parse(cls, name: str, text: str) -> _Member:
        return cls(
            name,
            text.removeprefix("*").removeprefix("map:").removesuffix("?"),
            many=text.startswith("*"),
            map=text.startswith("map:"),
            pointer=text.endswith("?"),
        )


def _messages() -> dict[str, dict[int, _Member]]:
    messages: dict[str, dict[int, _Member]] = {}
    for line in _TABLE.strip().replace("\n  ", " ").splitlines():
        message, _, members = line.partition(":")
        entries = (member.split() for member in members.split(", "))
        messages[message] = {
            int(number): _Member.parse(name, kind) for number, name, kind in entries
        }
    return messages


_MESSAGES = _messages()


def decode(body: bytes) -> JsonObject:
    """The object in a request body; a 400 or 415 error for what cannot be read."""
    try:
        if not body.startswith(_MAGIC):
            raise ValueError("the prefix is missing")
        unknown = _message("Unknown", body[len(_MAGIC) :], raw=True)
        meta = unknown["typeMeta"]
        if meta["kind"] not in _MESSAGES:
            raise _unreadable(f"{meta['kind']} is not read as protobuf")
        return {
            "apiVersion": meta["apiVersion"],
            "kind": meta["kind"],
            **_message(meta["kind"], unknown["raw"]),
        }
    except (ValueError, KeyError, IndexError, struct.error) as error:
        raise statuses.bad_request(f"the protobuf body cannot be read: {error}") from error


def _unreadable(why: str) -> ApiStatusError:
    return statuses.failure(415, f"{why}; send application/json")


def _message(name: str, data: bytes, *, raw: bool = False) -> JsonObject:
    members = _MESSAGES[name]
    result: JsonObject = {}
    for number, value in _fields(data):
        member = members.get(number)
        if member is None and not value:
            continue  # the zero value of a plain member
        if member is None:
            raise _unreadable(f"field {number} of {name} is not read as protobuf")
        if member.type == "-":
            continue
        if member.map:
            key, item = _entry(member.type, value)
            result.setdefault(member.name, {})[key] = item
            continue
        read = value if raw and member.type == "bytes" else _value(member.type, value)
        if member.many:
            result.setdefault(member.name, []).append(read)
        elif read or member.pointer:
            result[member.name] = read
    return result


def _value(kind: str, value: Any) -> Any:
    if kind == "text":
        return bytes(value).decode()
    if kind == "int":
        return value - (1 << 64) if value >= 1 << 63 else value
    if kind == "bool":
        return bool(value)
    if kind == "bytes":
        return b64encode(value).decode()
    message = _message(kind, value)
    if kind == "IntOrString":
        return message.get("strVal", "") if message.get("type") else message.get("intVal", 0)
    return message.get("string", "0") if kind == "Quantity" else message


def _entry(kind: str, data: bytes) -> tuple[str, Any]:
    entry = dict(_fields(data))
    return bytes(entry.get(1, b"")).decode(), _value(kind, entry.get(2, b""))


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Number and value of each field: an int for a varint, bytes for everything with a length."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
        elif wire == 2:
            length, at = _varint(data, at)
            if at + length > len(data):
                raise ValueError("a field is longer than the body")
            yield tag >> 3, data[at : at + length]
            at += length
        else:
            raise ValueError(f"wire type {wire}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")
