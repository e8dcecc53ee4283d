"""The errors that kubeflink raises, each saying what, where and what to do next.

    KubeflinkError                      exit code 1
    ├── UsageError                      exit code 2: the request itself is wrong
    │   ├── ConfigurationError          an option, its value and where the value came from
    │   └── TemplateError               a pod template: file, line, what is wrong
    ├── KubernetesError                 the way to the API server, or its answer
    │   ├── KubeconfigError             no or unusable kubeconfig, context, credentials
    │   ├── ApiUnreachableError         no answer: refused, reset, timed out, TLS
    │   └── ApiStatusError              an answer with a `Status`
    │       ├── BadRequestError         400
    │       ├── UnauthorizedError       401
    │       ├── ForbiddenError          403
    │       ├── NotFoundError           404
    │       ├── ConflictError           409
    │       ├── GoneError               410
    │       ├── InvalidError            422
    │       ├── TooManyRequestsError    429
    │       └── ServerError             5xx
    ├── FlinkError                      Flink itself
    │   ├── RestUnreachableError        no answer from the JobManager's REST API
    │   ├── RestTlsError                its TLS does not fit: a certificate, the protocol
    │   ├── RestStatusError             an answer that is an error; carries Flink's own text
    │   ├── SqlError                    a SQL statement that Flink refuses, and its place
    │   └── JobFailedError              a job ended in another state than was asked for
    ├── ClusterError                    a cluster as a whole
    │   ├── ClusterNotFoundError        exit code 4
    │   ├── ClusterExistsError
    │   ├── ClusterFailedError          it will not become ready: the cause, as seen
    │   └── NoPodRunningError           at present there is no pod to talk to
    ├── WaitTimeoutError                exit code 3: what was waited for and what was seen last
    └── LocalError                      the embedded Kubernetes: ports, disk, Java, Flink's jars

A message has one to three lines and no trailing full stop on its first line: the first says what
happened and where, the others what to do about it (`hint`). Nothing in a message is ever a secret.
"""

from __future__ import annotations

from typing import Any, ClassVar


class KubeflinkError(Exception):
    """Base of all errors that a user can cause or act on.

    `hint` is what to do next, one or two lines, without the word "hint".
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n{self.hint}"


class UsageError(KubeflinkError):
    """The request itself is wrong; nothing was sent."""

    exit_code = 2


class ConfigurationError(UsageError):
    """An option cannot have this value.

    `origin` says where the value came from, such as `-D` or `conf/config.yaml line 3`. A value that
    may be a secret is not shown.
    """

    def __init__(
        self,
        message: str,
        *,
        option: str | None = None,
        origin: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message if origin is None else f"{message} (from {origin})", hint=hint)
        self.option = option
        self.origin = origin


class TemplateError(UsageError):
    """A pod template cannot be read or does not describe a pod."""


class KubernetesError(KubeflinkError):
    """The way to the API server failed, or it answered with an error."""


class KubeconfigError(KubernetesError):
    """No kubeconfig, or one that cannot be used; found before any request."""


class ApiUnreachableError(KubernetesError):
    """The API server gave no answer."""


class ApiStatusError(KubernetesError):
    """The API server answered with a `Status` object.

    `status` is that object as it was sent, `code` the HTTP status, `reason` and `server_message`
    are taken from it. `retry_after` is in seconds, where the server gave one.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int,
        reason: str = "",
        server_message: str = "",
        status: dict[str, Any] | None = None,
        retry_after: float | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.reason = reason
        self.server_message = server_message
        self.status = status or {}
        self.retry_after = retry_after


class BadRequestError(ApiStatusError):
    """400: the server could not read the request."""


class UnauthorizedError(ApiStatusError):
    """401: the credentials are missing, wrong or expired."""


class ForbiddenError(ApiStatusError):
    """403: the account may not do this."""


class NotFoundError(ApiStatusError):
    """404: no such object or resource."""


class ConflictError(ApiStatusError):
    """409: the object exists already, or was changed by somebody else."""


class GoneError(ApiStatusError):
    """410: the resource version is too old; list again."""


class InvalidError(ApiStatusError):
    """422: the object breaks a rule of the API."""


class TooManyRequestsError(ApiStatusError):
    """429: the server asks for a pause."""


class ServerError(ApiStatusError):
    """5xx: the fault is the server's; the same request may succeed later."""


class FlinkError(KubeflinkError):
    """Flink itself: its REST API, or a job."""


class RestUnreachableError(FlinkError):
    """The JobManager's REST API gave no answer. Says nothing about the state of a job."""


class RestTlsError(FlinkError):
    """TLS with the REST API does not fit: whom to trust, who asks, or that it is spoken at all.

    Unlike a server that cannot be reached, this does not pass by itself.
    """


class RestStatusError(FlinkError):
    """The JobManager's REST API answered with an error.

    `code` is the HTTP status, `server_errors` are the texts that Flink sent, stack traces included.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int,
        server_errors: tuple[str, ...] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.server_errors = server_errors


class SqlError(FlinkError):
    """A SQL statement that Flink refuses, with Flink's own sentence about it.

    `statement` is its number in the script and `line` where the mistake stands, both from 1; so is
    `column`, which is None where Flink has named no place in the statement.
    """

    def __init__(
        self,
        message: str,
        *,
        statement: int,
        line: int,
        column: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.statement = statement
        self.line = line
        self.column = column


class JobFailedError(FlinkError):
    """A job ended in another state than was asked for, with the root cause as Flink told it.

    `savepoint` is the path of one that was made all the same, from which the job can go on.
    """

    def __init__(
        self,
        message: str,
        *,
        job_id: str,
        state: str,
        savepoint: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.job_id = job_id
        self.state = state
        self.savepoint = savepoint


class ClusterError(KubeflinkError):
    """A cluster as a whole."""


class ClusterNotFoundError(ClusterError):
    """There is no such cluster in this namespace."""

    exit_code = 4


class ClusterExistsError(ClusterError):
    """Something of that name is there already, and this call did not make it."""


class ClusterFailedError(ClusterError):
    """The cluster will not become ready; the message has the cause as seen in pods and events."""


class NoPodRunningError(ClusterError):
    """At present no pod runs that could be talked to; one may come."""


class WaitTimeoutError(KubeflinkError):
    """A wait ended at its limit; the message says what was seen last."""

    exit_code = 3


class LocalError(KubeflinkError):
    """The embedded Kubernetes cannot do this: ports, disk, Java, Flink's jars."""
