"""Kubernetes' answers that are no objects: the `Status`, in the words of the real API server.

Clients read these words. `kubectl` prints the message, fabric8 and lightkube branch on `code` and
`reason`, and people search the web for the sentence. So each failure is made here, by a function
named after the condition, as an error of the common tree that carries the complete `Status`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubeflink.errors import (
    ApiStatusError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    ServerError,
    TooManyRequestsError,
    UnauthorizedError,
)
from kubeflink.objects import JsonObject, Resource

_ERRORS: dict[int, type[ApiStatusError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    422: InvalidError,
    429: TooManyRequestsError,
}

REASONS: dict[int, str] = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
"""The reason that a code has where the server says nothing more exact."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One broken rule: `field` is a path such as `spec.containers[0].name`."""

    field: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(field: str, detail: str = "") -> Cause:
    """A field that must be there."""
    return Cause(field, "FieldValueRequired", "Required value" + (f": {detail}" if detail else ""))


def invalid_value(field: str, value: object, detail: str) -> Cause:
    """A value that breaks a rule; `value` is shown as the Go server would."""
    return Cause(field, "FieldValueInvalid", f"Invalid value: {_shown(value)}: {detail}")


def unsupported(field: str, value: object, supported: Iterable[str]) -> Cause:
    """A value outside an enumeration."""
    values = ", ".join(_shown(each) for each in supported)
    return Cause(
        field,
        "FieldValueNotSupported",
        f"Unsupported value: {_shown(value)}: supported values: {values}",
    )


def duplicate(field: str, value: object) -> Cause:
    """The same key twice in a list that is keyed by it."""
    return Cause(field, "FieldValueDuplicate", f"Duplicate value: {_shown(value)}")


def missing_reference(field: str, value: object) -> Cause:
    """A name that stands for nothing in the same object."""
    return Cause(field, "FieldValueNotFound", f"Not found: {_shown(value)}")


def forbidden_field(field: str, detail: str) -> Cause:
    """A field that may not be set or changed."""
    return Cause(field, "FieldValueForbidden", f"Forbidden: {detail}")


def _shown(value: object) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        import msgspec

        return msgspec.json.encode(value).decode()
    return str(value)


def status(
    code: int, message: str, *, reason: str = "", details: JsonObject | None = None
) -> JsonObject:
    """A failure `Status` object."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason or REASONS.get(code, "Unknown"),
    }
    return {**body, **({"details": details} if details else {}), "code": code}


def failure(
    code: int,
    message: str,
    *,
    reason: str = "",
    details: JsonObject | None = None,
    retry_after: float | None = None,
) -> ApiStatusError:
    """The error of the common tree for a code, carrying its `Status`. `retry_after` in seconds."""
    if retry_after is not None:
        details = {**(details or {}), "retryAfterSeconds": int(retry_after)}
    body = status(code, message, reason=reason, details=details)
    kind = _ERRORS.get(code, ServerError if code >= 500 else ApiStatusError)
    return kind(
        message,
        code=code,
        reason=body["reason"],
        server_message=message,
        status=body,
        retry_after=retry_after,
    )


def success(resource: Resource, name: str, uid: str) -> JsonObject:
    """The answer to the deletion of an object that is gone with it."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {**_details(resource, name), "uid": uid},
    }


def _details(resource: Resource, name: str) -> JsonObject:
    details: JsonObject = {"name": name}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    return details


def qualified(resource: Resource) -> str:
    """`pods`, `deployments.apps`: how messages name a resource."""
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def not_found(resource: Resource, name: str) -> ApiStatusError:
    """No object of this name."""
    return failure(
        404, f'{qualified(resource)} "{name}" not found', details=_details(resource, name)
    )


def no_such_path() -> ApiStatusError:
    """No resource is served at this path."""
    return failure(404, "the server could not find the requested resource")


def method_not_allowed() -> ApiStatusError:
    """The resource is there, the verb is not."""
    return failure(405, "the server does not allow this method on the requested resource")


def already_exists(resource: Resource, name: str) -> ApiStatusError:
    """A creation met an object of the same name."""
    return failure(
        409,
        f'{qualified(resource)} "{name}" already exists',
        reason="AlreadyExists",
        details=_details(resource, name),
    )


def conflict(resource: Resource, name: str, why: str) -> ApiStatusError:
    """A precondition on the stored object does not hold."""
    return failure(
        409,
        f'Operation cannot be fulfilled on {qualified(resource)} "{name}": {why}',
        details=_details(resource, name),
    )


def modified(resource: Resource, name: str) -> ApiStatusError:
    """The request was made from an older version of the object."""
    return conflict(
        resource,
        name,
        "the object has been modified; please apply your changes to the latest version and try "
        "again",
    )


def bad_request(message: str) -> ApiStatusError:
    """The request cannot be understood."""
    return failure(400, message)


def other_object(resource: Resource, name: str, why: str) -> ApiStatusError:
    """A precondition of a deletion does not hold; it is told of the kind, not of the resource."""
    kind = _qualified_kind(resource)
    details = {**_details(resource, name), "kind": resource.kind}
    return failure(409, f'Operation cannot be fulfilled on {kind} "{name}": {why}', details=details)


def _qualified_kind(resource: Resource) -> str:
    return f"{resource.kind}.{resource.group}" if resource.group else resource.kind


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> ApiStatusError:
    """The object breaks rules; all of them are told at once."""
    kind = _qualified_kind(resource)
    told = str(causes[0]) if len(causes) == 1 else "[" + ", ".join(map(str, causes)) + "]"
    details: JsonObject = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.kind
    details["causes"] = [
        {"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes
    ]
    return failure(422, f'{kind} "{name}" is invalid: {told}', details=details)


def forbidden(resource: Resource, name: str, why: str) -> ApiStatusError:
    """The server refuses although it understood: policy, or a namespace that is going away."""
    subject = f'{qualified(resource)} "{name}"' if name else qualified(resource)
    return failure(403, f"{subject} is forbidden: {why}", details=_details(resource, name))


def unauthorized() -> ApiStatusError:
    """No credentials, or wrong ones."""
    return failure(401, "Unauthorized")


def expired(requested: int, oldest: int) -> GoneError:
    """A resourceVersion from which changes cannot be told any more."""
    error = failure(410, f"too old resource version: {requested} ({oldest})")
    assert isinstance(error, GoneError)
    return error


def internal(message: str) -> ApiStatusError:
    """The server's own fault."""
    return failure(
        500, f"Internal error occurred: {message}", details={"causes": [{"message": message}]}
    )


def unavailable(message: str) -> ApiStatusError:
    """Something behind the server does not answer (yet)."""
    return failure(503, message)
