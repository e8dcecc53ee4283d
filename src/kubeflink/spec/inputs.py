"""The files that become part of a cluster's objects, read in one step.

Building objects is pure: everything that Flink's decorators read while they work (logging files of
the configuration directory, Hadoop's configuration, a keytab, `krb5.conf`, pod templates) is read
here before, once, and handed over as a value. So the same decorators serve a client, which has the
files, and a driver of TaskManagers, which finds them in the ConfigMaps of a running cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kubeflink.config import Configuration, Notice
from kubeflink.config.options import kubernetes, security
from kubeflink.errors import ConfigurationError, TemplateError
from kubeflink.spec.pod_template import PodTemplate

CONSOLE_LOGGING_FILES = ("logback-console.xml", "log4j-console.properties")
"""The files that the images' start scripts use: logging to the console."""

OTHER_LOGGING_FILES = (
    "logback.xml",
    "log4j.properties",
    "logback-session.xml",
    "log4j-session.properties",
    "log4j-cli.properties",
)
"""The other logging files of a distribution, which newer versions ship as well."""

HADOOP_FILES = ("core-site.xml", "hdfs-site.xml")

Environ = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LocalFile:
    """Name and content of a file."""

    name: str
    content: bytes

    @property
    def text(self) -> str:
        """The content as UTF-8; bytes that are none become replacement characters, as in Java."""
        return self.content.decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that comes from files.

    The mappings go from file name to text. A template is None where none is configured.
    """

    logging_files: Mapping[str, str] = field(default_factory=dict)
    hadoop_files: Mapping[str, str] = field(default_factory=dict)
    keytab: LocalFile | None = None
    krb5_conf: LocalFile | None = None
    jobmanager_template: PodTemplate | None = None
    taskmanager_template: PodTemplate | None = None
    notices: tuple[Notice, ...] = ()


def read_inputs(
    configuration: Configuration, environ: Environ, *, default_logging: bool = False
) -> Inputs:
    """Read all files that this configuration leads to.

    `environ` gives the place of Hadoop's configuration. With `default_logging`, a configuration
    directory without a console logging file is supplied with one, so that `kubectl logs` shows
    something. Raises `ConfigurationError` or `TemplateError` for a file that is not there or
    cannot be read.
    """
    notices: list[Notice] = []
    jobmanager_template, taskmanager_template = _templates(configuration, notices)
    return Inputs(
        logging_files=_logging_files(configuration, notices, default_logging),
        hadoop_files=_hadoop_files(configuration, environ, notices),
        keytab=_keytab(configuration),
        krb5_conf=_krb5_conf(configuration),
        jobmanager_template=jobmanager_template,
        taskmanager_template=taskmanager_template,
        notices=tuple(notices),
    )


# --- logging ---------------------------------------------------------------------------------


def _logging_files(
    configuration: Configuration, notices: list[Notice], default_logging: bool
) -> dict[str, str]:
    directory = configuration.conf_dir
    found = {} if directory is None else _shipped_files(configuration, directory)
    if any(name in found for name in CONSOLE_LOGGING_FILES):
        return found
    if default_logging:
        return found | {_DEFAULT_LOGGING: _default_logging()}
    notices.append(Notice(_no_logging_message(directory), of_containers=True))
    return found


def _shipped_files(configuration: Configuration, directory: Path) -> dict[str, str]:
    """The logging files that this version of Flink ships (FlinkConfMountDecorator)."""
    names = list(CONSOLE_LOGGING_FILES)
    if configuration.version.ships_all_logging_files:
        names += OTHER_LOGGING_FILES
    paths = [directory / name for name in names]
    return {path.name: _read(path, "logging file").text for path in paths if path.is_file()}


def _no_logging_message(directory: Path | None) -> str:
    where = "there is no configuration directory" if directory is None else f"{directory} has none"
    other = directory is not None and (directory / "log4j.properties").exists()
    renamed = "; log4j.properties is not used in containers" if other else ""
    names = " or ".join(reversed(CONSOLE_LOGGING_FILES))
    return f"the pods will log nothing: {names} is needed, and {where}{renamed}"


_DEFAULT_LOGGING = "log4j-console.properties"


def _default_logging() -> str:
    from importlib import resources

    return (resources.files("kubeflink.spec") / _DEFAULT_LOGGING).read_text(encoding="utf-8")


# --- Hadoop and Kerberos ---------------------------------------------------------------------


def _hadoop_files(
    configuration: Configuration, environ: Environ, notices: list[Notice]
) -> dict[str, str]:
    if not configuration.get(kubernetes.DECORATOR_HADOOP_CONF_MOUNT_ENABLED):
        return {}
    if (configuration.get(kubernetes.HADOOP_CONF_CONFIG_MAP_NAME) or "").strip():
        return {}
    directory = _hadoop_directory(environ)
    if directory is None:
        return {}
    paths = [directory / name for name in HADOOP_FILES]
    files = {p.name: _read(p, "Hadoop configuration file").text for p in paths if p.is_file()}
    if not files:
        wanted = " nor ".join(HADOOP_FILES)
        notices.append(Notice(f"Hadoop configuration {directory} has neither {wanted}; left out"))
    return files


def _hadoop_directory(environ: Environ) -> Path | None:
    """`HADOOP_CONF_DIR`, or the directory of Hadoop 2 or 1 below `HADOOP_HOME`."""
    if environ.get("HADOOP_CONF_DIR", "").strip():
        return Path(environ["HADOOP_CONF_DIR"])
    if environ.get("HADOOP_HOME", "").strip():
        home = Path(environ["HADOOP_HOME"])
        for directory in (home / "etc" / "hadoop", home / "conf"):
            if directory.exists():
                return directory
    return None


def _keytab(configuration: Configuration) -> LocalFile | None:
    """The keytab, if Kerberos is configured to log in with one (SecurityConfiguration)."""
    if not configuration.get(kubernetes.DECORATOR_KERBEROS_MOUNT_ENABLED):
        return None
    option = security.KERBEROS_LOGIN_KEYTAB
    path = (configuration.get(option) or "").strip()
    principal = (configuration.get(security.KERBEROS_LOGIN_PRINCIPAL) or "").strip()
    if not path:
        return None
    if not principal:
        raise ConfigurationError(
            f"{option.key} is set, but not the principal whose keytab it is",
            option=option.key,
            origin=configuration.origin(option.key),
            hint=f"Set {security.KERBEROS_LOGIN_PRINCIPAL.key} as well.",
        )
    return _read_option_file(configuration, option.key, path, "keytab")


def _krb5_conf(configuration: Configuration) -> LocalFile | None:
    if not configuration.get(kubernetes.DECORATOR_KERBEROS_MOUNT_ENABLED):
        return None
    option = security.KERBEROS_KRB5_CONF_PATH
    path = (configuration.get(option) or "").strip()
    return _read_option_file(configuration, option.key, path, "krb5.conf") if path else None


def _read_option_file(configuration: Configuration, key: str, path: str, what: str) -> LocalFile:
    try:
        return _read(Path(path), what)
    except ConfigurationError as error:
        raise ConfigurationError(
            error.message, option=key, origin=f"{key}, {configuration.origin(key)}"
        ) from error


# --- pod templates ---------------------------------------------------------------------------


def _templates(
    configuration: Configuration, notices: list[Notice]
) -> tuple[PodTemplate | None, PodTemplate | None]:
    """The templates of the two roles. A role's own one replaces the default, it adds nothing."""
    default = configuration.get(kubernetes.POD_TEMPLATE_FILE_DEFAULT)
    paths = [
        configuration.get(kubernetes.POD_TEMPLATE_FILE_JOBMANAGER),
        configuration.get(kubernetes.POD_TEMPLATE_FILE_TASKMANAGER),
    ]
    if not any((*paths, default)):
        return None, None
    from kubeflink.spec.template_reader import read_pod_template

    read: dict[str, PodTemplate] = {}
    for path in (*paths, default):
        if path and path not in read:
            read[path] = read_pod_template(_template_text(path), path, configuration.version)
    for role, path in zip(("jobmanager", "taskmanager"), paths, strict=True):
        if path and default and path != default:
            notices += [Notice(text) for text in _lost(role, read[path], read[default])]
    for template in read.values():
        notices += template.notices
    jobmanager, taskmanager = (read[path] if path else None for path in paths)
    return jobmanager, taskmanager


def _template_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise TemplateError(f"pod template {path} does not exist") from error
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"pod template {path} cannot be read: {error}") from error


def _lost(role: str, own: PodTemplate, default: PodTemplate) -> list[str]:
    lost = [name for name in default.contents if name not in own.contents]
    if not lost:
        return []
    option = f"kubernetes.pod-template-file.{role}"
    return [
        f"{option} replaces the default pod template, "
        f"which has {_enumeration(lost)} that {own.source} has not"
    ]


def _enumeration(words: list[str]) -> str:
    shown = words[:4]
    more = len(words) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _read(path: Path, what: str) -> LocalFile:
    try:
        return LocalFile(path.name, path.read_bytes())
    except FileNotFoundError as error:
        raise ConfigurationError(f"{what} {path} does not exist") from error
    except OSError as error:
        raise ConfigurationError(f"{what} {path} cannot be read: {error.strerror}") from error
