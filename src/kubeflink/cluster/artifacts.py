"""Uploading what an application needs from the client's machine to where its pods can fetch it.

With `kubernetes.artifacts.local-upload-enabled` (Flink 1.20), the program and the artifacts that
are named by `local://` are files of this machine, which are copied to
`kubernetes.artifacts.local-upload-target`; the configuration then names the copies. Flink does this
with its file system plug-ins (DefaultKubernetesArtifactUploader). Here the target is a directory
that is mounted on both sides; an object store is refused, with the way round it.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kubeflink.config import Configuration
from kubeflink.config.options import deployment, kubernetes, pipeline
from kubeflink.errors import ConfigurationError, KubeflinkError

logger = logging.getLogger(__name__)

_LOCAL = "local"


def upload(configuration: Configuration) -> Configuration:
    """Copy the local artifacts of an application, and name the copies.

    An artifact that is there already is kept unless `local-upload-overwrite` is set. Raises
    `ConfigurationError` for a target that cannot be written from here.
    """
    if not configuration.version.uploads_artifacts:
        return configuration
    if not configuration.get(kubernetes.ARTIFACTS_LOCAL_UPLOAD_ENABLED):
        return configuration
    values: dict[str, object] = {}
    for option in (pipeline.JARS, deployment.USER_ARTIFACTS_ARTIFACT_LIST):
        named = configuration.get(option) or ()
        if any(_is_local(uri) for uri in named):
            values[option.key] = _uploaded(configuration, named)
    return configuration.with_values(values) if values else configuration


def _is_local(uri: str) -> bool:
    return urlsplit(uri).scheme == _LOCAL


def _uploaded(configuration: Configuration, uris: Sequence[str]) -> list[str]:
    overwrite = configuration.get(kubernetes.ARTIFACTS_LOCAL_UPLOAD_OVERWRITE)
    target = _target(configuration)
    return [_copy(uri, target, overwrite) if _is_local(uri) else uri for uri in uris]


def _target(configuration: Configuration) -> Path:
    option = kubernetes.ARTIFACTS_LOCAL_UPLOAD_TARGET
    text = configuration.get(option)
    if not text or not text.strip():
        raise ConfigurationError(
            f"{option.key} must say where local artifacts are uploaded to", option=option.key
        )
    parts = urlsplit(text)
    if parts.scheme not in ("", "file"):
        raise ConfigurationError(
            f"{option.key}: an upload to {parts.scheme}:// is not possible from here",
            option=option.key,
            origin=configuration.origin(option.key),
            hint=f"Copy the file there yourself and name it: {text.rstrip('/')}/job.jar",
        )
    return Path(unquote(parts.path))


def _copy(uri: str, directory: Path, overwrite: bool) -> str:
    source = Path(unquote(urlsplit(uri).path))
    target = directory / source.name
    if target.exists() and not overwrite:
        logger.info("%s is there already and is kept", target)
    else:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        except OSError as error:
            raise KubeflinkError(
                f"{source} cannot be uploaded to {target}: {error.strerror or error}"
            ) from error
    return f"file:{target}"
