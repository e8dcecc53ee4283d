"""What goes into the `Authorization` header, asked for before every request.

    CredentialSource
    ├── Anonymous            nothing
    ├── Fixed                a token or a user name and password that never changes
    ├── TokenFile            read again for every request: the kubelet replaces the file
    └── plugin.PluginSource  an exec plug-in: run before the credential expires, and after a 401

`current()` gives the credential to use now; `renewed(rejected)` is called after a 401 with the
credential that was refused, and gives another one, or None when there is none. Many requests may
come back with 401 at once: only the first of them runs the plug-in, the others find that the
credential has changed already.

A token file that cannot be read is an error. Going on without the header would make the request an
anonymous one, and the answer a misleading 403.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from kubeflink.errors import KubeconfigError
from kubeflink.kube.access import UserCredentials
from kubeflink.kube.headers import WHAT_DOES_NOT_FIT, fits


@dataclass(frozen=True, slots=True)
class Credential:
    """One credential. `certificate` and `key` are PEM text for the TLS handshake."""

    authorization: str | None = field(default=None, repr=False)
    certificate: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)


class CredentialSource(Protocol):
    """Where credentials come from."""

    async def current(self) -> Credential:
        """The credential for the next request. Raises `KubeconfigError`."""

    async def renewed(self, rejected: Credential) -> Credential | None:
        """A credential other than the rejected one, or None."""

    @property
    def free_since(self) -> float:
        """Since when no request waits for a credential, on the clock of `time.monotonic`.

        Infinity while somebody is asked for one, which may take long.
        """


@dataclass(frozen=True, slots=True)
class Fixed:
    """A credential that never changes; `Credential()` is the anonymous one."""

    credential: Credential = Credential()
    free_since: ClassVar[float] = 0.0

    async def current(self) -> Credential:
        return self.credential

    async def renewed(self, rejected: Credential) -> Credential | None:
        return self.credential if self.credential != rejected else None


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A token in a file. `fallback` is an inline token beside it, used while the file is away."""

    file: Path
    fallback: str | None = field(default=None, repr=False)
    free_since: ClassVar[float] = 0.0

    async def current(self) -> Credential:
        try:
            token = self.file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            if self.fallback is not None:
                return Credential(f"Bearer {self.fallback}")
            reason = error.strerror if isinstance(error, OSError) else "is not text"
            raise KubeconfigError(f"Cannot read token file {self.file}: {reason}") from error
        if not token:
            raise KubeconfigError(f"Token file {self.file} is empty")
        if not fits(token):
            raise KubeconfigError(f"The token in {self.file} {WHAT_DOES_NOT_FIT}")
        return Credential(f"Bearer {token}")

    async def renewed(self, rejected: Credential) -> Credential | None:
        found = await self.current()
        return found if found != rejected else None


def source_of(user: UserCredentials, environ: Mapping[str, str]) -> CredentialSource:
    """The source for a kubeconfig user: token file, token, user name, plug-in, in this order."""
    if user.token_file is not None:
        return TokenFile(user.token_file, fallback=user.token)
    if user.token is not None:
        return Fixed(Credential(f"Bearer {user.token}"))
    if user.username is not None:
        pair = f"{user.username}:{user.password or ''}".encode()
        return Fixed(Credential(f"Basic {base64.b64encode(pair).decode('ascii')}"))
    if user.plugin is not None:
        from kubeflink.kube.plugin import PluginSource

        return PluginSource(user.plugin, environ)
    return Fixed()
