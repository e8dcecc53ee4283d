"""What a kubeconfig, a token file or a plug-in puts into the headers of requests.

An HTTP library that is given a header with a line break refuses it and shows it, and a token is
nothing to show. So what a header cannot hold is found here, before. Other than ASCII goes out as
UTF-8, as Go sends it.
"""

from __future__ import annotations

import re

from kubeflink.kube.access import Impersonation

WHAT_DOES_NOT_FIT = "has a line break or another control character in it"

_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")


def fits(value: str) -> bool:
    """Whether a header can hold it."""
    return _CONTROL.search(value) is None


def impersonation_headers(impersonated: Impersonation) -> list[tuple[bytes, bytes]]:
    """Whom to act as; keys of extra are percent-encoded where a header name cannot hold them."""
    headers = [("Impersonate-User", impersonated.user)]
    if impersonated.uid:
        headers.append(("Impersonate-Uid", impersonated.uid))
    headers += [("Impersonate-Group", group) for group in impersonated.groups]
    for key, values in impersonated.extra.items():
        name = re.sub(rb"[^!#$&'*+\-.^_`|~0-9A-Za-z]", _percent, key.encode()).decode()
        headers += [(f"Impersonate-Extra-{name}", value) for value in values]
    return [(name.encode(), value.encode()) for name, value in headers]


def _percent(match: re.Match[bytes]) -> bytes:
    return b"%%%02X" % match[0][0]
