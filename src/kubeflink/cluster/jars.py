"""Jars on a JobManager: sent to one, known to that one alone.

Whatever else is asked of a JobManager that is not the leader, it passes on to the leader. An
uploaded jar stays in a temporary directory of the process that took it, and `run` looks for it
nowhere else. So upload and run have to reach the same process, which a Service with several
JobManagers behind it does not promise; and a JobManager that was restarted in between has forgotten
the jar. `submit` goes to one JobManager for both, and begins anew where that one has ended. The
job's id is chosen here before, so that Flink itself refuses a second job.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from kubeflink.cluster.clock import Deadline
from kubeflink.errors import FlinkError, RestStatusError, RestUnreachableError, UsageError
from kubeflink.rest import RETRY_SECONDS
from kubeflink.rest.upload import kept_name

if TYPE_CHECKING:
    from kubeflink.rest import FlinkClient
    from kubeflink.rest.upload import Progress

logger = logging.getLogger(__name__)

Run: TypeAlias = "Callable[[FlinkClient, str, str], Awaitable[str]]"
"""Given a client, the id of a jar and the id that the job shall have, starts the job."""

SECONDS = 3 * RETRY_SECONDS
"""How long a submission begins anew; a standby needs a minute to see that its leader has died."""

_PAUSE = 1.0
_DIGEST_CHUNK = 1024 * 1024


async def submit(
    one_jobmanager: Callable[[], AbstractAsyncContextManager[FlinkClient]],
    jar: Path,
    run: Run,
    on_upload: Progress | None = None,
) -> str:
    """Uploads a jar to one JobManager and runs it there; returns the job's id.

    Begins anew within `SECONDS` if that JobManager ends meanwhile, does not know the jar any more,
    or has lost its leader; not for an address that has never answered. A program that is only slow
    is never started twice.
    """
    import httpx2

    from kubeflink.rest import failures

    job_id = secrets.token_hex(16)
    deadline = Deadline.after(SECONDS)
    is_repeated = False
    flink: FlinkClient | None = None
    while True:
        try:
            async with one_jobmanager() as flink:
                return await run(flink, await upload(flink, jar, on_upload), job_id)
        except RestStatusError as error:
            if is_repeated and _says(error, "DuplicateJobSubmissionException"):
                return job_id
            may_pass = _is_jar_missing(error) or failures.is_transient(error)
            if not may_pass or _is_unheard(flink) or not await deadline.pause(_PAUSE):
                raise
        except RestUnreachableError as error:
            is_slow = isinstance(error.__cause__, httpx2.ReadTimeout)
            if is_slow or _is_unheard(flink) or not await deadline.pause(_PAUSE):
                raise
        is_repeated = True


async def upload(flink: FlinkClient, jar: Path, on_upload: Progress | None = None) -> str:
    """Uploads a jar unless this JobManager has it already, and returns its id.

    The name under which it is kept has a digest of its content in it. UsageError for a file that is
    missing or no jar.
    """
    name = await _name_there(jar)
    found = await _find(flink, name)
    return found or await flink.upload_jar(jar, name=name, progress=on_upload)


@asynccontextmanager
async def lent(
    flink: FlinkClient, jar: Path, on_upload: Progress | None = None
) -> AsyncIterator[str]:
    """The id of a jar on this JobManager, for as long as the context is open.

    One that is there already is used and stays. Else it is uploaded, and removed at the end, after
    an error and after cancellation too; a submission that has found it meanwhile uploads it again.
    UsageError for a file that is missing or no jar.
    """
    name = await _name_there(jar)
    found = await _find(flink, name)
    if found is not None:
        yield found
        return
    jar_id = await flink.upload_jar(jar, name=name, progress=on_upload)
    try:
        yield jar_id
    finally:
        try:
            await flink.delete_jar(jar_id)
        except FlinkError as error:  # the outcome is there; a jar too many does no harm
            logger.warning("the jar %s stays on the JobManager: %s", name, error.message)


async def _find(flink: FlinkClient, name: str) -> str | None:
    return next((there.id for there in await flink.jars() if there.name == name), None)


async def _name_there(jar: Path) -> str:
    check_jar(jar)
    return kept_name(f"{jar.stem}-{await asyncio.to_thread(_digest, jar)}.jar")


def check_jar(path: Path) -> None:
    """UsageError unless the file can be read and is an archive, as a jar is."""
    if not path.exists():
        raise UsageError(f"There is no file {path}")
    if path.is_dir() or not zipfile.is_zipfile(path):
        raise UsageError(
            f"{path} is no jar", hint="A jar is an archive with classes; was it built completely?"
        )


def _is_unheard(flink: FlinkClient | None) -> bool:
    return flink is not None and flink.is_unheard


def _is_jar_missing(error: RestStatusError) -> bool:
    """Flink's words for a jar that this JobManager does not have (JarHandlerUtils)."""
    return _says(error, "Jar file ") and _says(error, "does not exist")


def _says(error: RestStatusError, words: str) -> bool:
    return any(words in text for text in (error.message, *error.server_errors))


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_DIGEST_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()[:12]
