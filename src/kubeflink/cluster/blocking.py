"""The synchronous face: the same classes, methods and arguments, without `await`.

    from kubeflink.sync import SessionCluster

    with SessionCluster.temporary("demo") as cluster:
        cluster.submit_jar("wordcount.jar").wait()

Everything here only forwards to the asynchronous classes, through one `Portal`. A forwarder takes
over name, signature and docstring of what it forwards to, for readers and for type checkers alike;
a test checks that nothing is missing. Callbacks such as `on_progress` run in the portal's thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from kubeflink.cluster import application, cluster, job, listing, logs, session
from kubeflink.cluster.portal import Portal

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")
S = TypeVar("S")
C = TypeVar("C", bound=cluster.FlinkCluster)

PORTAL = Portal()


def _forward(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], T]:
    """A method that calls an asynchronous one and waits for it."""

    @functools.wraps(method)
    def forward(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return PORTAL.call(method(self._inner, *args, **kwargs))

    return forward


def _forward_and_wrap(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, A]], wrap: Callable[[A], S]
) -> Callable[Concatenate[Any, P], S]:
    """The same, where the result has a synchronous face too."""

    @functools.wraps(method)
    def forward(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> S:
        return wrap(PORTAL.call(method(self._inner, *args, **kwargs)))

    return forward


def _make(
    constructor: Callable[P, Coroutine[Any, Any, A]], wrap: Callable[[A], S]
) -> Callable[P, S]:
    """A function that makes an asynchronous object and wraps it."""

    @functools.wraps(constructor)
    def make(*args: P.args, **kwargs: P.kwargs) -> S:
        return wrap(PORTAL.call(constructor(*args, **kwargs)))

    return make


def _enter(
    manager: Callable[P, AbstractAsyncContextManager[A]], wrap: Callable[[A], S]
) -> Callable[P, AbstractContextManager[S]]:
    """A function whose result is used by `with` instead of `async with`."""

    @functools.wraps(manager)
    @contextmanager
    def enter(*args: P.args, **kwargs: P.kwargs) -> Iterator[S]:
        entered = manager(*args, **kwargs)
        inner = PORTAL.call(_aenter(entered))
        try:
            yield wrap(inner)
        except BaseException as error:
            if not PORTAL.call(_aexit(entered, error)):
                raise
        else:
            PORTAL.call(_aexit(entered, None))

    return enter


def _enter_on(
    method: Callable[Concatenate[Any, P], AbstractAsyncContextManager[T]],
) -> Callable[Concatenate[Any, P], AbstractContextManager[T]]:
    """A method whose result is used by `with` instead of `async with`."""

    @functools.wraps(method)
    def forward(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> AbstractContextManager[T]:
        bound = functools.partial(method, self._inner, *args, **kwargs)
        return _enter(functools.wraps(method)(bound), lambda found: found)()

    return forward


async def _aenter(manager: AbstractAsyncContextManager[A]) -> A:
    return await manager.__aenter__()


async def _aexit(
    manager: AbstractAsyncContextManager[Any], error: BaseException | None
) -> bool | None:
    if error is None:
        return await manager.__aexit__(None, None, None)
    return await manager.__aexit__(type(error), error, error.__traceback__)


class Job:
    """A job on a cluster; see `kubeflink.Job`."""

    def __init__(self, inner: job.Job) -> None:
        self._inner = inner

    def __repr__(self) -> str:
        return repr(self._inner)

    def _repr_html_(self) -> str:
        return self._inner._repr_html_()

    @property
    def id(self) -> str:
        """The job's id of 32 hexadecimal digits."""
        return self._inner.id

    details = _forward(job.Job.details)
    state = _forward(job.Job.state)
    exceptions = _forward(job.Job.exceptions)
    checkpoints = _forward(job.Job.checkpoints)
    accumulators = _forward(job.Job.accumulators)
    wait = _forward(job.Job.wait)
    cancel = _forward(job.Job.cancel)
    stop = _forward(job.Job.stop)
    savepoint = _forward(job.Job.savepoint)
    checkpoint = _forward(job.Job.checkpoint)
    until_tasks_run = _forward(job.Job.until_tasks_run)


class FlinkCluster(Generic[C]):
    """What both kinds of clusters have in common; see `kubeflink.cluster.cluster`."""

    def __init__(self, inner: C) -> None:
        self._inner = inner

    def __repr__(self) -> str:
        return repr(self._inner)

    def _repr_html_(self) -> str:
        return self._inner._repr_html_()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The cluster id."""
        return self._inner.name

    @property
    def namespace(self) -> str:
        """The namespace of its objects."""
        return self._inner.namespace

    def job(self, job_id: str) -> Job:
        """One job, by its id; no request is made. Raises UsageError for what is no id."""
        return Job(self._inner.job(job_id))

    def logs(
        self,
        *,
        follow: bool = False,
        tail_lines: int | None = None,
        component: str | None = None,
    ) -> Iterator[logs.LogLine]:
        """The lines of the logs of JobManager and TaskManagers; see `logs.read` and `logs.follow`.

        `component` is `jobmanager`, `taskmanager`, or None for both; or `broker`.
        """
        lines = self._inner.logs(follow=follow, tail_lines=tail_lines, component=component)
        try:
            while (line := PORTAL.call(_next_or_none(lines))) is not None:
                yield line
        finally:
            PORTAL.call(lines.aclose())

    close = _forward(cluster.FlinkCluster.close)
    socket = _enter_on(cluster.FlinkCluster.socket)
    exists = _forward(cluster.FlinkCluster.exists)
    may_exist = _forward(cluster.FlinkCluster.may_exist)
    has_ha_data = _forward(cluster.FlinkCluster.has_ha_data)
    recovers_jobs = _forward(cluster.FlinkCluster.recovers_jobs)
    wait_ready = _forward(cluster.FlinkCluster.wait_ready)
    overview = _forward(cluster.FlinkCluster.overview)
    address = _forward(cluster.FlinkCluster.address)
    jobs = _forward(cluster.FlinkCluster.jobs)
    taskmanagers = _forward(cluster.FlinkCluster.taskmanagers)
    dispose_savepoint = _forward(cluster.FlinkCluster.dispose_savepoint)
    describe = _forward(cluster.FlinkCluster.describe)
    delete = _forward(cluster.FlinkCluster.delete)


class SessionCluster(FlinkCluster[session.SessionCluster]):
    """A session cluster; see `kubeflink.SessionCluster`."""

    submit_jar = _forward_and_wrap(session.SessionCluster.submit_jar, Job)
    submit_sql = _forward_and_wrap(session.SessionCluster.submit_sql, Job)
    plan = _forward(session.SessionCluster.plan)
    upload_jar = _forward(session.SessionCluster.upload_jar)
    table_environment = _forward(session.SessionCluster.table_environment)
    stream_environment = _forward(session.SessionCluster.stream_environment)

    @staticmethod
    def _wrap(inner: session.SessionCluster) -> SessionCluster:
        return SessionCluster(inner)

    deploy = staticmethod(_make(session.SessionCluster.deploy, _wrap))
    attach = staticmethod(_make(session.SessionCluster.attach, _wrap))
    temporary = staticmethod(_enter(session.SessionCluster.temporary, _wrap))


class ApplicationCluster(FlinkCluster[application.ApplicationCluster]):
    """An application cluster; see `kubeflink.ApplicationCluster`."""

    wait = _forward(application.ApplicationCluster.wait)
    wait_started = _forward(application.ApplicationCluster.wait_started)

    @staticmethod
    def _wrap(inner: application.ApplicationCluster) -> ApplicationCluster:
        return ApplicationCluster(inner)

    deploy = staticmethod(_make(application.ApplicationCluster.deploy, _wrap))
    attach = staticmethod(_make(application.ApplicationCluster.attach, _wrap))


async def _next_or_none(lines: Any) -> logs.LogLine | None:
    line: logs.LogLine | None = await anext(lines, None)
    return line


clusters = _make(listing.clusters, lambda found: found)
