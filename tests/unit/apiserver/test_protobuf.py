"""The protobuf bodies of kubectl's typed clients."""

from __future__ import annotations

from contextlib import suppress

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.apiserver import protobuf
from kubeflink.errors import ApiStatusError
from support.manifests import CONFIG_MAPS


def varint(value: int) -> bytes:
    value %= 1 << 64
    encoded = b""
    while value > 0x7F:
        encoded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return encoded + bytes([value])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def envelope(kind: str, message: bytes, version: str = "v1") -> bytes:
    meta = field(1, version) + field(2, kind)
    return b"k8s\0" + field(1, meta) + field(2, message) + field(3, "") + field(4, "")


# Plain members that are empty are written, as the Go encoder does.
META = (
    field(1, "a")
    + field(2, "")
    + field(7, 0)
    + field(8, b"")
    + field(11, field(1, "k") + field(2, "v"))
)


def test_a_config_map() -> None:
    entry = field(1, "key") + field(2, "value")
    binary = field(1, "bin") + field(2, b"\xff\x00")
    body = envelope("ConfigMap", field(1, META) + field(2, entry) + field(3, binary))
    assert protobuf.decode(body) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"k": "v"}},
        "data": {"key": "value"},
        "binaryData": {"bin": "/wA="},
    }


def test_a_service_with_both_kinds_of_target_port() -> None:
    def port(target: bytes) -> bytes:
        return field(1, "") + field(2, "TCP") + field(3, 80) + field(4, target) + field(5, 0)

    number = field(1, 0) + field(2, 8081) + field(3, "")
    name = field(1, 1) + field(2, 0) + field(3, "rest")
    spec = field(1, port(number)) + field(1, port(name)) + field(4, "NodePort") + field(13, 0)
    body = envelope("Service", field(1, META) + field(2, spec) + field(3, b""))
    assert protobuf.decode(body)["spec"] == {
        "ports": [
            {"protocol": "TCP", "port": 80, "targetPort": 8081},
            {"protocol": "TCP", "port": 80, "targetPort": "rest"},
        ],
        "type": "NodePort",
    }


def test_a_pointer_to_zero_is_kept() -> None:
    spec = field(1, 0) + field(5, 0) + field(7, 0)
    body = envelope("Deployment", field(1, META) + field(2, spec), "apps/v1")
    assert protobuf.decode(body)["spec"] == {"replicas": 0}


def test_negative_numbers() -> None:
    body = envelope("Deployment", field(2, field(1, -1)), "apps/v1")
    assert protobuf.decode(body)["spec"] == {"replicas": -1}


def test_what_is_not_in_the_table_is_refused_unless_it_is_empty() -> None:
    spec = field(24, "")
    assert protobuf.decode(envelope("Pod", field(2, spec)))["kind"] == "Pod"
    with pytest.raises(ApiStatusError, match="field 24 of PodSpec is not read as protobuf") as why:
        protobuf.decode(envelope("Pod", field(2, field(24, "high"))))
    assert why.value.code == 415
    with pytest.raises(ApiStatusError, match="Lease is not read as protobuf"):
        protobuf.decode(envelope("Lease", b""))


@given(st.binary())
def test_nonsense_is_an_error_of_the_client(data: bytes) -> None:
    for body in (data, b"k8s\0" + data, envelope("Deployment", data)):
        with suppress(ApiStatusError):
            assert protobuf.decode(body)["kind"] == "Deployment"


async def test_over_http(http: aiohttp.ClientSession) -> None:
    body = envelope("ConfigMap", field(1, META))
    headers = {"Content-Type": "application/vnd.kubernetes.protobuf"}
    async with http.post(CONFIG_MAPS, data=body, headers=headers) as answer:
        assert answer.status == 201
        assert answer.content_type == "application/json"
