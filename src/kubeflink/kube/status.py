"""From answers and broken connections to kubeflink's errors: the one place where it is done.

The API server says what went wrong in a `Status` object. Its words are kept; around them goes what
it does not say: which request this was, and what to do next. Proxies and load balancers in between
answer with HTML or plain text, which is cut to one line. Such an answer proves nothing about
objects: a 404 without a `Status` is no `NotFoundError`, or a login page would make a cluster look
as if it were gone.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kubeflink import errors
from kubeflink.kube import next_step
from kubeflink.kube.access import ClusterAccess
from kubeflink.objects import JsonObject, Resource

if TYPE_CHECKING:
    import httpx2

ERROR_CLASSES: Mapping[int, type[errors.ApiStatusError]] = {
    400: errors.BadRequestError,
    401: errors.UnauthorizedError,
    403: errors.ForbiddenError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    410: errors.GoneError,
    422: errors.InvalidError,
    429: errors.TooManyRequestsError,
}

_LONGEST_WISH = 1e9
"""Seconds: JSON has whole numbers that are too large for a time."""

_SHOWN = 100
"""Characters of an answer without a `Status`: enough to know the page, still one line."""

FOREIGN_HINT = "Is the address right, and does a proxy or a login page stand in between?"

_DENIED = re.compile(r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]*)"')


_NO_ERROR = ": , <nil>"
"""What the API server's sentence ends with where it has no more to say."""

OWNER_SENTENCE = "cannot set blockOwnerDeletion"
"""What admission says of an owner that one may not finalize (OpenShift has it switched on)."""

OWNER_HINT = (
    "This cluster wants a right more of who makes objects that are owned by a Deployment: a Role"
    ' with apiGroups ["apps"], resources ["deployments/finalizers"], verbs ["update"]. The'
    " service account of the JobManager, or of the broker, needs it too."
)


@dataclass(frozen=True, slots=True)
class Call:
    """What was asked for: verb and resource in the words of RBAC."""

    verb: str
    resource: Resource
    namespace: str | None = None
    name: str | None = None
    subresource: str | None = None

    @property
    def plural(self) -> str:
        """`pods`, `pods/log`, `deployments.apps`."""
        grouped = f"{self.resource.plural}.{self.resource.group}".rstrip(".")
        return f"{grouped}/{self.subresource}" if self.subresource else grouped

    def __str__(self) -> str:
        name = f" {self.name}" if self.name else ""
        where = f' in namespace "{self.namespace}"' if self.namespace else ""
        return f"{self.verb} {self.plural}{name}{where}"


def error_of_response(
    response: httpx2.Response, call: Call, access: ClusterAccess
) -> errors.ApiStatusError:
    """The error for an answer that is no success. The body must have been read."""
    return error_of(
        response.status_code,
        status_in(response),
        call,
        access,
        retry_after=retry_after(response.headers.get("Retry-After")),
        text=response.text,
    )


def status_in(response: httpx2.Response) -> JsonObject | None:
    """The `Status` in a response; None where something else answered."""
    import msgspec

    try:
        body: Any = msgspec.json.decode(response.content)
    except (msgspec.DecodeError, RecursionError):
        return None
    return body if isinstance(body, dict) and body.get("kind") == "Status" else None


def error_of(
    code: int,
    status: JsonObject | None,
    call: Call,
    access: ClusterAccess,
    *,
    retry_after: float | None = None,
    text: str = "",
) -> errors.ApiStatusError:
    """The error for a `Status`, or for an answer without one."""
    if status is None:
        words = _first_line(text)
        message, hint = _unexplained(code, words, call, access)
    else:
        words = str(status.get("message") or "")
        message, hint = _explained(code, words, call, access)
        hint = hint or _missing_namespace(code, status)
    kind = ERROR_CLASSES.get(code) or (errors.ServerError if code >= 500 else errors.ApiStatusError)
    if status is None and kind is errors.NotFoundError:
        kind = errors.ApiStatusError
    status = status or {}
    details = status.get("details")
    wanted = details.get("retryAfterSeconds") if isinstance(details, dict) else None
    if retry_after is None and isinstance(wanted, int | float) and wanted > 0:
        retry_after = float(min(wanted, _LONGEST_WISH))
    return kind(
        message,
        code=code,
        reason=str(status.get("reason") or ""),
        server_message=words,
        status=status,
        retry_after=retry_after,
        hint=hint,
    )


def _explained(code: int, words: str, call: Call, access: ClusterAccess) -> tuple[str, str | None]:
    if code == 403:
        return _forbidden(words, call)
    if code == 401:
        return (
            f"The API server {access.server} does not accept the credentials of {_account(access)}",
            "Log in again, or choose another context: `kubectl auth whoami` shows who you are.",
        )
    said = f": {words}" if words else ""
    if code in (404, 409, 410, 422) and words:
        return words, None
    return f"Cannot {call}: the API server answered {code}{said}", None


def _missing_namespace(code: int, status: JsonObject) -> str | None:
    """What to do where an object cannot be made because its namespace is not there."""
    details = status.get("details")
    if code != 404 or not isinstance(details, dict) or details.get("kind") != "namespaces":
        return None
    how = next_step.kubectl(f"create namespace {details.get('name')}", None)
    return f"Create it: {how}; or name another one by kubernetes.namespace"


def _unexplained(
    code: int, words: str, call: Call, access: ClusterAccess
) -> tuple[str, str | None]:
    """Message and hint for an answer without a `Status`."""
    if code == 401:
        return _explained(code, words, call, access)
    said = f": {words}" if words else ""
    if code in (429, *range(500, 600)):  # load balancers say this for a server that is away
        return f"Cannot {call}: {access.server} answered {code}{said}", None
    return (
        f"Cannot {call}: {access.server} answered {code}, not as an API server does{said}",
        FOREIGN_HINT,
    )


def decoded(text: bytes, call: Call, access: ClusterAccess) -> Any:
    """The JSON in an answer; `ApiUnreachableError` if it is none, or deeper than can be read."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise foreign(call, access) from error


def foreign(call: Call, access: ClusterAccess) -> errors.ApiUnreachableError:
    """The error for an answer that is a success by its code, and not Kubernetes' by its body."""
    return errors.ApiUnreachableError(
        f"Cannot {call}: the answer of {access.server} is not from an API server",
        hint=FOREIGN_HINT,
    )


def _forbidden(words: str, call: Call) -> tuple[str, str | None]:
    denied = _DENIED.search(words)
    if denied is None and OWNER_SENTENCE in words:
        return f"Cannot {call}: {words.removesuffix(_NO_ERROR)}", OWNER_HINT
    if denied is None:
        # Not a matter of rights: a quota, an admission policy, a namespace that is going away.
        return f"Cannot {call}: {words or 'forbidden'}", None
    user = denied["user"]
    where = f'in namespace "{call.namespace}"' if call.namespace else "in the whole cluster"
    message = f'Account "{user}" may not {call.verb} {call.plural} {where}'
    if user == "system:anonymous":
        return message, "No credentials were sent: check the user of this kubeconfig context."
    kind = "Role" if call.namespace else "ClusterRole"
    group = call.resource.group
    plural = call.plural.replace(f".{group}", "") if group else call.plural
    return message, (
        f'Ask for a {kind} with apiGroups ["{group}"], resources ["{plural}"], '
        f'verbs ["{call.verb}"], bound to that account.'
    )


def _account(access: ClusterAccess) -> str:
    if access.in_cluster:
        return "the pod's service account"
    if access.user_name is None:
        return f'context "{access.context}", which names no user'
    return f'user "{access.user_name}" (context "{access.context}")'


def unreachable(error: httpx2.RequestError, access: ClusterAccess) -> errors.ApiUnreachableError:
    """The error for a request that got no answer: the address, and the cause in plain words."""
    cause, hint = cause_of(error)
    proxy = access.proxy_url
    if proxy is not None and not is_certificate_error(error):
        return errors.ApiUnreachableError(
            f"Cannot reach the API server {access.server}: {cause}",
            hint=f"The way leads through the proxy {_without_password(proxy)}: "
            "check proxy-url, HTTPS_PROXY and NO_PROXY.",
        )
    if hint is None:
        place = f"context {access.context}" if access.context else access.origin
        hint = f"The address is from {place}; is the cluster running, and is a VPN needed?"
    return errors.ApiUnreachableError(
        f"Cannot reach the API server {access.server}: {cause}", hint=hint
    )


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def cause_of(error: BaseException) -> tuple[str, str | None]:
    """Why a connection failed, and a hint where the cause itself gives one."""
    import httpx2

    chain = list(_chain(error))
    for link in chain:
        if isinstance(link, ssl.SSLCertVerificationError):
            return (
                f"its certificate is not trusted ({link.verify_message})",
                "Check certificate-authority and tls-server-name of the kubeconfig's cluster.",
            )
        if isinstance(link, socket.gaierror):
            return "its name cannot be resolved", None
        if isinstance(link, ConnectionRefusedError):
            return "connection refused", None
        if isinstance(link, ssl.SSLError):
            return f"TLS failed ({getattr(link, 'reason', None) or link})", None
    if isinstance(error, httpx2.ProxyError):
        return f"the proxy refused ({error})", None
    if isinstance(error, httpx2.ConnectTimeout):
        return "no connection within the time limit", None
    if isinstance(error, httpx2.TimeoutException):
        return "no answer within the time limit", None
    if isinstance(error, httpx2.ReadError | httpx2.WriteError | httpx2.RemoteProtocolError):
        return "the connection broke before the answer", None
    return _first_line(str(error)) or type(error).__name__, None


def is_certificate_error(error: BaseException) -> bool:
    """Whether TLS failed for a reason that trying again does not change."""
    return any(isinstance(link, ssl.SSLError) for link in _chain(error))


def was_sent(error: BaseException) -> bool:
    """Whether the server may have got the request although no answer came."""
    import httpx2

    never = httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout | httpx2.ProxyError
    return not isinstance(error, never)


def was_broken(error: BaseException | None) -> bool:
    """Whether the other side ended the connection, as against silence or no connection."""
    import httpx2

    return isinstance(error, httpx2.ReadError | httpx2.RemoteProtocolError)


def retry_after(header: str | None) -> float | None:
    """Seconds, from a number or from a date; None where the header says nothing useful."""
    if header is None:
        return None
    header = header.strip()
    if header.isascii() and header.isdigit():
        return float(header)
    date = moment(header)
    return None if date is None else max(0.0, date - time.time())


def moment(header: str) -> float | None:
    """The date in a header as seconds since 1970; None for what is none, or of no year of ours."""
    try:
        date = parsedate_to_datetime(header)
        return date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        return None


def _chain(error: BaseException) -> Any:
    """The error, what caused it, and the members of groups (connection attempts per address)."""
    seen: set[int] = set()
    waiting: list[BaseException] = [error]
    while waiting:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            waiting.extend(link.exceptions)
        waiting.extend(cause for cause in (link.__cause__, link.__context__) if cause)


def _first_line(text: str) -> str:
    stripped = re.sub(r"<[^<>]*>", " ", text).strip()
    line = " ".join(stripped.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
