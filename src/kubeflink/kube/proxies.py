"""Which proxy leads to the API server: the kubeconfig's `proxy-url`, else the environment's.

The environment is read by Go's rules, as kubectl does, and not by those of the HTTP library: those
know no networks in `NO_PROXY` (`10.0.0.0/8` is the usual entry for a cluster), and send requests to
the own machine to a proxy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kubeflink.errors import KubeconfigError

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

SCHEMES = ("http", "https", "socks5", "socks5h")


def proxy_for(server: str, proxy_url: str | None, environ: Mapping[str, str]) -> str | None:
    """The proxy's URL, or None for a direct connection. Raises `KubeconfigError`."""
    proxy, origin = proxy_url, "proxy-url"
    if proxy is None:
        scheme = urlsplit(server).scheme
        proxy = _variable(environ, f"{scheme}_proxy")
        origin = f"{scheme.upper()}_PROXY"
        if not proxy or bypassed(server, _variable(environ, "no_proxy")):
            return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if not _is_proxy(proxy):
        raise KubeconfigError(
            f"{origin} is not the URL of a proxy",
            hint=f"It is one of {', '.join(SCHEMES)} with a host, like http://proxy:3128.",
        )
    return proxy


def _is_proxy(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of an IPv6 address, or of a port
        return False


def bypassed(server: str, no_proxy: str) -> bool:
    """Whether `NO_PROXY`, or being this machine, keeps this server from being asked by a proxy.

    An entry is a host name with all its subdomains (a leading dot: the subdomains alone), an
    address, a network, each with an optional port, or `*`.
    """
    parts = urlsplit(server)
    host = (parts.hostname or "").lower().rstrip(".")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(
        _matches(entry.strip().lower(), host, port, address)
        for entry in no_proxy.split(",")
        if entry.strip()
    )


def _matches(entry: str, host: str, port: int, address: IPv4Address | IPv6Address | None) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        import ipaddress

        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, _, wanted_port = entry.rpartition(":") if _has_port(entry) else (entry, "", "")
    if wanted_port and int(wanted_port) != port:
        return False
    name = name.strip("[]").rstrip(".")
    if address is not None:
        return _address(name) == address
    if name.startswith("*."):
        name = name[1:]
    if name.startswith("."):
        return host.endswith(name)
    return host == name or host.endswith(f".{name}")


def _has_port(entry: str) -> bool:
    name, colon, port = entry.rpartition(":")
    is_number = port.isascii() and port.isdigit()
    return bool(colon) and is_number and (":" not in name or name.endswith("]"))


def _address(text: str) -> IPv4Address | IPv6Address | None:
    import ipaddress

    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.upper()) or environ.get(name) or ""
