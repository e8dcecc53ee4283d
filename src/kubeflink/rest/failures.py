"""What went wrong on the way to the JobManager's REST API: the one place that maps it.

Three parties can answer. Flink, with `{"errors": [...]}` and a Java stack trace; the Kubernetes API
server, when the way leads through its service proxy, with a `Status`; and any proxy between, with
something else. Nothing at all, or the API server saying that it cannot reach the service, becomes
`RestUnreachableError`, which says nothing about the cluster's or a job's state.
"""

from __future__ import annotations

import re
import ssl
from typing import Any, Final

import httpx2
import msgspec

from kubeflink.config.rest_tls import CA_OPTION, CERTIFICATE_OPTION
from kubeflink.errors import (
    ApiStatusError,
    FlinkError,
    ForbiddenError,
    KubernetesError,
    NotFoundError,
    RestStatusError,
    RestTlsError,
    RestUnreachableError,
    UnauthorizedError,
)
from kubeflink.rest import tls
from kubeflink.rest.java_errors import advice, root_cause, without_frames
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

# In the words of Go and of OpenSSL.
_SPOILT_TLS: Final = re.compile(r"\btls: |ALERT_\w*CERTIFICATE|CERTIFICATE_REQUIRED")

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


_NO_FAULT: Final = (
    ssl.SSLWantReadError,
    ssl.SSLWantWriteError,
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
    ssl.SSLSyscallError,
)
"""What OpenSSL says of a connection that is waited for, or has ended."""


def tls_failure(where: str, cause: Exception) -> RestTlsError | None:
    """The error for TLS that does not fit; None for an error that may have other causes."""
    link: BaseException | None = cause
    while link is not None and (not isinstance(link, ssl.SSLError) or isinstance(link, _NO_FAULT)):
        link = link.__cause__ or link.__context__
    if link is None:
        return None
    return _tls_error(f"Flink's REST API at {where}", link)


def _tls_error(who: str, error: ssl.SSLError) -> RestTlsError | None:
    reason = getattr(error, "reason", None) or ""
    if isinstance(error, tls.FingerprintError):
        told = f"{who} has another certificate than the one that was named: {error.verify_message}"
        return RestTlsError(told, hint=f"The option is {tls.FINGERPRINT_OPTION}")
    if isinstance(error, ssl.SSLCertVerificationError):
        told = f"{who} has a certificate that is not trusted: {error.verify_message}"
        return RestTlsError(told, hint=tls.TRUST_HINT)
    if "CERTIFICATE" in reason or reason.endswith("UNKNOWN_CA"):
        return RestTlsError(
            f"{who} does not accept the client's certificate, or the lack of one ({reason})",
            hint=tls.CERTIFICATE_HINT,
        )
    if "EOF" in reason:
        return None
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return RestTlsError(
            f"{who} does not speak TLS",
            hint=f"Leave out security.ssl.rest.enabled, {CA_OPTION}, {CERTIFICATE_OPTION}",
        )
    hint = f"The options are {tls.PROTOCOL_OPTION} and {tls.ALGORITHMS_OPTION}"
    if "HANDSHAKE_FAILURE" in reason:  # also what some servers say to a client without one
        hint = f"{hint}; or a certificate is missing. {tls.CERTIFICATE_HINT}"
    return RestTlsError(
        f"{who} and this side find no way to speak TLS ({reason or error})", hint=hint
    )


def wants_tls(response: httpx2.Response) -> bool:
    """Whether the answer sends a request without TLS to the same with it (RedirectingSslHandler).

    Flink's REST server with TLS does so to whoever speaks plainly.
    """
    location = str(response.headers.get("location", ""))
    return response.is_redirect and location.startswith("https://")


def no_tls(where: str) -> RestTlsError:
    """The error for a way without TLS to a server that wants it."""
    return RestTlsError(
        f"Flink's REST API at {where} speaks TLS",
        hint="Add security.ssl.rest.enabled=true to the configuration, and"
        f" security.ssl.rest.truststore with its password; or {CA_OPTION} FILE",
    )


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
        hint=_hint(response.status_code, told) or _advice(texts),
    )


def is_transient(error: Exception) -> bool:
    """Whether a JobManager that is starting or failing over explains this error."""
    if isinstance(error, RestUnreachableError):
        return True
    if isinstance(error, RestStatusError) and error.code == 500:
        told = "\n".join(without_frames(text) for text in error.server_errors)
        return any(mark in told for mark in _TRANSIENT_CAUSES)
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
    except (msgspec.DecodeError, RecursionError):
        # A proxy's page, or nothing; the status code has to do.
        return ()


def _kubernetes_status(response: httpx2.Response) -> dict[str, Any] | None:
    try:
        body = msgspec.json.decode(response.content)
    except (msgspec.DecodeError, RecursionError):
        return None
    is_status = isinstance(body, dict) and body.get("kind") == "Status"
    return body if is_status else None


def _proxy_failure(
    code: int, status: dict[str, Any], what: str, where: str
) -> FlinkError | KubernetesError:
    """The API server's own answer instead of Flink's.

    It trusts any certificate of what is behind it, and has none to show.
    """
    told = str(status.get("message") or status.get("reason") or f"HTTP {code}")
    if code >= 500 and _SPOILT_TLS.search(told):
        return RestTlsError(
            f"Flink's REST API at {where} speaks TLS in a way that the API server cannot: {told}",
            hint=tls.CERTIFICATE_HINT,
        )
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


def _advice(texts: tuple[str, ...]) -> str | None:
    return next(filter(None, map(advice, reversed(texts))), None)


def _hint(code: int, told: str) -> str | None:
    if code == 413:
        return f"Raise {MAX_CONTENT_LENGTH_OPTION} of the cluster (bytes; its default is 104857600)"
    if told.startswith("Could not find Flink job"):
        return (
            "`list --all` shows the jobs that the JobManager knows; without high availability it"
            " forgets them when it is started again"
        )
    if _NO_SAVEPOINT_DIRECTORY.search(told):
        return (
            "Name a directory that all pods can reach; the option is the cluster's default for it"
        )
    return None
