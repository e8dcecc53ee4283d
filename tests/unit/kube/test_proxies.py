"""Which way to the API server: Go's reading of the proxy variables."""

from __future__ import annotations

import pytest

from kubeflink.errors import KubeconfigError
from kubeflink.kube.proxies import bypassed, proxy_for


@pytest.mark.parametrize(
    ("server", "no_proxy", "expected"),
    [
        ("https://10.1.2.3:6443", "10.0.0.0/8", True),
        ("https://11.1.2.3:6443", "10.0.0.0/8", False),
        ("https://[fd00::1]:6443", "fd00::/8", True),
        ("https://10.1.2.3", "10.1.2.3", True),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", True),
        ("https://10.1.2.3:6443", "10.1.2.3:443", False),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://[fd00::1]:6443", "fd00:0::1", True),
        ("https://10.1.2.3", "1.2.3", False),
        ("https://kube.example.com", "example.com", True),
        ("https://kube.example.com", ".example.com", True),
        ("https://kube.example.com", "*.example.com", True),
        ("https://example.com", "example.com", True),
        ("https://example.com", ".example.com", False),
        ("https://notexample.com", "example.com", False),
        ("https://KUBE.Example.com.", "example.COM", True),
        ("https://kube.example.com", "example.com:443", True),
        ("http://kube.example.com", "example.com:443", False),
        ("https://kube.example.com", " other , example.com ", True),
        ("https://kube.example.com", "*", True),
        ("https://kube.example.com", "", False),
        ("https://kube.example.com", "10.0.0.0/8,300.0.0.0/8", False),
        ("https://localhost:6443", "", True),
        ("https://127.0.0.7:6443", "", True),
        ("https://[::1]:6443", "", True),
    ],
)
def test_what_no_proxy_excludes(server: str, no_proxy: str, expected: bool) -> None:
    assert bypassed(server, no_proxy) is expected


@pytest.mark.parametrize(
    ("server", "own", "environ", "expected"),
    [
        ("https://kube.example", None, {}, None),
        ("https://kube.example", None, {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://kube.example", None, {"https_proxy": "http://p:1"}, "http://p:1"),
        ("https://kube.example", None, {"HTTP_PROXY": "http://p:1"}, None),
        ("http://kube.example", None, {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("https://kube.example", None, {"HTTPS_PROXY": "p:3128"}, "http://p:3128"),
        (
            "https://kube.example",
            None,
            {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "kube.example"},
            None,
        ),
        ("https://kube.example", "http://own:1", {"HTTPS_PROXY": "http://p:1"}, "http://own:1"),
        ("https://127.0.0.1", "http://own:1", {"NO_PROXY": "*"}, "http://own:1"),
        ("https://kube.example", None, {"ALL_PROXY": "http://p:1"}, None),
    ],
)
def test_which_proxy_is_taken(
    server: str, own: str | None, environ: dict[str, str], expected: str | None
) -> None:
    assert proxy_for(server, own, environ) == expected


NONE = ["ftp://p:1", "http://", "socks4://p", "http://p:x", "p:70000", "http://[::1", "p:0"]


@pytest.mark.parametrize("proxy", NONE)
def test_what_is_no_proxy_is_refused_without_being_shown(proxy: str) -> None:
    with pytest.raises(KubeconfigError, match="HTTPS_PROXY is not the URL of a proxy"):
        proxy_for("https://kube.example", None, {"HTTPS_PROXY": proxy})
