"""Real Flink whose REST API speaks TLS: it shows who it is, and its clients do so, too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kubeflink import objects
from kubeflink.cluster import runner
from kubeflink.config.yaml import dump_flink
from kubeflink.local.cluster import EmbeddedCluster
from support.certificates import PASSWORD, Stores, make_stores
from support.embedded import SMALL_SESSION
from support.shell import Done, Shell

pytestmark = [
    pytest.mark.flink,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]

PROGRAM = (
    *("-c", runner.MAIN_CLASS, str(runner.jar())),
    "CREATE TABLE s (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '9')",
    "CREATE TABLE k (n INT) WITH ('connector' = 'blackhole')",
    "INSERT INTO k SELECT n FROM s",
)


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return make_stores(tmp_path / "stores")


def shell(kubernetes: EmbeddedCluster, tmp_path: Path, options: dict[str, str]) -> Shell:
    """Calls with a configuration directory."""
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "config.yaml").write_text(dump_flink({**SMALL_SESSION, **options}), encoding="utf-8")
    return Shell(kubernetes.kubeconfig, {"FLINK_CONF_DIR": str(conf)})


def told(*calls: Done) -> str:
    return "".join(each.out + each.err for each in calls)


async def test_a_session_with_tls(
    kubernetes: EmbeddedCluster, tmp_path: Path, stores: Stores
) -> None:
    kubeflink = shell(kubernetes, tmp_path, stores.options())
    named = ("--session", "secure")
    trusted = ("--rest-ca", str(stores.authority_pem))
    target = ("-t", "kubernetes-session", "-Dkubernetes.cluster-id=secure")
    stranger = ("--rest-ca", str(make_stores(tmp_path / "other").authority_pem))

    started = await kubeflink.succeed("session", "start", "secure")
    ran = await kubeflink.succeed("run", *named, *trusted, *PROGRAM)
    listed = await kubeflink.succeed("list", *named, *trusted, "-a", "-o", "json")
    by_api_server = await kubeflink.succeed("list", *named, "-a", "-o", "json")
    as_flink = await kubeflink.succeed("list", *target, "-a")
    refused = await kubeflink("list", *named, *stranger)
    described = await kubeflink.succeed("describe", "secure")

    (job,) = listed.json
    assert (job["jid"], job["state"]) == (ran.job, "FINISHED")
    assert [each["jid"] for each in by_api_server.json] == [ran.job]
    assert f"{ran.job} : " in as_flink.out
    assert "FINISHED" in described.out
    assert refused.code == 1
    assert "has a certificate that is not trusted" in refused.err
    assert "--rest-ca FILE" in refused.err
    assert PASSWORD not in told(started, ran, listed, by_api_server, as_flink, refused, described)
    await kubeflink.succeed("session", "stop", "secure")


async def test_a_session_that_wants_certificates_of_its_clients(
    kubernetes: EmbeddedCluster, tmp_path: Path, stores: Stores
) -> None:
    options = {
        **stores.options(mutual=True),
        "kubernetes.rest-service.exposed.type": "NodePort",
        "security.ssl.rest.cert.fingerprint": stores.fingerprint,
    }
    kubeflink = shell(kubernetes, tmp_path, options)
    named = ("--session", "mutual")
    trusted = ("--rest-ca", str(stores.authority_pem))
    shown = ("--rest-cert", str(stores.keystore))

    await kubeflink.succeed("session", "start", "mutual")
    with_store = replace(kubeflink, more={**kubeflink.more, "KUBEFLINK_REST_PASSWORD": PASSWORD})
    listed = await with_store.succeed("list", *named, *trusted, *shown, "-o", "json")
    anonymous = await kubeflink("list", *named, *trusted)
    service = await kubernetes.store.get(objects.SERVICES, "default", "mutual-rest")
    port = service["spec"]["ports"][0]["nodePort"]
    remote = await kubeflink.succeed("run", "-m", f"127.0.0.1:{port}", *PROGRAM)
    plain = await Shell(kubernetes.kubeconfig, {})("list", "-m", f"127.0.0.1:{port}")

    assert listed.json == []
    assert anonymous.code == 1
    assert "--rest-cert FILE" in anonymous.err
    assert remote.job
    assert plain.code == 1
    assert "speaks TLS" in plain.err
    assert "security.ssl.rest.enabled=true" in plain.err
    assert PASSWORD not in told(listed, anonymous, remote, plain)
    await kubeflink.succeed("session", "stop", "mutual")
