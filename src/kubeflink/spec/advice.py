"""What the user should know of a cluster that is valid, but may not do what was meant.

Remarks on single options are made where the configuration is read (`config.review`). Here are those
that need the whole cluster: options that work against each other, and images that lack something.
Nothing is changed because of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubeflink.config import Notice
from kubeflink.config.options import (
    blob,
    deployment,
    high_availability,
    jobmanager,
    pipeline,
    rest,
    taskmanager,
)
from kubeflink.config.options.option import Option
from kubeflink.config.values import text_of
from kubeflink.config.versions import FlinkVersion, version_of_image
from kubeflink.spec.parameters import (
    APPLICATION,
    JOBMANAGER_ENV_PREFIX,
    TASKMANAGER_ENV_PREFIX,
    JobManagerParameters,
)
from kubeflink.spec.program import scheme_of

PLUGINS_VARIABLE = "ENABLE_BUILT_IN_PLUGINS"
"""The variable by which the official images move file systems from `opt` to `plugins`."""


def advice(parameters: JobManagerParameters) -> Iterator[Notice]:
    """All remarks on a cluster that is about to be deployed."""
    for remark in (*_host_network(parameters), *_plugins(parameters), *_program(parameters)):
        yield Notice(remark)


# --- host network ----------------------------------------------------------------------------

_PORTS: tuple[Option[int] | Option[str], ...] = (
    rest.BIND_PORT,
    jobmanager.RPC_PORT,
    blob.SERVER_PORT,
    taskmanager.RPC_PORT,
    high_availability.JOBMANAGER_PORT,
)
_SET_BY_CLIENT = {blob.SERVER_PORT.key: "6124", taskmanager.RPC_PORT.key: "6122"}


def _host_network(parameters: JobManagerParameters) -> Iterator[str]:
    """With host network all ports are random, so that several JobManagers fit on a node."""
    if not parameters.host_network:
        return
    configuration = parameters.configuration
    for option in _PORTS:
        port = configuration.text(option.key)
        fixed = _SET_BY_CLIENT.get(option.key, str(configuration.get(jobmanager.RPC_PORT)))
        if port not in (None, "0", fixed):
            yield f"{option.key}={port} has no effect: with host network all ports are random"


# --- file systems ----------------------------------------------------------------------------

_PLUGIN_JAR = re.compile(r"flink-[a-z0-9-]+-(\d+\.\d+\.\d+)\.jar")
FILE_SYSTEMS = {
    "s3": "flink-s3-fs-presto",
    "s3a": "flink-s3-fs-hadoop",
    "s3p": "flink-s3-fs-presto",
    "oss": "flink-oss-fs-hadoop",
    "gs": "flink-gs-fs-hadoop",
    "abfs": "flink-azure-fs-hadoop",
    "abfss": "flink-azure-fs-hadoop",
    "wasb": "flink-azure-fs-hadoop",
    "wasbs": "flink-azure-fs-hadoop",
}
"""The jar in the official image's `opt`, without its version, for each scheme."""

_PLACE_OF_STATE = re.compile(
    r"(?:state|execution|high-availability|jobstore|jobmanager)\..*(?:dir|directory|Dir|path)"
)
_OFFICIAL_IMAGE = re.compile(r"(?:docker\.io/)?(?:library/|apache/)?flink(?:[:@]|$)")


def _plugins(parameters: JobManagerParameters) -> Iterator[str]:
    """The official images have file systems, but enable none of them by themselves."""
    for prefix in (JOBMANAGER_ENV_PREFIX, TASKMANAGER_ENV_PREFIX):
        key = prefix + PLUGINS_VARIABLE
        value = parameters.configuration.text(key)
        if value is not None:
            yield from _strange_plugins(parameters, key, value)
    yield from _missing_plugins(parameters)


def _strange_plugins(parameters: JobManagerParameters, key: str, value: str) -> Iterator[str]:
    version = _official_image(parameters)
    for jar in value.split(";"):
        match = _PLUGIN_JAR.fullmatch(jar.strip())
        if match is None and "," in jar:
            yield f"{key}: several plug-ins are separated by ';', not by ','"
        elif match is None:
            yield (
                f"{key}: {jar!r} is no file of the image's opt directory, so its start script "
                f"ends; a name looks like flink-s3-fs-presto-{parameters.version}.jar"
            )
        elif version is not None and match[1] != str(version):
            yield f"{key}: {jar.strip()} is of another version than the image"


def _missing_plugins(parameters: JobManagerParameters) -> Iterator[str]:
    configuration, version = parameters.configuration, _official_image(parameters)
    if version is None:
        return
    variables = [f"{p}{PLUGINS_VARIABLE}" for p in (JOBMANAGER_ENV_PREFIX, TASKMANAGER_ENV_PREFIX)]
    lacking = [variable for variable in variables if not configuration.text(variable)]
    wanted: dict[str, str] = {}
    for key, value in configuration.items():
        scheme = text_of(value).partition("://")[0]
        if scheme in FILE_SYSTEMS and _PLACE_OF_STATE.fullmatch(key):
            wanted.setdefault(FILE_SYSTEMS[scheme], key)
    for plugin, key in wanted.items() if lacking else ():
        yield (
            f"{key} needs a file system that the image does not enable: "
            f"set {' and '.join(lacking)} to {plugin}-{version}.jar"
        )
    # The JobManager fetches an application's files, and gives them to the TaskManagers itself.
    if parameters.mode == APPLICATION and variables[0] in lacking:
        for uri in _fetched(parameters):
            lacked = FILE_SYSTEMS.get(scheme_of(uri))
            if lacked is not None and lacked not in wanted:
                yield (
                    f"{uri} needs a file system that the image does not enable: "
                    f"set {variables[0]} to {lacked}-{version}.jar"
                )
                wanted[lacked] = uri


def _fetched(parameters: JobManagerParameters) -> Iterator[str]:
    for option in (pipeline.JARS, deployment.USER_ARTIFACTS_ARTIFACT_LIST):
        yield from parameters.configuration.get(option) or ()


def _official_image(parameters: JobManagerParameters) -> FlinkVersion | None:
    """The version of the image, if it is an official one, of which we know what is in it."""
    template = parameters.inputs.jobmanager_template
    image = parameters.image
    if template is not None and "image" in template.main_container:
        image = template.main_container["image"]
    return version_of_image(image) if _OFFICIAL_IMAGE.match(image) else None


# --- program ---------------------------------------------------------------------------------


def _program(parameters: JobManagerParameters) -> Iterator[str]:
    for uri in parameters.configuration.get(pipeline.JARS) or ():
        if parameters.mode == APPLICATION and scheme_of(uri) == "file":
            yield f"the program {uri} is looked for in the image, not on this machine"
