"""What the Flink image would hold at `/opt/flink`, built for one container out of links.

Flink finds its own directories relative to `lib` (`usrlib` for an application's jars) and by
environment variables (`FLINK_PLUGINS_DIR`), and pods mount into them: a jar below `usrlib`, a
plug-in below `plugins`. So each container gets a tree of its own, in which `lib` is a real
directory (Flink does not follow a link there) with links to the jars, and mounts appear where they
belong.

The configuration directory is a copy with the paths in it rewritten. `kubernetes.*` options keep
theirs: the JobManager writes them into the pods that it asks for, whose paths are a container's.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath

from kubeflink.config.yaml import dump_flink, load_core
from kubeflink.errors import ConfigurationError
from kubeflink.jvm.flink_home import FlinkHome
from kubeflink.local.paths import PathMap
from kubeflink.local.volumes import Mount, Mounts

IMAGE_ROOT = "/opt/flink"
CONSOLE_LOGGING = "log4j-console.properties"
PLUGINS_VARIABLE = "ENABLE_BUILT_IN_PLUGINS"

_KEPT_PREFIX = "kubernetes"
_FLAT_LINE = re.compile(r"^\s*([\w.$-]+)\s*:")


@dataclass(frozen=True, slots=True)
class FlinkImage:
    """One container's view of Flink; `paths` maps everything that the container can name."""

    home: FlinkHome
    root: Path
    conf: Path
    paths: PathMap

    @property
    def logs(self) -> Path:
        """Where Flink's own log files go."""
        return self.root / "log"


def build_image(home: FlinkHome, mounts: Mounts, directory: Path, conf_path: str) -> FlinkImage:
    """Lay out the tree below `directory`, which is made anew.

    `conf_path` is the container path of the configuration directory.
    """
    root = directory / "flink"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    (root / "log").mkdir()
    for name in ("lib", "opt", "plugins", "usrlib"):
        _link_entries(home.root / name, root / name)
    for name in ("bin", "examples"):
        if (home.root / name).is_dir():
            (root / name).symlink_to(home.root / name)
    outside = [(IMAGE_ROOT, root)]
    for mount in mounts.mounts:
        if not PurePosixPath(mount.path).is_relative_to(conf_path):
            outside.append((mount.path, _place_mount(root, mount)))
    conf = root / "conf"
    paths = PathMap([*outside, (conf_path, conf)])
    _copy_configuration(mounts.mounts, conf, conf_path)
    _rewrite_all((conf, *mounts.configuration), paths)
    return FlinkImage(home, root, conf, paths)


def enable_plugins(image: FlinkImage, names: str) -> str | None:
    """Link jars of `opt`, separated by `;`, as plug-ins, as the image's entry point does.

    `names` is the value of `PLUGINS_VARIABLE`. Returns the first that is not there, which ends the
    container, or None.
    """
    for name in names.replace(";", " ").split():
        jar = image.root / "opt" / name
        if not jar.exists():
            return name
        directory = image.root / "plugins" / name.removesuffix(".jar")
        directory.mkdir(exist_ok=True)
        (directory / name).symlink_to(jar)
    return None


def _link_entries(source: Path, target: Path) -> None:
    target.mkdir()
    if source.is_dir():
        for entry in source.iterdir():
            (target / entry.name).symlink_to(entry)


def _place_mount(root: Path, mount: Mount) -> Path:
    """Show the mount in the tree where it lies below `/opt/flink`; returns where it is."""
    try:
        inside = root / PurePosixPath(mount.path).relative_to(IMAGE_ROOT)
    except ValueError:
        return mount.source
    if inside == root:
        return mount.source
    if inside.is_symlink():
        inside.unlink()
    elif inside.is_dir():
        # The mount hides what the image has there. For `lib`, see the module's text.
        shutil.rmtree(inside)
    inside.parent.mkdir(parents=True, exist_ok=True)
    if inside == root / "lib":
        _link_entries(mount.source, inside)
    else:
        inside.symlink_to(mount.source)
    return inside


def _copy_configuration(mounts: Iterable[Mount], conf: Path, conf_path: str) -> None:
    """Fill the configuration directory from the mounts at and below its path."""
    conf.mkdir()
    inside = [m for m in mounts if PurePosixPath(m.path).is_relative_to(conf_path)]
    for mount in sorted(inside, key=lambda mount: len(mount.path)):
        target = conf / PurePosixPath(mount.path).relative_to(conf_path)
        if mount.source.is_dir():
            shutil.copytree(mount.source, target, dirs_exist_ok=True)
        elif mount.source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(mount.source, target)


def _rewrite_all(places: Iterable[Path], paths: PathMap) -> None:
    for place in places:
        for file in place.rglob("*") if place.is_dir() else (place,):
            if file.is_file() and not file.is_symlink():
                _rewrite_file(file, paths)


def _rewrite_file(file: Path, paths: PathMap) -> None:
    content = file.read_bytes()
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return  # A binary file names no paths.
    if paths.rewrite(text) == text:
        return
    if file.name == "config.yaml":
        text = _rewrite_nested(text, paths)
    elif file.name == "flink-conf.yaml":
        text = "".join(_rewrite_line(line, paths) for line in text.splitlines(keepends=True))
    else:
        text = paths.rewrite(text)
    file.write_text(text, encoding="utf-8")


def _rewrite_line(line: str, paths: PathMap) -> str:
    key = _FLAT_LINE.match(line)
    return line if key is not None and _is_kept(key[1]) else paths.rewrite(line)


def _rewrite_nested(text: str, paths: PathMap) -> str:
    try:
        value = load_core(text, "config.yaml").value
    except ConfigurationError:
        return text  # Flink itself will say what is wrong with it.
    if not isinstance(value, dict):
        return text
    return dump_flink(
        {
            key: inner if _is_kept(str(key)) else _rewrite_value(inner, paths)
            for key, inner in value.items()
        }
    )


def _rewrite_value(value: object, paths: PathMap) -> object:
    if isinstance(value, str):
        return paths.rewrite(value)
    if isinstance(value, list):
        return [_rewrite_value(item, paths) for item in value]
    if isinstance(value, dict):
        return {key: _rewrite_value(item, paths) for key, item in value.items()}
    return value


def _is_kept(key: str) -> bool:
    return key == _KEPT_PREFIX or key.startswith(_KEPT_PREFIX + ".")


def default_logging() -> Path:
    """Logging to the console, for pods whose configuration brings none."""
    return Path(str(resources.files(__package__))) / "data" / CONSOLE_LOGGING


def logging_options(image: FlinkImage, log_file: Path) -> list[str]:
    """The system properties of Flink's console scripts that select the logging configuration."""
    log4j = image.conf / CONSOLE_LOGGING
    if not log4j.exists() and not (image.conf / "logback-console.xml").exists():
        log4j = default_logging()
    return [
        f"-Dlog.file={log_file}",
        f"-Dlog4j.configuration={log4j.as_uri()}",
        f"-Dlog4j.configurationFile={log4j.as_uri()}",
        f"-Dlogback.configurationFile={(image.conf / 'logback-console.xml').as_uri()}",
    ]


def class_path(image: FlinkImage, environment: dict[str, str]) -> str:
    """The jars in the tree's `lib` (flink-dist last), then what the environment says of Hadoop."""
    lib = image.root / "lib"
    jars = sorted(lib.rglob("*.jar"), key=lambda jar: (jar.name.startswith("flink-dist"), str(jar)))
    hadoop = [environment.get(name, "") for name in ("HADOOP_CLASSPATH", "HADOOP_CONF_DIR")]
    return os.pathsep.join([*map(str, jars), *filter(None, hadoop)])
