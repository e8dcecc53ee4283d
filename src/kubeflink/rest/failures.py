"""What went wrong on the way to the JobManager's REST API: the one place that maps it.

Three parties can answer. Flink, with `{"errors": [...]}` and a Java stack trace; the Kubernetes API
server, when the way leads through its service proxy, with a `Status`; and any proxy between, with
something else. Nothing at all, or the API server saying that it cannot reach the service, becomes
`RestUnreachableError`, which says nothing about the cluster's or a job's state.
"""

from __future__ import annotations

import re
from typing import Any, Final

import httpx2
import msgspec

from kubeflink.errors import (
    ApiStatusError,
    FlinkError,
    ForbiddenError,
    KubernetesError,
    NotFoundError,
    RestStatusError,
    RestUnreachableError,
    UnauthorizedError,
)
from kubeflink.rest.java_errors import root_cause
from kubeflink.rest.models import ErrorEnvelope

MAX_CONTENT_LENGTH_OPTION: Final = "rest.server.max-content-length"

UNREACHABLE_CODES: Final = frozenset({502, 503, 504})
"""Answers of a proxy that could not reach the JobManager, or of one that has no leader yet."""

# What Flink answers, as 500, while its JobManager is starting or another one takes over.
_TRANSIENT_CAUSES: Final = (
    "FencingTokenException",
    "leader election",
    "LeaderRetrieval",
    "LeadershipLost",
    "RpcConnectionException",
    "EndpointNotStarted",
    "RecipientUnreachable",
    "AskTimeoutException",
    "Could not retrieve the redirect address",
    "has not been started yet",
)

# The option was called state.savepoints.dir up to 1.20.
_NO_SAVEPOINT_DIRECTORY: Final = re.compile(r"savepoint(s\.dir|-dir)\] is not set")

_STATUS_ERRORS: Final[dict[int, type[ApiStatusError]]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
}


def unreachable(where: str, cause: Exception) -> RestUnreachableError:
    """No answer: refused, reset, timed out."""
    told = " ".join(str(cause).split()) or type(cause).__name__
    if isinstance(cause, httpx2.TimeoutException):
        told = f"no answer in time ({type(cause).__name__})"
    return RestUnreachableError(f"Flink's REST API at {where} cannot be reached: {told}")


def failure_of(response: httpx2.Response, what: str, where: str) -> FlinkError | KubernetesError:
    """The error that a response with a status of 400 or above stands for.

    `what` names the operation for the message, such as `run jar`; the body must have been read.
    """
    status = _kubernetes_status(response)
    if status is not None:
        return _proxy_failure(response.status_code, status, what, where)
    texts = _flink_errors(response)
    told = _told(texts, response)
    if response.status_code in UNREACHABLE_CODES:
        return RestUnreachableError(f"Flink's REST API at {where} does not serve yet: {told}")
    return RestStatusError(
        f"{what} failed: {told}",
        code=response.status_code,
        server_errors=texts,
        hint=_hint(response.status_code, told),
    )


def is_transient(error: Exception) -> bool:
    """Whether a JobManager that is starting or failing over explains this error."""
    if isinstance(error, RestUnreachableError):
        return True
    if isinstance(error, RestStatusError) and error.code == 500:
        return any(mark in text for text in error.server_errors for mark in _TRANSIENT_CAUSES)
    return False


def is_in_the_way(response: httpx2.Response) -> bool:
    """Whether a refusal is not Flink's, but that of a server before it, and another way may help.

    That the Service does not exist is no such refusal: no way leads to it.
    """
    if response.status_code not in (403, 404, 405) or _flink_errors(response):
        return False
    status = _kubernetes_status(response)
    details = (status or {}).get("details") or {}
    return not (response.status_code == 404 and details.get("kind") == "services")


def was_not_handled(response: httpx2.Response) -> bool:
    """Whether the request certainly did nothing: a JobManager without a leader, or none at all.

    502, 504 and a connection that broke between the API server and the JobManager leave it open.
    """
    if response.status_code != 503:
        return False
    return not any(mark in response.text for mark in ("EOF", "reset by peer", "broken pipe"))


def _told(texts: tuple[str, ...], response: httpx2.Response) -> str:
    # The last text has the stack trace; the one before it says "Internal server error."
    for text in reversed(texts):
        if cause := root_cause(text):
            return cause
    return f"HTTP {response.status_code} {response.reason_phrase}".strip()


def _flink_errors(response: httpx2.Response) -> tuple[str, ...]:
    try:
        return msgspec.json.decode(response.content, type=ErrorEnvelope).errors
    except msgspec.DecodeError:  # a proxy's page, or nothing; the status code has to do
        return ()


def _kubernetes_status(response: httpx2.Response) -> dict[str, Any] | None:
    try:
        body = msgspec.json.decode(response.content)
    except msgspec.DecodeError:
        return None
    is_status = isinstance(body, dict) and body.get("kind") == "Status"
    return body if is_status else None


def _proxy_failure(
    code: int, status: dict[str, Any], what: str, where: str
) -> FlinkError | KubernetesError:
    """The API server's own answer instead of Flink's."""
    told = str(status.get("message") or status.get("reason") or f"HTTP {code}")
    if code >= 500:
        return RestUnreachableError(
            f"Flink's REST API at {where} cannot be reached by the API server: {told}"
        )
    error = _STATUS_ERRORS.get(code, ApiStatusError)
    hint = None
    if code == 403:
        hint = (
            "The way through the API server needs the right to `get` and `create` `services/proxy`"
        )
    return error(
        f"{what} failed: {told}",
        code=code,
        reason=str(status.get("reason") or ""),
        server_message=told,
        status=status,
        hint=hint,
    )


def _hint(code: int, told: str) -> str | None:
    if code == 413:
        return f"Raise {MAX_CONTENT_LENGTH_OPTION} of the cluster (bytes; its default is 104857600)"
    if _NO_SAVEPOINT_DIRECTORY.search(told):
        return (
            "Name a directory that all pods can reach; the option is the cluster's default for it"
        )
    return None
