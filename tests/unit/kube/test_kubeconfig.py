"""Where the API server is found: kubectl's rules, with kubectl as the judge where it can be one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kubeflink.errors import KubeconfigError
from kubeflink.kube.access import ClusterAccess
from kubeflink.kube.kubeconfig import load
from support.commands import kubectl

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def write(file: Path, **sections: Any) -> Path:
    """A kubeconfig as JSON, which is YAML too."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **sections}))
    return file


def cluster(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "cluster": {"server": f"https://{name}.example:6443", **fields}}


def user(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "user": fields}


def context(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "context": fields}


def minified(environ: dict[str, str], *options: str) -> dict[str, Any]:
    """What kubectl makes of the same files: one context, paths made absolute."""
    done = subprocess.run(
        [
            kubectl(),
            "config",
            "view",
            "--raw",
            "--minify",
            "--flatten=false",
            "-o",
            "json",
            *options,
        ],
        env={"PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def same_path(ours: Path | None, its: str | None) -> bool:
    """`config view` shows relative paths as they stand in the file; ours are absolute."""
    if ours is None or its is None:
        return ours is its
    return ours.is_absolute() and str(ours).endswith(f"/{its}")


def agrees(access: ClusterAccess, judged: dict[str, Any]) -> None:
    """Compare with kubectl's view."""
    its_cluster = judged["clusters"][0]["cluster"]
    its_context = judged["contexts"][0]["context"]
    assert access.context == judged["contexts"][0]["name"] == judged["current-context"]
    assert access.server == its_cluster["server"]
    assert access.namespace == its_context.get("namespace", "default")
    assert access.cluster_name == judged["clusters"][0]["name"]
    assert (access.user_name or "") == its_context.get("user", "")
    assert access.proxy_url == its_cluster.get("proxy-url")
    assert access.tls.server_name == its_cluster.get("tls-server-name")
    assert access.tls.insecure == its_cluster.get("insecure-skip-tls-verify", False)
    assert same_path(access.tls.ca_file, its_cluster.get("certificate-authority"))
    its_user = judged["users"][0]["user"] if judged["users"] else {}
    assert access.credentials.token == its_user.get("token")
    assert same_path(access.credentials.token_file, its_user.get("tokenFile"))
    assert access.credentials.username == its_user.get("username")
    certificate = access.credentials.certificate
    assert same_path(
        certificate and certificate.certificate_file, its_user.get("client-certificate")
    )
    plugin = access.credentials.plugin
    assert (plugin.arguments if plugin else ()) == tuple(
        (its_user.get("exec") or {}).get("args") or ()
    )


@pytest.fixture
def three_files(tmp_path: Path) -> dict[str, str]:
    """Three files whose entries overlap, one missing file, one empty part, one empty file."""
    first = write(
        tmp_path / "one" / "config",
        clusters=[cluster("red", **{"certificate-authority": "pki/ca.crt"}), cluster("blue")],
        contexts=[context("red", cluster="red", user="admin", namespace="one")],
    )
    second = write(
        tmp_path / "two" / "config",
        **{"current-context": "mixed"},
        clusters=[cluster("red", **{"proxy-url": "http://never:1"}), cluster("green")],
        users=[
            user(
                "admin",
                tokenFile="secrets/token",
            ),
            user("cert", **{"client-certificate": "me.crt", "client-key": "../me.key"}),
            user(
                "plugged",
                exec={
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": "get-token",
                    "args": ["--cluster", "x y"],
                    "interactiveMode": "Never",
                },
            ),
        ],
        contexts=[
            context("mixed", cluster="blue", user="cert"),
            context("red", cluster="green", user="cert", namespace="two"),
            context("bare", cluster="green"),
            context("plugged", cluster="blue", user="plugged", namespace="p"),
        ],
    )
    third = write(
        tmp_path / "three" / "config",
        **{"current-context": "other"},
        clusters=[
            cluster("blue", **{"tls-server-name": "never"}),
            cluster(
                "far",
                **{
                    "tls-server-name": "inside",
                    "insecure-skip-tls-verify": True,
                    "proxy-url": "socks5://p:1080",
                },
            ),
        ],
        users=[user("admin", token="never"), user("basic", username="u", password="p")],
        contexts=[context("far", cluster="far", user="basic")],
    )
    empty = tmp_path / "empty"
    empty.write_text("")
    parts = [str(first), "", str(tmp_path / "missing"), str(empty), str(second), str(third)]
    return {"KUBECONFIG": os.pathsep.join(parts), "HOME": str(tmp_path)}


@pytest.mark.parametrize("name", ["", "mixed", "red", "bare", "plugged", "far"])
def test_several_files_are_merged_as_kubectl_does(three_files: dict[str, str], name: str) -> None:
    options = ["--context", name] if name else []

    access = load(context=name or None, environ=three_files)

    agrees(access, minified(three_files, *options))


def test_an_entry_comes_whole_from_the_first_file(three_files: dict[str, str]) -> None:
    access = load(context="red", environ=three_files)

    assert access.server == "https://red.example:6443"
    assert access.proxy_url is None
    assert access.credentials.token is None
    assert access.credentials.token_file == Path(three_files["HOME"], "two/secrets/token")


def test_a_relative_kubeconfig_is_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        tmp_path / "sub" / "config",
        **{"current-context": "a"},
        clusters=[cluster("a", **{"certificate-authority": "ca.crt"})],
        contexts=[context("a", cluster="a")],
    )
    monkeypatch.chdir(tmp_path)

    access = load(environ={"KUBECONFIG": "sub/config"})

    assert access.tls.ca_file == tmp_path / "sub" / "ca.crt"


def test_the_file_at_home_is_read_without_kubeconfig(tmp_path: Path) -> None:
    write(
        tmp_path / ".kube" / "config",
        **{"current-context": "a"},
        clusters=[cluster("a")],
        contexts=[context("a", cluster="a")],
    )

    assert load(environ={"HOME": str(tmp_path)}).server == "https://a.example:6443"


def test_an_explicit_file_is_the_only_one(three_files: dict[str, str], tmp_path: Path) -> None:
    alone = write(
        tmp_path / "alone",
        clusters=[cluster("solo")],
        contexts=[context("solo", cluster="solo")],
    )

    assert load(alone, "solo", environ=three_files).cluster_name == "solo"
    with pytest.raises(KubeconfigError, match='no context "red"'):
        load(alone, "red", environ=three_files)


def test_an_explicit_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="nowhere does not exist"):
        load(tmp_path / "nowhere", environ={"HOME": str(tmp_path)})


def test_no_kubeconfig_names_the_places_looked_at(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError) as caught:
        load(environ={"HOME": str(tmp_path)}, service_account=tmp_path / "none")

    assert str(caught.value).startswith("No kubeconfig found; looked at ")
    assert str(tmp_path / ".kube" / "config") in str(caught.value)

    with pytest.raises(KubeconfigError) as caught:
        load(environ={"KUBECONFIG": "/x/a:/x/b"}, service_account=tmp_path / "none")

    assert "/x/a, /x/b" in str(caught.value)


def test_no_current_context_lists_those_there_are(tmp_path: Path) -> None:
    file = write(
        tmp_path / "config",
        clusters=[cluster("a")],
        contexts=[context("left", cluster="a"), context("right", cluster="a")],
    )

    with pytest.raises(KubeconfigError) as caught:
        load(file, environ={})

    assert "No current context" in caught.value.message
    assert "left, right" in str(caught.value.hint)


@pytest.fixture
def service_account(tmp_path: Path) -> Path:
    directory = tmp_path / "serviceaccount"
    directory.mkdir()
    directory.joinpath("token").write_text("pod-token")
    directory.joinpath("namespace").write_text("inside\n")
    directory.joinpath("ca.crt").write_text(PEM)
    return directory


IN_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_in_a_pod_the_service_account_is_used(tmp_path: Path, service_account: Path) -> None:
    access = load(environ={**IN_POD, "HOME": str(tmp_path)}, service_account=service_account)

    assert access.in_cluster
    assert access.server == "https://10.0.0.1:443"
    assert access.namespace == "inside"
    assert access.tls.ca_file == service_account / "ca.crt"
    assert access.credentials.token_file == service_account / "token"


def test_an_ipv6_address_of_the_api_server_is_put_in_brackets(service_account: Path) -> None:
    access = load(
        environ={"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"},
        service_account=service_account,
    )

    assert access.server == "https://[fd00::1]:6443"


def test_the_downward_api_names_the_namespace_first(service_account: Path) -> None:
    access = load(environ={**IN_POD, "POD_NAMESPACE": "named"}, service_account=service_account)

    assert access.namespace == "named"


def test_a_kubeconfig_comes_before_the_service_account(
    tmp_path: Path, service_account: Path
) -> None:
    file = write(
        tmp_path / "config",
        **{"current-context": "a"},
        clusters=[cluster("a")],
        contexts=[context("a", cluster="a"), context("n", cluster="a", namespace="own")],
    )
    environ = {**IN_POD, "KUBECONFIG": str(file)}

    access = load(environ=environ, service_account=service_account)

    assert not access.in_cluster
    assert access.server == "https://a.example:6443"
    # client-go: without a namespace in the context, that of the pod
    assert access.namespace == "inside"
    assert load(context="n", environ=environ, service_account=service_account).namespace == "own"


def test_the_service_account_alone_is_not_enough(tmp_path: Path, service_account: Path) -> None:
    with pytest.raises(KubeconfigError, match="No kubeconfig found"):
        load(environ={"HOME": str(tmp_path)}, service_account=service_account)


def test_a_given_namespace_comes_first(three_files: dict[str, str]) -> None:
    assert load(context="red", namespace="mine", environ=three_files).namespace == "mine"


def test_insecure_is_said(three_files: dict[str, str]) -> None:
    access = load(context="far", environ=three_files)

    assert access.tls.insecure
    assert len(access.notices) == 1
    assert 'cluster "far"' in access.notices[0]
    assert load(context="mixed", environ=three_files).notices == ()


V1 = "client.authentication.k8s.io/v1"


def with_user(**fields: Any) -> dict[str, Any]:
    return {
        "current-context": "a",
        "clusters": [cluster("a")],
        "users": [user("u", **fields)],
        "contexts": [context("a", cluster="a", user="u")],
    }


def with_cluster(**fields: Any) -> dict[str, Any]:
    return {
        "current-context": "a",
        "clusters": [cluster("a", **fields)],
        "contexts": [context("a", cluster="a")],
    }


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "user that is not there": (
        {**with_user(), "users": []},
        'no user "u"',
    ),
    "cluster that is not there": ({**with_user(), "clusters": []}, 'no cluster "a"'),
    "context without cluster": (
        {"current-context": "a", "contexts": [context("a", user="")]},
        "No cluster is set",
    ),
    "two ways to authenticate": (with_user(token="t", username="u"), "More than one way"),
    "certificate without key": (
        with_user(**{"client-certificate": "x"}),
        "Neither client-key nor client-key-data",
    ),
    "certificate twice": (
        with_user(
            **{
                "client-certificate": "x",
                "client-certificate-data": "eA==",
                "client-key": "y",
            }
        ),
        "both set",
    ),
    "authority twice": (
        with_cluster(**{"certificate-authority": "x", "certificate-authority-data": "eA=="}),
        "both set",
    ),
    "authority and insecure": (
        with_cluster(**{"certificate-authority": "x", "insecure-skip-tls-verify": True}),
        "insecure-skip-tls-verify",
    ),
    "a number for a token": (with_user(token=12345), "token of .* is a number"),
    "a name twice": (
        {**with_user(), "users": [user("u"), user("u")]},
        'names "u" twice',
    ),
    "data that is no base64": (
        with_cluster(**{"certificate-authority-data": "%%%"}),
        "not base64",
    ),
    "server that is no URL": (with_cluster(server="b2:8080/pre/"), "neither a URL nor host:port"),
    "plug-in of a dead version": (
        with_user(exec={"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "x"}),
        "v1alpha1",
    ),
    "v1 without interactiveMode": (
        with_user(exec={"apiVersion": V1, "command": "x"}),
        "interactiveMode must be set",
    ),
    "plug-in without command": (
        with_user(exec={"apiVersion": V1, "interactiveMode": "Never"}),
        "No command",
    ),
    "auth-provider": (with_user(**{"auth-provider": {"name": "gcp"}}), "auth-provider"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_kubectl_refuses_is_refused(tmp_path: Path, name: str) -> None:
    """kubectl is asked too, with a server that it would reach."""
    sections, pattern = REFUSED[name]
    file = write(tmp_path / "config", **sections)

    with pytest.raises(KubeconfigError, match=pattern) as caught:
        load(file, environ={})

    assert len(str(caught.value).splitlines()) <= 3
    assert "12345" not in str(caught.value)
    judge = subprocess.run(
        [kubectl(), "--kubeconfig", str(file), "--request-timeout=1", "get", "--raw", "/version"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert judge.returncode != 0
    assert "no such host" not in judge.stderr
    assert "dial tcp" not in judge.stderr


def with_exec(**fields: Any) -> dict[str, Any]:
    return with_user(exec={"apiVersion": V1, "command": "x", "interactiveMode": "Never", **fields})


SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "an entry that is no mapping": ({"users": ["u"]}, "not a mapping"),
    "a user that is a list": ({"users": [{"name": "u", "user": []}]}, "is a list"),
    "a flag that is a string": (
        with_cluster(**{"insecure-skip-tls-verify": "true"}),
        "is a string, not true or false",
    ),
    "arguments that are no strings": (with_exec(args=[1]), "not a list of strings"),
    "environment that is no list": (with_exec(env={"A": "b"}), "env of .* is not a list"),
    "an interactiveMode that is none": (with_exec(interactiveMode="Maybe"), "none of Never"),
    "groups without user": (with_user(**{"as-groups": ["g"]}), "without as"),
    "plug-in and auth-provider": (
        with_user(
            exec={"apiVersion": V1, "command": "x", "interactiveMode": "Never"},
            **{"auth-provider": {"name": "oidc"}},
        ),
        "both set",
    ),
    "no server": (with_cluster(server=""), "No server is set"),
    "a server of another scheme": (with_cluster(server="ftp://a"), "not an http or https URL"),
    "an authority that plug-ins cannot be told": (
        {
            **with_exec(provideClusterInfo=True),
            "clusters": [cluster("a", **{"certificate-authority": "none.crt"})],
        },
        "Cannot read certificate-authority .*none.crt",
    ),
    "a port that is none": (with_cluster(server="https://a:b"), "not an http or https URL"),
    "a port that is too large": (with_cluster(server="a:70000"), "not an http or https URL"),
    "half an IPv6 address": (with_cluster(server="https://[::1"), "not an http or https URL"),
    "a server with a blank": (with_cluster(server="https://a b"), "not an http or https URL"),
    "a server with an account": (
        with_cluster(server="https://me:s3cret@a"),
        "has a user name or password in it",
    ),
    "a token of two lines": (with_user(token="s3cret\n"), "token of user .* line break"),
    "an account of two lines": (with_user(**{"as": "s3cret\nx"}), "as of user .* line break"),
    "a group of two lines": (
        with_user(**{"as": "a", "as-groups": ["b", "s3cret\nx"]}),
        "One of as-groups of user .* line break",
    ),
    "lists within lists": ({"users": json.loads("[" * 300 + "]" * 300)}, "deeply"),
    "a number without end": ({"preferences": {"x": 10**4200}}, "too many digits"),
    "no context at all": ({"clusters": [cluster("a")]}, "holds no context"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_what_has_the_wrong_shape_is_named(tmp_path: Path, name: str) -> None:
    sections, pattern = SHAPES[name]
    file = write(tmp_path / "config", **sections)

    with pytest.raises(KubeconfigError, match=pattern) as caught:
        load(file, environ={})

    assert str(tmp_path) in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_odd_values_that_nobody_needs_are_left_alone(tmp_path: Path) -> None:
    extensions = [{"name": ["a"], "extension": {}}, "b", None]
    file = write(tmp_path / "config", kind=None, **with_cluster(extensions=extensions))

    assert not load(file, environ={}).pods_are_processes


def test_a_home_that_nobody_has_is_a_missing_file() -> None:
    with pytest.raises(KubeconfigError, match=r"~no\.such\.one/config does not exist"):
        load("~no.such.one/config", environ={})


def test_a_port_of_the_pods_environment_that_is_none_is_refused(service_account: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "a", "KUBERNETES_SERVICE_PORT": "tcp://10.0.0.1:443"}

    with pytest.raises(KubeconfigError, match="KUBERNETES_SERVICE_PORT is not an http"):
        load(environ=environ, service_account=service_account)


def test_an_unreadable_namespace_of_the_pod_is_an_error(service_account: Path) -> None:
    service_account.joinpath("namespace").unlink()
    service_account.joinpath("namespace").mkdir()

    with pytest.raises(KubeconfigError, match=r"Cannot read .*/namespace"):
        load(environ=IN_POD, service_account=service_account)


def test_a_pod_without_a_namespace_file_is_in_the_default_one(service_account: Path) -> None:
    service_account.joinpath("namespace").unlink()

    assert load(environ=IN_POD, service_account=service_account).namespace == "default"


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        ("a: b\nclusters: [\n", "config line [23]"),
        ("- a\n", "not a mapping"),
        ("kind: Pod\n", "its kind is Pod"),
        ("contexts: {a: b}\n", "not a list"),
    ],
)
def test_what_is_no_kubeconfig_is_an_error(tmp_path: Path, content: str, pattern: str) -> None:
    file = tmp_path / "config"
    file.write_text(content)

    with pytest.raises(KubeconfigError, match=pattern):
        load(file, environ={})


def test_an_unreadable_file_is_an_error_and_not_a_missing_one(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.symlink_to(file)

    with pytest.raises(KubeconfigError, match="Cannot read kubeconfig"):
        load(environ={"KUBECONFIG": f"{file}{os.pathsep}{tmp_path / 'other'}"})


@pytest.mark.parametrize("name", ["2024-01-01", "60:00", "=", "'on'", "!!str 12"])
def test_names_are_strings_where_kubernetes_reads_strings(tmp_path: Path, name: str) -> None:
    file = tmp_path / "config"
    file.write_text(
        f"current-context: {name}\ncontexts: [{{name: {name}, context: {{cluster: a}}}}]\n"
        "clusters: [{name: a, cluster: {server: 'https://a.example'}}]\n"
    )

    agrees(load(file, environ={}), minified({"KUBECONFIG": str(file)}))


@pytest.mark.parametrize("name", ["on", "n", "012", "1_000", "1e3"])
def test_names_are_no_strings_where_kubernetes_reads_none(tmp_path: Path, name: str) -> None:
    file = tmp_path / "config"
    file.write_text(f"current-context: {name}\n")

    with pytest.raises(KubeconfigError, match="not a string"):
        load(file, environ={})


def test_a_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="Cannot read kubeconfig"):
        load(environ={"KUBECONFIG": str(tmp_path)})


@pytest.mark.parametrize(
    ("server", "more", "expected"),
    [
        ("https://a:6443/", {}, "https://a:6443"),
        ("https://a/k8s/clusters/c-1/", {}, "https://a/k8s/clusters/c-1"),
        ("HTTPS://a:6443", {}, "https://a:6443"),
        ("https://a:6443/x/?y=z#w", {}, "https://a:6443/x"),
        ("https://[fd00::1]:6443", {}, "https://[fd00::1]:6443"),
        ("a:8080", {}, "http://a:8080"),
        ("a:6443", {"certificate-authority-data": "eA=="}, "https://a:6443"),
        ("a:6443", {"insecure-skip-tls-verify": True}, "https://a:6443"),
    ],
)
def test_the_servers_url(tmp_path: Path, server: str, more: dict[str, Any], expected: str) -> None:
    file = write(tmp_path / "config", **with_cluster(server=server, **more))

    assert load(file, environ={}).server == expected


def test_secrets_are_in_no_repr(tmp_path: Path) -> None:
    file = write(
        tmp_path / "config",
        **with_user(
            token="s3cret-token",
            **{"client-certificate-data": "c2VjcmV0", "client-key-data": "czNjcmV0LWtleQ=="},
        ),
    )

    access = load(file, environ={})

    assert access.credentials.token == "s3cret-token"
    assert "s3cret" not in repr(access)


def test_plugins_get_absolute_paths_and_their_settings(tmp_path: Path) -> None:
    fields = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "args": ["a"],
        "env": [{"name": "REGION", "value": "eu"}],
        "installHint": "install it",
    }
    file = write(
        tmp_path / "sub" / "config",
        **{
            **with_user(exec={**fields, "command": "../bin/plugin"}),
            "clusters": [cluster("a", **{"certificate-authority-data": "eA=="})],
        },
    )
    plugin = load(file, environ={}).credentials.plugin

    assert plugin is not None
    assert Path(plugin.command).resolve() == tmp_path / "bin" / "plugin"
    assert plugin.environment == {"REGION": "eu"}
    assert plugin.interactive_mode == "IfAvailable"
    assert plugin.install_hint == "install it"
    assert plugin.cluster is None


def test_kubectl_is_there() -> None:
    """The judge must not be missing without anybody noticing."""
    assert shutil.which(kubectl())
