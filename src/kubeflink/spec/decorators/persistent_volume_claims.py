"""Persistent volume claims as directories (PersistentVolumeClaimMountDecorator, since 2.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kubeflink.config.options import kubernetes
from kubeflink.errors import ConfigurationError
from kubeflink.spec.decorators.decorator import Decorator
from kubeflink.spec.parameters import Parameters
from kubeflink.spec.pod import FlinkPod, mount

MAX_VOLUME_NAME_LENGTH = 63
MAX_CLAIM_NAME_LENGTH = 253

_SUFFIX = "-pvc"
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_OPTION = kubernetes.PERSISTENT_VOLUME_CLAIMS.key


class PersistentVolumeClaims(Decorator[Parameters]):
    """`kubernetes.persistent-volume-claims`: existing claims, the same in all pods."""

    def decorate(self, pod: FlinkPod) -> FlinkPod:
        claims = self.parameters.persistent_volume_claims
        if not claims:
            return pod
        self._check(claims)
        read_only = self.parameters.configuration.get(kubernetes.PERSISTENT_VOLUME_CLAIM_READ_ONLY)
        for claim, path in claims.items():
            volume = _volume_name(claim)
            if any(other.get("name") == volume for other in pod.spec.get("volumes", ())):
                raise self._error(f"the pod has another volume {volume!r}")
            source = {"claimName": claim, "readOnly": read_only}
            pod = pod.add_volumes({"name": volume, "persistentVolumeClaim": source})
            pod = pod.add_mounts(mount(volume, path, readOnly=read_only))
        return pod

    def _check(self, claims: Mapping[str, str]) -> None:
        paths: set[str] = set()
        volumes: set[str] = set()
        for claim, path in claims.items():
            if len(claim) > MAX_CLAIM_NAME_LENGTH or _SUBDOMAIN.fullmatch(claim) is None:
                raise self._error(f"{claim!r} is no name for a persistent volume claim")
            if not path.startswith("/"):
                raise self._error(f"the path {path!r} of {claim} must start with '/'")
            if path in paths:
                raise self._error(f"the path {path} is there twice")
            if len(_volume_name(claim)) > MAX_VOLUME_NAME_LENGTH:
                raise self._error(f"the name {claim} is too long for a volume")
            if _volume_name(claim) in volumes:
                raise self._error(f"{claim} and another claim give the same volume name")
            paths.add(path)
            volumes.add(_volume_name(claim))

    def _error(self, problem: str) -> ConfigurationError:
        origin = self.parameters.configuration.origin(_OPTION)
        return ConfigurationError(f"{_OPTION}: {problem}", option=_OPTION, origin=origin)


def _volume_name(claim: str) -> str:
    """The name of the volume of a claim: an RFC 1123 label."""
    return claim.replace(".", "-") + _SUFFIX
