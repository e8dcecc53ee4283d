"""Uploading what an application needs from the client's machine to where its pods can fetch it.

With `kubernetes.artifacts.local-upload-enabled` (Flink 1.20), the program and the artifacts that
are named by `local://` are files of this machine, which are copied to
`kubernetes.artifacts.local-upload-target`; the configuration then names the copies. Flink does this
with its file system plug-ins (DefaultKubernetesArtifactUploader); here the target is a directory
that is mounted on both sides, or an object store (see `object_stores`).

The copies' names are known before anything is sent. So first it is planned, and what is wrong is
refused; the upload comes when nothing else speaks against the deployment. It goes on in a thread,
piece by piece: memory does not depend on a file's size, and a cancellation takes back what was sent
of a file. Whoever looks at the target sees whole files only.

The libraries of the stores repeat what got no answer, each in its own way, and some of them for
tens of minutes. So the time without progress is limited here, for all of them alike. A thread
cannot be ended: one that is given up sends nothing more as soon as its library comes back, takes
back what it sent, and does not keep the process from ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

from kubeflink.cluster import object_stores
from kubeflink.cluster.object_stores import FileSystem, Target
from kubeflink.config import Configuration
from kubeflink.config.options import deployment, kubernetes, pipeline
from kubeflink.errors import ConfigurationError, KubeflinkError

logger = logging.getLogger(__name__)

OnUpload: TypeAlias = Callable[[str, int, int], None]
"""Called with a file's name, the bytes of it that have been handed over, and its bytes in all."""

PIECE: Final = 8 * 1024 * 1024
"""Bytes that are read and sent at once: S3 takes parts from 5 MiB on, and ten thousand of them."""

_MOST_PIECES: Final = 9_000

ANSWER_SECONDS: Final = 60.0
"""How long a store may take to answer before anything of a file is sent."""

PIECE_SECONDS: Final = 300.0
"""The same for each 8 MiB that are sent, so for a line of 28 KB/s, and for the end of a file."""

_LOCAL: Final = "local"


class _StoppedError(Exception):
    """Nobody waits for the upload any more."""


@dataclass(frozen=True, slots=True)
class Upload:
    """One file of this machine, and the directory to which it is copied under its own name."""

    source: Path
    directory: str
    """A path, or the URI of an object store; without a slash at its end."""
    overwrite: bool

    @property
    def uri(self) -> str:
        """How the configuration names the copy, as Flink writes it."""
        is_path = not object_stores.is_object_store(self.directory)
        return f"{'file:' if is_path else ''}{self.directory}/{self.source.name}"


@dataclass(frozen=True, slots=True)
class Artifacts:
    """A configuration that names the copies, and what has to be copied before it is true."""

    configuration: Configuration
    uploads: tuple[Upload, ...]

    async def upload(self, on_upload: OnUpload | None = None) -> None:
        """Copies the files, one after the other.

        One that is there already is kept unless `local-upload-overwrite` is set. Raises
        KubeflinkError with the reason. After an error, or cancellation, no part of a file is left,
        unless the store had ceased to answer; those that were complete stay.
        """
        for each in self.uploads:
            await _Copying(each, self.configuration, on_upload).run()


def planned(configuration: Configuration) -> Artifacts:
    """What has to be uploaded for an application; nothing is sent, nor are the files looked at.

    Raises ConfigurationError for a target that cannot be written from here.
    """
    is_wanted = configuration.version.uploads_artifacts and configuration.get(
        kubernetes.ARTIFACTS_LOCAL_UPLOAD_ENABLED
    )
    if not is_wanted:
        return Artifacts(configuration, ())
    values: dict[str, object] = {}
    uploads: dict[Upload, None] = {}
    for option in (pipeline.JARS, deployment.USER_ARTIFACTS_ARTIFACT_LIST):
        named = configuration.get(option) or ()
        if any(_is_local(uri) for uri in named):
            found = [_planned(uri, configuration) for uri in named]
            values[option.key] = [each if isinstance(each, str) else each.uri for each in found]
            uploads |= dict.fromkeys(each for each in found if isinstance(each, Upload))
    _check_names(tuple(uploads))
    return Artifacts(configuration.with_values(values) if values else configuration, (*uploads,))


def _is_local(uri: str) -> bool:
    return urlsplit(uri).scheme == _LOCAL


def _planned(uri: str, configuration: Configuration) -> Upload | str:
    if not _is_local(uri):
        return uri
    overwrite = configuration.get(kubernetes.ARTIFACTS_LOCAL_UPLOAD_OVERWRITE)
    return Upload(Path(unquote(urlsplit(uri).path)), _directory(configuration), overwrite)


def _check_names(uploads: Sequence[Upload]) -> None:
    """Two files of one name would be one copy."""
    by_name = {each.source.name: each.source for each in uploads}
    for each in uploads:
        if by_name[each.source.name] != each.source:
            raise ConfigurationError(
                f"{each.source} and {by_name[each.source.name]} have the same name, under which"
                " both would be uploaded",
                hint="Rename one of them",
            )


def _directory(configuration: Configuration) -> str:
    option = kubernetes.ARTIFACTS_LOCAL_UPLOAD_TARGET
    text = configuration.get(option)
    if not text or not text.strip():
        raise ConfigurationError(
            f"{option.key} must say where local artifacts are uploaded to", option=option.key
        )
    parts = urlsplit(text)
    if parts.scheme in ("", "file"):
        return str(Path(unquote(parts.path)))
    if object_stores.is_object_store(text):
        return object_stores.checked(text)
    raise ConfigurationError(
        f"{option.key}: an upload to {parts.scheme}:// is not possible from here, only to file://,"
        f" {object_stores.schemes()}",
        option=option.key,
        origin=configuration.origin(option.key),
        hint=f"Copy the file there yourself and name it: {text.rstrip('/')}/job.jar",
    )


# -- copying ----------------------------------------------------------------------------------


class _Copying:
    """A copy that goes on in a thread, which has ended and cleaned up when `run` has ended.

    The exception is a thread in which nothing goes on: it is left alone when its time is over.
    """

    def __init__(
        self, upload: Upload, configuration: Configuration, on_upload: OnUpload | None
    ) -> None:
        self._upload = upload
        self._configuration = configuration
        self._on_upload = on_upload
        self._loop = asyncio.get_running_loop()
        self._work: asyncio.Future[None] = self._loop.create_future()
        self._stop = threading.Event()
        self._allow(ANSWER_SECONDS)

    async def run(self) -> None:
        """Copies. Raises KubeflinkError."""
        self._work.add_done_callback(lambda done: done.exception())  # perhaps nobody else looks
        name = f"upload of {self._upload.source.name}"
        threading.Thread(target=self._copy, name=name, daemon=True).start()
        try:
            has_ended = await self._has_ended()
        except asyncio.CancelledError:
            self._stop.set()
            await self._has_ended()
            raise
        if not has_ended:
            self._stop.set()
            raise _silent(self._upload, self._allowed)
        self._work.result()

    async def _has_ended(self) -> bool:
        """Waits for the end of the thread, or of its time."""
        while not self._work.done() and (left := self._deadline - self._loop.time()) > 0.0:
            await asyncio.wait({self._work}, timeout=left)
        return self._work.done()

    def _allow(self, seconds: float) -> None:
        self._allowed = seconds
        self._deadline = self._loop.time() + seconds

    def _went_on(self, done: int, total: int) -> None:
        self._allow(PIECE_SECONDS * _piece_size(total) / PIECE)
        if self._on_upload is not None and not self._stop.is_set():
            self._on_upload(self._upload.source.name, done, total)

    def _end(self, error: BaseException | None) -> None:
        if error is None:
            self._work.set_result(None)
        else:
            self._work.set_exception(error)

    # In the thread

    def _copy(self) -> None:
        error: BaseException | None = None
        try:
            _copy(self._upload, self._configuration, self._tell)
        except BaseException as raised:  # noqa: BLE001 - it is raised where it is waited for
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._end, error)

    def _tell(self, done: int, total: int) -> None:
        if self._stop.is_set():
            raise _StoppedError
        self._loop.call_soon_threadsafe(self._went_on, done, total)


_Tell: TypeAlias = Callable[[int, int], None]
"""Called with the bytes done and in all; raises _StoppedError when nobody waits any more."""


def _copy(upload: Upload, configuration: Configuration, tell: _Tell) -> None:
    if object_stores.is_object_store(upload.directory):
        _copy_to_store(upload, configuration, tell)
        return
    target = Path(upload.directory) / upload.source.name
    try:
        if target.exists() and not upload.overwrite:
            _log_kept(upload)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy_to_file(upload.source, target, tell)
    except OSError as error:
        raise _failed(upload, error.strerror or str(error)) from error


def _copy_to_file(source: Path, target: Path, tell: _Tell) -> None:
    unfinished = target.with_name(_unfinished(target.name))
    try:
        with unfinished.open("wb") as file:
            for piece in _pieces(source, PIECE, tell):
                file.write(piece)
        os.replace(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _copy_to_store(upload: Upload, configuration: Configuration, tell: _Tell) -> None:
    target = object_stores.open_target(upload.directory, configuration)
    path = f"{target.directory}/{upload.source.name}"
    try:
        if not upload.overwrite and target.files.exists(path):
            _log_kept(upload)
        elif target.is_atomic:
            _write(upload.source, target.files, path, tell)
        else:
            _write_and_rename(upload.source, target, path, tell)
    except _StoppedError:
        raise
    except Exception as error:  # each store's library has a tree of errors of its own
        raise _failed(upload, target.reason(error), target.hint(error)) from error
    finally:
        target.close()


def _write_and_rename(source: Path, target: Target, path: str, tell: _Tell) -> None:
    unfinished = f"{target.directory}/{_unfinished(source.name)}"
    try:
        target.files.makedirs(target.directory, exist_ok=True)
        _write(source, target.files, unfinished, tell)
        if target.files.exists(path):
            target.files.rm_file(path)
        target.files.mv(unfinished, path)
    except BaseException:
        with contextlib.suppress(Exception):  # the first error is the one that counts
            target.files.rm_file(unfinished)
        raise


def _write(source: Path, files: FileSystem, path: str, tell: _Tell) -> None:
    """Write one object piece by piece; what was sent of it is given up after an error."""
    size = _piece_size(source.stat().st_size)
    file = files.open(path, "wb", block_size=size)
    try:
        for piece in _pieces(source, size, tell):
            file.write(piece)
        file.close()
    except BaseException:
        # Closing it in the usual way would complete the object, now or when it is collected.
        with contextlib.suppress(Exception):  # the first error is the one that counts
            if hasattr(file, "discard"):
                file.discard()
                file.closed = True
            else:  # it has another name so far
                file.close()
        raise


def _pieces(source: Path, size: int, tell: _Tell) -> Iterator[bytes]:
    done, total = 0, source.stat().st_size
    with source.open("rb") as file:
        tell(done, total)
        while piece := file.read(size):
            yield piece
            done += len(piece)
            tell(done, total)


def _piece_size(total: int) -> int:
    """Bytes of a piece of a file. Google takes multiples of 256 KiB only."""
    return PIECE * (total // (PIECE * _MOST_PIECES) + 1)


def _unfinished(name: str) -> str:
    return f".{name}.{secrets.token_hex(4)}.upload"


def _log_kept(upload: Upload) -> None:
    logger.info("%s is there already and is kept", upload.uri)


def _failed(upload: Upload, reason: str, hint: str | None = None) -> KubeflinkError:
    return KubeflinkError(
        f"{upload.source} cannot be uploaded to {upload.uri.removeprefix('file:')}: {reason}",
        hint=hint,
    )


def _silent(upload: Upload, seconds: float) -> KubeflinkError:
    if object_stores.is_object_store(upload.directory):
        reason = f"the store has not answered for {seconds:g} s"
        return _failed(upload, reason, object_stores.way_hint(upload.directory))
    return _failed(
        upload,
        f"nothing could be written for {seconds:g} s",
        "Is what is mounted there still connected?",
    )
