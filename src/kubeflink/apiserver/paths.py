"""What a request is aimed at: its path as a resource, its query as options. No I/O."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

import msgspec

from kubeflink.apiserver import statuses
from kubeflink.apiserver.deletion import DeleteOptions
from kubeflink.apiserver.resources import Registry, ServedResource
from kubeflink.objects import Resource

_DIGITS = 20
"""The longest number that can be meant. Python refuses to read very long ones."""


@dataclass(frozen=True, slots=True)
class Target:
    """A collection (`name` is empty), an object, or something below an object.

    `namespace` is None for all namespaces and for cluster-wide kinds. `rest` is the raw path after
    the subresource, with its leading slash; only a proxy has one.
    """

    served: ServedResource
    namespace: str | None = None
    name: str = ""
    subresource: str = ""
    rest: str = ""

    @property
    def resource(self) -> Resource:
        """The resource itself."""
        return self.served.resource


def parse_target(path: str, registry: Registry) -> Target | None:
    """What a raw (still quoted) path below /api or /apis names; None where nothing is served."""
    raw = path.lstrip("/").split("/")
    parts = raw[:-1] if raw[-1] == "" else raw
    if not parts:
        return None
    if parts[0] == "api":
        group, version, tail = "", parts[1:2], parts[2:]
    elif parts[0] == "apis" and len(parts) > 2:
        group, version, tail = parts[1], parts[2:3], parts[3:]
    else:
        return None
    if not version or not tail:
        return None
    namespace = None
    if tail[0] == "namespaces" and len(tail) > 2 and tail[2] not in ("status", "finalize"):
        namespace, tail = unquote(tail[1]), tail[2:]
    served = registry.find(group, version[0], tail[0])
    if served is None or (namespace is not None and not served.resource.namespaced):
        return None
    name, subresource = (unquote(part) for part in (*tail[1:3], "", "")[:2])
    if served.resource.namespaced and name and namespace is None:
        return None
    if subresource and not served.has(subresource):
        return None
    below = raw[len(parts) - len(tail) + 3 :] if subresource else []
    return Target(served, namespace, name, subresource, "".join(f"/{part}" for part in below))


def flag(query: Mapping[str, str], key: str) -> bool:
    """A boolean parameter as the Go server reads it: `?watch`, `?watch=1`, `?watch=true`."""
    value = query.get(key)
    if value is None:
        return False
    if value in ("", "1", "t", "T", "true", "TRUE", "True"):
        return True
    if value in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise statuses.bad_request(f'strconv.ParseBool: parsing "{value}": invalid syntax for {key}')


def integer(query: Mapping[str, str], key: str) -> int | None:
    """A whole number that is not negative; None where it is not given."""
    value = query.get(key)
    if value is None or value == "":
        return None
    if not value.isascii() or not value.isdigit():
        raise statuses.bad_request(f'strconv.ParseInt: parsing "{value}": invalid syntax for {key}')
    if len(value) > _DIGITS:
        raise statuses.bad_request(f"strconv.ParseInt: value out of range for {key}")
    return int(value)


def dry_run(query: Mapping[str, str]) -> bool:
    """Whether nothing is to be stored."""
    value = query.get("dryRun", "")
    if value not in ("", "All"):
        raise statuses.failure(
            422, f'dryRun: Unsupported value: "{value}": supported values: "All"'
        )
    return value == "All"


class _Preconditions(msgspec.Struct, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class _DeleteBody(msgspec.Struct, rename="camel"):
    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    preconditions: _Preconditions | None = None
    dry_run: list[str] | None = None


def delete_options(query: Mapping[str, str], body: bytes) -> DeleteOptions:
    """The options of a DELETE: its body where there is one, and its query."""
    try:
        given = msgspec.json.decode(body, type=_DeleteBody) if body.strip() else _DeleteBody()
    except msgspec.DecodeError as error:
        raise statuses.bad_request(f"invalid DeleteOptions: {error}") from error
    grace = given.grace_period_seconds
    if grace is None:
        grace = integer(query, "gracePeriodSeconds")
    policy = given.propagation_policy or query.get("propagationPolicy") or None
    if policy is None and (given.orphan_dependents or flag(query, "orphanDependents")):
        policy = "Orphan"
    if policy not in (None, "Background", "Foreground", "Orphan"):
        raise statuses.failure(
            422,
            'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: '
            f'"{policy}": supported values: "Foreground", "Background", "Orphan"',
        )
    conditions = given.preconditions or _Preconditions()
    return DeleteOptions(
        grace_period=grace,
        propagation=policy,  # type: ignore[arg-type] # narrowed by the check above
        uid=conditions.uid,
        resource_version=conditions.resource_version,
        dry_run=bool(given.dry_run) or dry_run(query),
    )


@dataclass(frozen=True, slots=True)
class Continue:
    """Where a list goes on: behind `after`, told as of `resource_version`."""

    resource_version: str
    after: tuple[str, str]

    def token(self) -> str:
        """As clients carry it."""
        packed = msgspec.json.encode([self.resource_version, *self.after])
        return urlsafe_b64encode(packed).decode().rstrip("=")

    @classmethod
    def parse(cls, token: str) -> Continue:
        """From a client; 400 for one that this server did not make."""
        try:
            padded = token + "=" * (-len(token) % 4)
            packed = urlsafe_b64decode(padded)
            version, namespace, name = msgspec.json.decode(packed, type=tuple[str, str, str])
        except ValueError as error:
            raise statuses.bad_request("continue key is not valid") from error
        return cls(version, (namespace, name))
