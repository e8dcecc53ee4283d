"""Running an exec credential plug-in (client.authentication.k8s.io v1 and v1beta1).

The plug-in gets an ExecCredential in `KUBERNETES_EXEC_INFO` and prints one on stdout. It may ask
the user something when this process has a terminal and its `interactiveMode` lets it; then its
stderr is the terminal too. Otherwise stdin is closed and stderr is kept for the error message.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from kubeflink.errors import KubeconfigError
from kubeflink.kube.access import ExecPlugin
from kubeflink.kube.credentials import Credential
from kubeflink.kube.headers import WHAT_DOES_NOT_FIT, fits
from kubeflink.kube.outage import Outage
from kubeflink.objects import JsonObject

TIME_LIMIT = 60.0
"""Seconds for a plug-in that asks nobody."""

INTERACTIVE_TIME_LIMIT = 600.0
"""Seconds for one that has the terminal: a person may have to log in with a browser."""


END_TIME_LIMIT = 5.0
"""Seconds that one which was killed is waited for."""

RENEWAL_MARGIN = timedelta(seconds=60)
"""A credential is renewed this long before it expires, or after 4/5 of a shorter life."""


@dataclass(frozen=True, slots=True)
class PluginCredential:
    """What a plug-in gave: a token, a certificate with its key, or both. PEM text."""

    token: str | None = field(default=None, repr=False)
    certificate: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    expires: datetime | None = None


class PluginSource:
    """The `CredentialSource` of an exec plug-in, which keeps a credential while it is good."""

    def __init__(
        self,
        plugin: ExecPlugin,
        environ: Mapping[str, str],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._plugin = plugin
        self._environ = environ
        self._clock = clock
        self._lock = asyncio.Lock()
        self._credential: Credential | None = None
        self._renew_at: datetime | None = None
        self.free_since = 0.0

    async def current(self) -> Credential:
        async with self._lock:
            if self._credential is None or self._is_due():
                return await self._run()
            return self._credential

    async def renewed(self, rejected: Credential) -> Credential | None:
        async with self._lock:
            if self._credential not in (None, rejected):
                return self._credential
            return await self._run()

    def _is_due(self) -> bool:
        return self._renew_at is not None and self._clock() >= self._renew_at

    async def _run(self) -> Credential:
        started = self._clock()
        self.free_since = math.inf
        try:
            given = await run(self._plugin, self._environ)
        finally:
            self.free_since = time.monotonic()
        self._renew_at = None
        if given.expires is not None:
            margin = min(RENEWAL_MARGIN, (given.expires - started) / 5)
            self._renew_at = given.expires - margin
        self._credential = Credential(
            authorization=f"Bearer {given.token}" if given.token else None,
            certificate=given.certificate,
            key=given.key,
        )
        return self._credential


async def run(plugin: ExecPlugin, environ: Mapping[str, str]) -> PluginCredential:
    """Run the plug-in once. A cancelled or late plug-in is killed. Raises `KubeconfigError`."""
    interactive = _interactive(plugin)
    environment = {**environ, **plugin.environment}
    environment["KUBERNETES_EXEC_INFO"] = json.dumps(request(plugin, interactive=interactive))
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.arguments,
            env=environment,
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if interactive else subprocess.PIPE,
            process_group=0 if _has_group(interactive=interactive) else None,
        )
    except (OSError, ValueError) as error:  # a name of a variable may have what none can have
        reason = error.strerror if isinstance(error, OSError) else f"cannot be started ({error})"
        reason = "not found" if isinstance(error, FileNotFoundError) else reason
        raise KubeconfigError(
            f"Credential plug-in {plugin.command}: {reason}", hint=_one_paragraph(plugin)
        ) from error
    limit = INTERACTIVE_TIME_LIMIT if interactive else TIME_LIMIT
    outage = Outage(f"the credential plug-in {plugin.command}")
    try:
        # One that has the terminal says itself what it waits for.
        with contextlib.nullcontext() if interactive else outage.asked():
            async with asyncio.timeout(limit):
                output, complaint = await process.communicate()
    except TimeoutError:
        raise KubeconfigError(
            f"Credential plug-in {plugin.command} gave no answer within {limit:.0f} s"
        ) from None
    finally:
        outage.given_up()
        if process.returncode is None:
            await _end(process, interactive=interactive)
    if process.returncode != 0:
        raise KubeconfigError(
            f"Credential plug-in {plugin.command} failed with exit code {process.returncode}"
            + _last_line(complaint or b""),
            hint=_one_paragraph(plugin),
        )
    return answer(plugin, output)


def _has_group(*, interactive: bool) -> bool:
    """Whether the plug-in and what it starts are a group of processes, which can be ended as one.

    Many plug-ins are scripts around another program. One that has the terminal stays in our group,
    the only one that may read from it.
    """
    return os.name == "posix" and not interactive


async def _end(process: asyncio.subprocess.Process, *, interactive: bool) -> None:
    with contextlib.suppress(ProcessLookupError):
        if _has_group(interactive=interactive):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    # Also waits for its output to end, which a program that it has started may hold open.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(END_TIME_LIMIT):
            await process.wait()


def request(plugin: ExecPlugin, *, interactive: bool) -> JsonObject:
    """The ExecCredential that the plug-in is given."""
    spec: JsonObject = {"interactive": interactive}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}


def answer(plugin: ExecPlugin, output: bytes) -> PluginCredential:
    """The credential in a plug-in's output; nothing of the output is shown in an error."""
    where = f"Credential plug-in {plugin.command}"
    try:
        printed: Any = json.loads(output)
    except (ValueError, RecursionError) as error:
        raise KubeconfigError(f"{where} did not print JSON") from error
    if not isinstance(printed, dict) or printed.get("kind") != "ExecCredential":
        raise KubeconfigError(f"{where} did not print an ExecCredential")
    if printed.get("apiVersion") != plugin.api_version:
        raise KubeconfigError(
            f"{where} answered with apiVersion {printed.get('apiVersion')}, "
            f"but the kubeconfig says {plugin.api_version}"
        )
    status = printed.get("status")
    if not isinstance(status, dict):
        raise KubeconfigError(f"{where} gave no status")
    fields = {
        key: status.get(key) or None
        for key in ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp")
    }
    if not all(value is None or isinstance(value, str) for value in fields.values()):
        raise KubeconfigError(f"{where} gave a status whose fields are not strings")
    if not fits(fields["token"] or ""):
        raise KubeconfigError(f"{where} gave a token that {WHAT_DOES_NOT_FIT}")
    certificate, key = fields["clientCertificateData"], fields["clientKeyData"]
    if (certificate is None) != (key is None) or not (fields["token"] or certificate):
        raise KubeconfigError(f"{where} gave neither a token nor a certificate with its key")
    return PluginCredential(
        token=fields["token"],
        certificate=certificate,
        key=key,
        expires=_timestamp(where, fields["expirationTimestamp"]),
    )


def _timestamp(where: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise KubeconfigError(f"{where} gave an expirationTimestamp that is no time") from error
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def _interactive(plugin: ExecPlugin) -> bool:
    if plugin.interactive_mode == "Never":
        return False
    terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
    if plugin.interactive_mode == "Always" and not terminal:
        raise KubeconfigError(
            f"Credential plug-in {plugin.command} needs a terminal (interactiveMode: Always)",
            hint="Run this in a terminal, or use a context whose user needs none.",
        )
    return terminal


def _last_line(complaint: bytes) -> str:
    lines = complaint.decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1].strip()[:300]}" if lines else ""


def _one_paragraph(plugin: ExecPlugin) -> str | None:
    """The kubeconfig's own hint on how to install the plug-in, without its line breaks."""
    return " ".join(plugin.install_hint.split()) if plugin.install_hint else None
