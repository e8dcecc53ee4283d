"""What goes over the wire, compared with what kubectl sends with the same kubeconfig."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web

from kubeflink import objects
from kubeflink.errors import ApiUnreachableError, KubeconfigError, NotFoundError, UnauthorizedError
from kubeflink.kube import KubeClient, Limits
from support.api_stub import ApiStub, Seen, answer, watching
from support.commands import kubectl
from support.silent_tls import silent_tls

from .conftest import QUICK, Certificates

POD = "/api/v1/namespaces/flink-jobs/pods/x"
HEADERS = ("Authorization", "Impersonate-")


async def by_kubectl(kubeconfig: Path, environ: dict[str, str]) -> None:
    """Let kubectl ask for the pod."""
    process = await asyncio.create_subprocess_exec(
        kubectl(),
        "--kubeconfig",
        str(kubeconfig),
        "get",
        "--raw",
        POD,
        env={"PATH": os.environ["PATH"], "HOME": str(kubeconfig.parent), **environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()


async def by_us(kubeconfig: Path, environ: dict[str, str]) -> None:
    """Ask for the same pod."""
    async with KubeClient.connect(
        kubeconfig=kubeconfig, environ={"PATH": os.environ["PATH"], **environ}, limits=QUICK
    ) as client:
        await client.get(objects.PODS, "x")


async def by_us_without_answer(kubeconfig: Path) -> None:
    """Ask for a pod that is not there."""
    with pytest.raises(NotFoundError):
        await by_us(kubeconfig, {})


def identity(seen: Seen) -> dict[str, Any]:
    """Everything in a request that says who asks."""
    headers = sorted(
        (name.title(), value)
        for name, value in seen.header_items
        if name.title().startswith(HEADERS)
    )
    subject = seen.peer_certificate and seen.peer_certificate["subject"]
    return {"path": seen.path, "headers": headers, "certificate": subject}


async def same_as_kubectl(stub: ApiStub, kubeconfig: Path, **environ: str) -> dict[str, Any]:
    stub.store(POD, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}})
    await by_kubectl(kubeconfig, environ)
    theirs = identity(stub.seen[-1])
    stub.seen.clear()
    await by_us(kubeconfig, environ)
    assert identity(stub.seen[-1]) == theirs
    return theirs


def script(file: Path, *lines: str) -> Path:
    """An executable Python script."""
    file.write_text("\n".join((f"#!{sys.executable}", *lines)) + "\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


@pytest.fixture
async def secure(certificates: Certificates) -> AsyncIterator[ApiStub]:
    """With TLS: kubectl sends no credentials without it."""
    async with ApiStub(tls=certificates.server()) as stub:
        yield stub


IDENTITIES = {
    "token": "{token: abc}",
    "token file": "{tokenFile: tok}",
    "token file and token": "{token: abc, tokenFile: tok}",
    "missing token file and token": "{token: abc, tokenFile: missing}",
    "password": "{username: ü, password: 'p:w'}",
    "token and plug-in": "{token: abc, exec: {apiVersion: client.authentication.k8s.io/v1,"
    " command: ./none, interactiveMode: Never}}",
    "impersonation": "{token: abc, as: boss, as-uid: u1, as-groups: [g1, g2],"
    " as-user-extra: {scopes: [a, b], 'Example.com/Über': [c]}}",
    "impersonation of names with umlauts": "{token: abc, as: Jörg, as-groups: [Ämter],"
    " as-user-extra: {scopes: [ö]}}",
}


@pytest.mark.parametrize("name", IDENTITIES)
async def test_credentials_go_out_as_kubectl_sends_them(
    secure: ApiStub, certificates: Certificates, tmp_path: Path, name: str
) -> None:
    tmp_path.joinpath("tok").write_text("from-file\n")
    cluster = f"certificate-authority: {certificates.ca_file}"

    found = await same_as_kubectl(
        secure, secure.kubeconfig(tmp_path, user=IDENTITIES[name], cluster=cluster)
    )

    assert found["headers"][0][0] == "Authorization"
    assert len(found["headers"]) == {
        "impersonation": 8,
        "impersonation of names with umlauts": 4,
    }.get(name, 1)


async def test_nobody(stub: ApiStub, tmp_path: Path) -> None:
    found = await same_as_kubectl(stub, stub.kubeconfig(tmp_path))

    assert found["headers"] == []


async def test_credentials_go_out_by_plain_http_too_and_this_is_said(
    stub: ApiStub, tmp_path: Path
) -> None:
    """kubectl would leave them out in silence, and the server's answer would mislead."""
    file = stub.kubeconfig(tmp_path, user="{token: abc}")

    await by_us_without_answer(file)

    assert stub.seen[-1].headers["Authorization"] == "Bearer abc"
    assert KubeClient.connect(kubeconfig=file, environ={}).access.notices == ()
    file.write_text(file.read_text().replace("127.0.0.1", "kube.example"))
    notices = KubeClient.connect(kubeconfig=file, environ={}).access.notices
    assert len(notices) == 1
    assert "unencrypted" in notices[0]


async def test_a_path_in_front_of_the_api(stub: ApiStub, tmp_path: Path) -> None:
    file = stub.kubeconfig(tmp_path)
    file.write_text(file.read_text().replace(stub.url, f"{stub.url}/k8s/clusters/c-1/"))
    stub.store(f"/k8s/clusters/c-1{POD}", {"kind": "Pod", "metadata": {"name": "x"}})

    found = await same_as_kubectl(stub, file)

    assert found["path"] == f"/k8s/clusters/c-1{POD}"


@pytest.mark.parametrize("inline", [False, True], ids=["files", "data"])
async def test_a_client_certificate(
    certificates: Certificates, tmp_path: Path, inline: bool
) -> None:
    certificate, key = certificates.client()
    # With a comment, in one encoding or the other, as bundles have them.
    comments = iter("# Zürich\n".encode(name) for name in ("utf-8", "latin-1", "utf-8"))
    encode = lambda file: base64.b64encode(next(comments) + file.read_bytes()).decode()  # noqa: E731
    if inline:
        user = f"{{client-certificate-data: {encode(certificate)}, client-key-data: {encode(key)}}}"
        cluster = f"certificate-authority-data: {encode(certificates.ca_file)}"
    else:
        user = "{client-certificate: pki/tester.crt, client-key: pki/tester.key}"
        cluster = f"certificate-authority: {certificates.ca_file.relative_to(tmp_path)}"
    async with ApiStub(tls=certificates.server()) as stub:
        found = await same_as_kubectl(stub, stub.kubeconfig(tmp_path, user=user, cluster=cluster))

    assert "tester" in str(found["certificate"])


async def test_a_server_name_other_than_the_host(
    certificates: Certificates, tmp_path: Path
) -> None:
    cluster = f"certificate-authority: {certificates.ca_file}, tls-server-name: kube.inside"
    async with ApiStub(tls=certificates.server("kube.inside")) as stub:
        await same_as_kubectl(stub, stub.kubeconfig(tmp_path, user="{token: abc}", cluster=cluster))


async def test_insecure_skips_the_check_and_keeps_the_client_certificate(
    certificates: Certificates, tmp_path: Path
) -> None:
    """Neither the authority nor the name of the server is right here."""
    certificate, key = certificates.client()
    user = f"{{client-certificate: {certificate}, client-key: {key}}}"
    async with ApiStub(tls=certificates.server("somewhere.else")) as stub:
        file = stub.kubeconfig(tmp_path, user=user, cluster="insecure-skip-tls-verify: true")

        found = await same_as_kubectl(stub, file)

        assert "tester" in str(found["certificate"])
        assert KubeClient.connect(kubeconfig=file, environ={}).access.notices


async def test_an_unknown_authority_is_an_error_at_once(
    certificates: Certificates, tmp_path: Path
) -> None:
    async with ApiStub(tls=certificates.server()) as stub:
        file = stub.kubeconfig(tmp_path)
        # A limit that a test would run into if this were tried again.
        limits = Limits(total=3600, first_contact=3600)
        async with KubeClient.connect(kubeconfig=file, environ={}, limits=limits) as client:
            with pytest.raises(ApiUnreachableError, match="certificate is not trusted") as caught:
                await client.get(objects.PODS, "x")

    assert "certificate-authority" in str(caught.value.hint)
    assert stub.seen == []


async def test_a_wrong_server_name_is_an_error(certificates: Certificates, tmp_path: Path) -> None:
    cluster = f"certificate-authority: {certificates.ca_file}"
    async with ApiStub(tls=certificates.server("somewhere.else")) as stub:
        file = stub.kubeconfig(tmp_path, cluster=cluster)
        async with KubeClient.connect(kubeconfig=file, environ={}, limits=QUICK) as client:
            with pytest.raises(ApiUnreachableError, match="certificate is not trusted"):
                await client.get(objects.PODS, "x")


@pytest.mark.parametrize(
    ("user", "cluster", "pattern"),
    [
        ("{client-certificate: none.crt, client-key: none.key}", "", "none.crt: No such file"),
        ("{client-certificate: kubeconfig, client-key: kubeconfig}", "", "client certificate"),
        ("{}", "certificate-authority: none.crt", "none.crt: No such file"),
        ("{}", "certificate-authority: kubeconfig", "Cannot use .*kubeconfig"),
        ("{}", "certificate-authority-data: eA==", "certificate-authority-data"),
    ],
)
async def test_unusable_certificates_are_found_before_any_request(
    certificates: Certificates, tmp_path: Path, user: str, cluster: str, pattern: str
) -> None:
    async with ApiStub(tls=certificates.server()) as stub:
        file = stub.kubeconfig(tmp_path, user=user, cluster=cluster)

        with pytest.raises(KubeconfigError, match=pattern):
            KubeClient.connect(kubeconfig=file, environ={})


async def test_no_key_is_left_in_a_file(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    certificate, key = certificates.client()
    encode = lambda file: base64.b64encode(file.read_bytes()).decode()  # noqa: E731
    user = f"{{client-certificate-data: {encode(certificate)}, client-key-data: {encode(key)}}}"
    async with ApiStub(tls=certificates.server()) as stub:
        cluster = "insecure-skip-tls-verify: true"
        file = stub.kubeconfig(tmp_path, user=user, cluster=cluster)
        async with KubeClient.connect(kubeconfig=file, environ={}, limits=QUICK):
            assert list(scratch.iterdir()) == []


async def test_an_unreadable_token_file_is_told_and_nothing_is_sent(
    stub: ApiStub, tmp_path: Path
) -> None:
    tmp_path.joinpath("tok").symlink_to(tmp_path / "tok")
    file = stub.kubeconfig(tmp_path, user="{tokenFile: tok}")

    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        with pytest.raises(KubeconfigError, match=r"Cannot read token file .*/tok: "):
            await client.get(objects.PODS, "x")

    assert stub.seen == []


async def test_an_empty_token_file_is_told_and_nothing_is_sent(
    stub: ApiStub, tmp_path: Path
) -> None:
    tmp_path.joinpath("tok").write_text("\n")
    file = stub.kubeconfig(tmp_path, user="{tokenFile: tok}")

    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        with pytest.raises(KubeconfigError, match="is empty"):
            await client.get(objects.PODS, "x")

    assert stub.seen == []


async def test_a_token_file_is_read_again(stub: ApiStub, tmp_path: Path) -> None:
    """The kubelet replaces the file long before the token in it expires."""
    token = tmp_path / "tok"
    token.write_text("one")
    stub.token = "one"
    file = stub.kubeconfig(tmp_path, user="{tokenFile: tok}")
    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        await client.list(objects.PODS)
        token.write_text("two")
        stub.token = "two"
        await client.list(objects.PODS)

    assert len(stub.seen) == 2


async def test_a_token_file_of_several_lines_is_told_without_them(
    stub: ApiStub, tmp_path: Path
) -> None:
    """The HTTP library would refuse the header, and show it."""
    tmp_path.joinpath("tok").write_text("s3cret-1\ns3cret-2\n")
    file = stub.kubeconfig(tmp_path, user="{tokenFile: tok}")

    async with KubeClient.connect(kubeconfig=file, environ={}, limits=QUICK) as client:
        with pytest.raises(KubeconfigError, match="tok has a line break") as caught:
            await client.list(objects.PODS)

    assert "s3cret" not in str(caught.value)
    assert stub.seen == []


async def test_wrong_credentials_are_told_without_the_secret(stub: ApiStub, tmp_path: Path) -> None:
    stub.token = "right"
    file = stub.kubeconfig(tmp_path, user="{token: wr0ng}")

    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        with pytest.raises(UnauthorizedError) as caught:
            await client.get(objects.PODS, "x")

    assert 'user "tester"' in caught.value.message
    assert stub.url in caught.value.message
    assert "wr0ng" not in str(caught.value)
    assert len(stub.seen) == 1


# Exec plug-ins

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


def plugin(directory: Path, api_version: str, status: str) -> Path:
    """A plug-in that counts its runs in `runs`, records what it is told, and prints `status`."""
    return script(
        directory / "plugin",
        "import json, os, pathlib, sys, datetime",
        f"home = pathlib.Path({str(directory)!r})",
        "runs = home / 'runs'",
        "run = int(runs.read_text()) + 1 if runs.exists() else 1",
        "runs.write_text(str(run))",
        "told = {'info': json.loads(os.environ['KUBERNETES_EXEC_INFO']), 'args': sys.argv[1:],"
        " 'region': os.environ.get('REGION'), 'inherited': os.environ.get('INHERITED')}",
        "(home / 'told').write_text(json.dumps(told))",
        "def later(seconds):",
        "    now = datetime.datetime.now(datetime.timezone.utc)",
        "    end = now + datetime.timedelta(seconds=seconds)",
        "    return end.strftime('%Y-%m-%dT%H:%M:%SZ')",
        f"print(json.dumps({{'apiVersion': {api_version!r}, 'kind': 'ExecCredential',"
        f" 'status': {status}}}))",
    )


def plugged(api_version: str = V1, mode: str = "Never", **more: Any) -> str:
    fields = {
        "apiVersion": api_version,
        "command": "./plugin",
        "args": ["--audience", "two words"],
        "env": [{"name": "REGION", "value": "eu"}],
        "interactiveMode": mode,
        **more,
    }
    return json.dumps({"exec": fields})


def runs(directory: Path) -> int:
    return int(directory.joinpath("runs").read_text())


@pytest.mark.parametrize("api_version", [V1, V1BETA1])
@pytest.mark.parametrize("informed", [True, False])
async def test_a_plugin_is_told_what_kubectl_tells_it(
    certificates: Certificates, tmp_path: Path, api_version: str, informed: bool
) -> None:
    plugin(tmp_path, api_version, "{'token': 'plugged'}")
    cluster = (
        f"certificate-authority: {certificates.ca_file}, tls-server-name: kube.inside,"
        " extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: [a, b]}}]"
    )
    user = plugged(api_version, provideClusterInfo=informed)
    async with ApiStub(tls=certificates.server("kube.inside"), token="plugged") as stub:
        file = stub.kubeconfig(tmp_path, user=user, cluster=cluster)
        stub.store(POD, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}})
        await by_kubectl(file, {"INHERITED": "yes"})
        theirs = json.loads(tmp_path.joinpath("told").read_text())
        tmp_path.joinpath("told").unlink()
        await by_us(file, {"INHERITED": "yes"})

    ours = json.loads(tmp_path.joinpath("told").read_text())
    assert ours == theirs
    assert ours["args"] == ["--audience", "two words"]
    assert ("cluster" in ours["info"]["spec"]) is informed


async def test_a_plugin_runs_once_for_many_requests(stub: ApiStub, tmp_path: Path) -> None:
    plugin(tmp_path, V1, "{'token': 'plugged', 'expirationTimestamp': later(3600)}")
    stub.token = "plugged"
    file = stub.kubeconfig(tmp_path, user=plugged())

    async with (
        KubeClient.connect(kubeconfig=file, environ={}) as client,
        asyncio.TaskGroup() as group,
    ):
        for _ in range(5):
            group.create_task(client.list(objects.PODS))

    assert runs(tmp_path) == 1
    assert stub.count("GET") == 5


async def test_a_plugin_runs_again_before_its_credential_expires(
    stub: ApiStub, tmp_path: Path
) -> None:
    """No request may go out with a token that has expired by the server's clock."""
    plugin(tmp_path, V1, "{'token': f'token-{run}', 'expirationTimestamp': later(2)}")
    file = stub.kubeconfig(tmp_path, user=plugged())

    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        await client.list(objects.PODS)
        await asyncio.sleep(2.1)
        await client.list(objects.PODS)

    sent = [one.headers["Authorization"] for one in stub.seen]
    assert len(sent) == 2
    assert sent[0] != sent[1]


async def test_a_refused_credential_is_renewed_once_and_nothing_is_made_twice(
    stub: ApiStub, tmp_path: Path
) -> None:
    plugin(tmp_path, V1, "{'token': f'token-{run}'}")
    stub.token = "token-1"
    file = stub.kubeconfig(tmp_path, user=plugged())
    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        await client.list(objects.PODS)
        stub.token = "token-2"
        async with asyncio.TaskGroup() as group:
            for index in range(4):
                pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{index}"}}
                group.create_task(client.create(pod))
        made = await client.list(objects.PODS)

    assert len(made.items) == 4
    assert runs(tmp_path) == 2


async def test_a_credential_that_stays_refused_is_an_error(stub: ApiStub, tmp_path: Path) -> None:
    plugin(tmp_path, V1, "{'token': f'token-{run}'}")
    stub.token = "another"
    file = stub.kubeconfig(tmp_path, user=plugged())
    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        with pytest.raises(UnauthorizedError):
            await client.list(objects.PODS)

    assert runs(tmp_path) == 2
    assert len(stub.seen) == 2


async def test_a_watch_is_opened_with_a_renewed_credential(stub: ApiStub, tmp_path: Path) -> None:
    plugin(tmp_path, V1, "{'token': f'token-{run}'}")
    stub.token = "token-2"
    stub.watches = [watching({"type": "BOOKMARK", "object": {"metadata": {}}})]
    file = stub.kubeconfig(tmp_path, user=plugged())
    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        events = [event async for event in client.watch(objects.PODS, resource_version="1")]

    assert [event.type for event in events] == ["BOOKMARK"]


async def test_client_certificates_of_a_plugin_follow_their_renewal(
    certificates: Certificates, tmp_path: Path
) -> None:
    """Each run gives another certificate; connections with the old one take no new request."""
    for name in ("first", "second"):
        certificates.client(name)
    status = (
        "{'clientCertificateData': (home / 'pki' / (names[run - 1] + '.crt')).read_text(),"
        " 'clientKeyData': (home / 'pki' / (names[run - 1] + '.key')).read_text()}"
    )
    made = plugin(tmp_path, V1, status)
    made.write_text(made.read_text().replace("def later", "names = ['first', 'second']\ndef later"))
    async with ApiStub(tls=certificates.server()) as stub:
        cluster = f"certificate-authority: {certificates.ca_file}"
        file = stub.kubeconfig(tmp_path, user=plugged(), cluster=cluster)
        stub.store(POD, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}})
        async with KubeClient.connect(kubeconfig=file, environ={}) as client:
            await client.get(objects.PODS, "x")
            stub.faults.append(("GET", answer(401, "expired", "Unauthorized")))
            await client.get(objects.PODS, "x")

    shown = [str(one.peer_certificate["subject"]) for one in stub.seen]
    assert ["first" in shown[0], "first" in shown[1], "second" in shown[2]] == [True] * 3


async def test_certificates_in_files_are_read_again_when_they_have_changed(
    certificates: Certificates, tmp_path: Path
) -> None:
    """Others renew them: a long-lived process must not go on with one that has expired."""
    (first, first_key), (second, second_key) = (certificates.client(name) for name in "ab")
    user = f"{{client-certificate: {first}, client-key: {first_key}}}"
    async with ApiStub(tls=certificates.server()) as stub:
        cluster = f"certificate-authority: {certificates.ca_file}"
        file = stub.kubeconfig(tmp_path, user=user, cluster=cluster)
        stub.store(POD, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}})
        async with KubeClient.connect(kubeconfig=file, environ={}, limits=QUICK) as client:
            await client.get(objects.PODS, "x")
            second.replace(first)
            await client.get(objects.PODS, "x")  # the key is still that of the old one
            second_key.replace(first_key)
            await client.get(objects.PODS, "x")
            await client.get(objects.PODS, "x")

    shown = [one.peer_certificate["subject"][-1][0][1] for one in stub.seen]
    assert shown == ["a", "a", "b", "b"]


async def test_an_authority_in_a_file_is_read_again_when_it_has_changed(
    certificates: Certificates, tmp_path: Path
) -> None:
    """As with the service account of a pod, when the authority of the cluster is renewed."""
    authority = tmp_path / "ca.crt"
    trustme.CA().cert_pem.write_to_path(str(authority))
    async with ApiStub(tls=certificates.server()) as stub:
        file = stub.kubeconfig(tmp_path, cluster=f"certificate-authority: {authority}")
        async with KubeClient.connect(kubeconfig=file, environ={}, limits=QUICK) as client:
            with pytest.raises(ApiUnreachableError, match="not trusted"):
                await client.list(objects.PODS)
            certificates.ca_file.replace(authority)
            await client.list(objects.PODS)


FAULTY = {
    "no JSON": ("print('token')", "did not print JSON"),
    "JSON without end": ("print('[' * 100_000)", "did not print JSON"),
    "a time that is none": (
        f'print(\'{{"kind": "ExecCredential", "apiVersion": "{V1}",\''
        ' \'"status": {"token": "a", "expirationTimestamp": "s3cret"}}\')',
        "expirationTimestamp that is no time",
    ),
    "a token of two lines": (
        f'print(r\'{{"kind": "ExecCredential", "apiVersion": "{V1}",\''
        ' r\'"status": {"token": "s3cret\\n-line"}}\')',
        "a token that has a line break",
    ),
    "another kind": ('print(\'{"kind": "Pod"}\')', "did not print an ExecCredential"),
    "a failure": (
        "import sys; print('please log in first', file=sys.stderr); sys.exit(3)",
        "exit code 3: please log in first",
    ),
    "another version": (
        f'print(\'{{"kind": "ExecCredential", "apiVersion": "{V1BETA1}"}}\')',
        "v1beta1, but the kubeconfig says",
    ),
    "no credential": (
        f'print(\'{{"kind": "ExecCredential", "apiVersion": "{V1}", "status": {{}}}}\')',
        "neither a token nor",
    ),
}


@pytest.mark.parametrize("name", FAULTY)
async def test_a_plugin_that_fails_is_told_and_nothing_is_sent(
    stub: ApiStub, tmp_path: Path, name: str
) -> None:
    code, pattern = FAULTY[name]
    script(tmp_path / "plugin", code)
    file = stub.kubeconfig(tmp_path, user=plugged(installHint="Install it\nfrom here."))

    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        with pytest.raises(KubeconfigError, match=pattern) as caught:
            await client.list(objects.PODS)

    assert stub.seen == []
    assert len(str(caught.value).splitlines()) <= 3
    assert "s3cret" not in str(caught.value)


async def test_a_plugin_that_fails_after_a_refusal_leaves_no_connection(
    stub: ApiStub, tmp_path: Path
) -> None:
    made = plugin(tmp_path, V1, "{'token': f'token-{run}'}")
    made.write_text(made.read_text().replace("def later", "if run > 1: sys.exit(1)\ndef later"))
    file = stub.kubeconfig(tmp_path, user=plugged())
    closed = asyncio.Event()
    release = asyncio.Event()

    async def refuse_slowly(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        response = web.StreamResponse(status=401)
        await response.prepare(request)
        await response.write(b"{")
        try:
            await release.wait()
        except asyncio.CancelledError:
            closed.set()
            raise
        return response

    stub.faults.append(("GET", refuse_slowly))
    async with KubeClient.connect(kubeconfig=file, environ={}, limits=QUICK) as client:
        with pytest.raises(KubeconfigError, match="exit code 1"):
            await client.list(objects.PODS)
        async with asyncio.timeout(30):
            await closed.wait()


async def test_the_time_that_a_plugin_takes_is_not_the_servers(
    stub: ApiStub, tmp_path: Path
) -> None:
    """Somebody may log in with a browser for minutes: no limit of a request counts meanwhile."""
    made = plugin(tmp_path, V1, "{'token': 'x'}")
    made.write_text(
        made.read_text().replace("def later", "import time; time.sleep(1.8)\ndef later")
    )
    file = stub.kubeconfig(tmp_path, user=plugged())
    stub.faults.append(("GET", answer(503)))
    limits = Limits(total=1.5, answer=1.5, pause=0.02)

    async with KubeClient.connect(kubeconfig=file, environ={}, limits=limits) as client:
        await client.list(objects.PODS)

    assert len(stub.seen) == 2


async def test_a_missing_plugin_is_told_with_its_install_hint(
    stub: ApiStub, tmp_path: Path
) -> None:
    user = plugged(command="no-such-plugin", installHint="Install it\nfrom here.")
    file = stub.kubeconfig(tmp_path, user=user)

    async with KubeClient.connect(kubeconfig=file, environ={"PATH": "/usr/bin"}) as client:
        with pytest.raises(KubeconfigError, match="no-such-plugin: not found") as caught:
            await client.list(objects.PODS)

    assert caught.value.hint == "Install it from here."


async def test_a_plugin_that_must_ask_needs_a_terminal(stub: ApiStub, tmp_path: Path) -> None:
    plugin(tmp_path, V1, "{'token': 'x'}")
    file = stub.kubeconfig(tmp_path, user=plugged(mode="Always"))

    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        with pytest.raises(KubeconfigError, match="needs a terminal"):
            await client.list(objects.PODS)


@pytest.mark.parametrize("mode", ["Always", "IfAvailable", "Never"])
async def test_a_plugin_has_the_terminal_if_there_is_one(
    stub: ApiStub, tmp_path: Path, mode: str
) -> None:
    """In a process of its own, whose stdin is a terminal on which somebody types a code."""
    script(
        tmp_path / "plugin",
        "import json, os, sys",
        "spec = json.loads(os.environ['KUBERNETES_EXEC_INFO'])['spec']",
        "code = sys.stdin.readline().strip() if spec['interactive'] else 'nobody'",
        f"print(json.dumps({{'apiVersion': {V1!r}, 'kind': 'ExecCredential',"
        " 'status': {'token': code}}))",
    )
    file = stub.kubeconfig(tmp_path, user=plugged(mode=mode))
    code = (
        "import asyncio\n"
        "from kubeflink import objects\n"
        "from kubeflink.kube import KubeClient\n"
        "async def main():\n"
        f"    async with KubeClient.connect(kubeconfig={str(file)!r}) as client:\n"
        "        await client.list(objects.PODS)\n"
        "asyncio.run(main())\n"
    )
    ours, theirs = os.openpty()
    try:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdin=theirs)
        os.write(ours, b"typed\n")
        assert await process.wait() == 0
    finally:
        os.close(ours)
        os.close(theirs)

    expected = "nobody" if mode == "Never" else "typed"
    assert stub.seen[-1].headers["Authorization"] == f"Bearer {expected}"


async def test_a_cancelled_request_leaves_no_plugin_behind(stub: ApiStub, tmp_path: Path) -> None:
    script(
        tmp_path / "plugin",
        "import os, pathlib, time",
        f"pathlib.Path({str(tmp_path)!r}, 'pid').write_text(str(os.getpid()))",
        "time.sleep(3600)",
    )
    file = stub.kubeconfig(tmp_path, user=plugged())
    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        asking = asyncio.create_task(client.list(objects.PODS))
        pid_file = tmp_path / "pid"
        while not pid_file.exists() or not pid_file.read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


async def test_what_a_plugin_has_started_ends_with_it(stub: ApiStub, tmp_path: Path) -> None:
    """Many are scripts around another program, which holds their output open."""
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    child = f"import time; held = open({str(fifo)!r}, 'w'); time.sleep(3600)"
    script(
        tmp_path / "plugin",
        "import subprocess, sys",
        f"subprocess.run([sys.executable, '-c', {child!r}])",
    )
    file = stub.kubeconfig(tmp_path, user=plugged())
    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        asking = asyncio.create_task(client.list(objects.PODS))
        with await asyncio.to_thread(fifo.open) as alive:  # opens when the other side does
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking

            assert await asyncio.to_thread(alive.read) == ""


@pytest.mark.parametrize("env", [{"name": "A=B", "value": "c"}, {"name": "A", "value": "\0"}])
async def test_a_plugin_with_a_variable_that_none_can_be_is_told(
    stub: ApiStub, tmp_path: Path, env: dict[str, str]
) -> None:
    plugin(tmp_path, V1, "{'token': 'x'}")
    file = stub.kubeconfig(tmp_path, user=plugged(env=[env]))

    async with KubeClient.connect(kubeconfig=file, environ={}) as client:
        with pytest.raises(KubeconfigError, match="cannot be started"):
            await client.list(objects.PODS)


# Proxies


class Proxy:
    """An HTTP proxy that forwards plain requests' bytes and opens tunnels, and notes both."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line = head.split(b"\r\n", 1)[0].decode()
        self.asked.append(line)
        method, target, _ = line.split()
        if method == "CONNECT":
            host, port = target.rsplit(":", 1)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            host, port = target.split("//")[1].split("/")[0].rsplit(":", 1)
        there, back = await asyncio.open_connection(host, int(port))
        if method != "CONNECT":
            path = "/" + target.split("//")[1].split("/", 1)[1]
            back.write(head.replace(target.encode(), path.encode(), 1))

        async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        await asyncio.gather(copy(reader, back), copy(there, writer), return_exceptions=True)


async def test_the_proxy_of_the_kubeconfig(stub: ApiStub, tmp_path: Path) -> None:
    async with Proxy() as proxy:
        file = stub.kubeconfig(tmp_path, cluster=f"proxy-url: '{proxy.url}'")
        await same_as_kubectl(stub, file, NO_PROXY="*", HTTP_PROXY="http://127.0.0.1:1")

    assert len(proxy.asked) == 2
    assert proxy.asked[0] == proxy.asked[1]


async def test_tls_through_a_proxy_checks_the_server_behind_it(
    certificates: Certificates, tmp_path: Path
) -> None:
    certificate, key = certificates.client()
    user = f"{{client-certificate: {certificate}, client-key: {key}}}"
    async with Proxy() as proxy, ApiStub(tls=certificates.server("kube.inside")) as stub:
        cluster = (
            f"certificate-authority: {certificates.ca_file},"
            f" tls-server-name: kube.inside, proxy-url: '{proxy.url}'"
        )
        found = await same_as_kubectl(stub, stub.kubeconfig(tmp_path, user=user, cluster=cluster))

    assert proxy.asked == [f"CONNECT 127.0.0.1:{stub.port} HTTP/1.1"] * 2
    assert "tester" in str(found["certificate"])


@pytest.mark.parametrize("proxied", [False, True], ids=["directly", "through a proxy"])
async def test_a_handshake_that_is_given_up_leaves_no_connection(
    stub: ApiStub, tmp_path: Path, proxied: bool
) -> None:
    async with silent_tls() as server, Proxy() as proxy:
        file = stub.kubeconfig(tmp_path, cluster=f"proxy-url: '{proxy.url}'" if proxied else "")
        file.write_text(file.read_text().replace(stub.url, f"https://127.0.0.1:{server.port}"))
        async with KubeClient.connect(kubeconfig=file, environ={}) as client:
            asking = asyncio.create_task(client.list(objects.PODS))
            await asyncio.wait_for(server.greeted.wait(), 60)
            asking.cancel()
            await asyncio.wait({asking})

            await asyncio.wait_for(server.closed.wait(), 60)


async def test_the_environments_proxy_is_not_asked_for_this_machine(
    stub: ApiStub, tmp_path: Path
) -> None:
    await same_as_kubectl(stub, stub.kubeconfig(tmp_path), HTTP_PROXY="http://127.0.0.1:1")


async def test_the_environments_proxy_leads_to_another_machine(
    stub: ApiStub, tmp_path: Path
) -> None:
    async with Proxy() as proxy:
        file = stub.kubeconfig(tmp_path)
        # A name that only the proxy is asked for; it answers nothing that anybody waits for.
        file.write_text(file.read_text().replace("127.0.0.1", "kube.invalid"))
        environ = {"http_proxy": proxy.url}
        async with KubeClient.connect(kubeconfig=file, environ=environ, limits=QUICK) as client:
            with pytest.raises(ApiUnreachableError):
                await client.get(objects.PODS, "x")
        environ["NO_PROXY"] = "invalid"
        asked = len(proxy.asked)
        async with KubeClient.connect(kubeconfig=file, environ=environ, limits=QUICK) as client:
            with pytest.raises(ApiUnreachableError, match="cannot be resolved"):
                await client.get(objects.PODS, "x")

    assert asked > 0
    assert len(proxy.asked) == asked


async def test_a_proxy_that_is_away_is_told(stub: ApiStub, tmp_path: Path) -> None:
    file = stub.kubeconfig(tmp_path, cluster="proxy-url: 'http://127.0.0.1:1'")

    async with KubeClient.connect(kubeconfig=file, environ={}, limits=QUICK) as client:
        with pytest.raises(ApiUnreachableError) as caught:
            await client.get(objects.PODS, "x")

    assert "proxy http://127.0.0.1:1" in str(caught.value)


def test_a_proxy_url_that_is_none_is_refused(tmp_path: Path) -> None:
    file = ApiStub(port=1).kubeconfig(tmp_path, cluster="proxy-url: 'ftp://p'")

    with pytest.raises(KubeconfigError, match="not the URL of a proxy"):
        KubeClient.connect(kubeconfig=file, environ={})


async def test_a_missing_socks_package_is_told(tmp_path: Path) -> None:
    file = ApiStub(port=1).kubeconfig(tmp_path, cluster="proxy-url: 'socks5://p:1080'")

    with pytest.raises(KubeconfigError, match="SOCKS proxy") as caught:
        KubeClient.connect(kubeconfig=file, environ={})

    assert "socksio" in str(caught.value.hint)


async def test_requests_name_their_sender(client: KubeClient, stub: ApiStub) -> None:
    with pytest.raises(NotFoundError):
        await client.get(objects.PODS, "x")

    assert stub.seen[0].headers["User-Agent"].startswith("kubeflink/")
