"""Loading a configuration: the file, `-D` on top, keywords of the Python API on top of that.

Flink's `GlobalConfiguration` reads exactly one file of the configuration directory: `config.yaml`
from 1.19 on, `flink-conf.yaml` before, and in 1.19 and 1.20 `flink-conf.yaml` where it is there.
The first is YAML; the second only looks like it: lines with a colon and a blank, in which
everything after a `#` is a comment, quoted or not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kubeflink.config.configuration import Configuration, Entry
from kubeflink.config.java_text import java_trim
from kubeflink.config.options.catalogue import find
from kubeflink.config.options.kinds import MAP, MAPS, STRINGS, Kind, Reading
from kubeflink.config.review import review
from kubeflink.config.values import Value, text_of_keyword
from kubeflink.config.versions import (
    CONFIG_YAML,
    DEFAULT,
    FLINK_CONF_YAML,
    VERSION_VARIABLE,
    FlinkVersion,
)
from kubeflink.errors import ConfigurationError

CONF_DIR_VARIABLE = "FLINK_CONF_DIR"
"""The environment variable that names the configuration directory."""

DYNAMIC = "-D"
KEYWORD = "keyword"


def load(
    *,
    conf_dir: Path | str | None = None,
    dynamic: Sequence[tuple[str, str | None]] = (),
    overrides: Mapping[str, object] | None = None,
    version: FlinkVersion | str | None = None,
    environ: Mapping[str, str] | None = None,
    strict: bool = False,
) -> Configuration:
    """Read a configuration.

    `conf_dir` is FLINK_CONF_DIR where it is not given, and without both there is no file. `dynamic`
    are the `-D` pairs in their order, with None as the value of a bare `-Dkey`. `overrides` are
    keyword values of Python types by Flink's keys; None removes a key. `version` is
    KUBEFLINK_FLINK_VERSION where it is not given, then the newest. `strict` turns notices about
    misspelt keys into errors.

    Raises `ConfigurationError` for a missing or unreadable file, a value that its option cannot
    have, and keys that cannot be set together.
    """
    environ = os.environ if environ is None else environ
    imitated = _version(version, environ)
    directory = _conf_dir(conf_dir, environ)
    notices: list[str] = []
    file_name = imitated.configuration_file
    entries: dict[str, Entry] = {}
    if directory is not None:
        file_name, entries = _read_directory(directory, imitated, notices)
    entries |= _dynamic_entries(dynamic, imitated, notices)
    reading = Reading(imitated, standard_yaml=file_name != FLINK_CONF_YAML)
    for key, value in (overrides or {}).items():
        if value is None:
            entries.pop(key, None)
        else:
            entries[key] = Entry(_keyword(key, value, reading), KEYWORD)
    configuration = Configuration(
        entries, version=imitated, conf_dir=directory, file_name=file_name
    ).with_notices(*notices)
    return review(configuration, strict=strict)


def _version(version: FlinkVersion | str | None, environ: Mapping[str, str]) -> FlinkVersion:
    if isinstance(version, FlinkVersion):
        return version
    text = version or environ.get(VERSION_VARIABLE)
    return FlinkVersion.parse(text) if text else DEFAULT


def _conf_dir(conf_dir: Path | str | None, environ: Mapping[str, str]) -> Path | None:
    chosen = conf_dir if conf_dir is not None else environ.get(CONF_DIR_VARIABLE)
    if not chosen:
        return None
    directory = Path(chosen)
    if not directory.is_dir():
        source = "" if conf_dir is not None else f"; {CONF_DIR_VARIABLE} points to it"
        raise ConfigurationError(f"there is no configuration directory {directory}{source}")
    return directory


# --- the file ---


def _read_directory(
    directory: Path, version: FlinkVersion, notices: list[str]
) -> tuple[str, dict[str, Entry]]:
    modern, legacy = directory / CONFIG_YAML, directory / FLINK_CONF_YAML
    if version.accepts_legacy_configuration_file and legacy.is_file():
        if version.configuration_file == CONFIG_YAML and modern.is_file():
            notices.append(f"{CONFIG_YAML} is not read: Flink {version} prefers {FLINK_CONF_YAML}")
        return FLINK_CONF_YAML, _read_legacy(legacy, notices)
    if version.configuration_file == CONFIG_YAML and modern.is_file():
        return CONFIG_YAML, _read_yaml(modern)
    raise _no_file(directory, version, modern, legacy)


def _no_file(
    directory: Path, version: FlinkVersion, modern: Path, legacy: Path
) -> ConfigurationError:
    hint = None
    if legacy.is_file():
        hint = f"There is a {FLINK_CONF_YAML}, which Flink {version} no longer reads: convert it."
    elif modern.is_file():
        hint = f"There is a {CONFIG_YAML}, which Flink {version} does not read yet."
    return ConfigurationError(f"there is no {version.configuration_file} in {directory}", hint=hint)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is no UTF-8 text (byte {error.start})") from error


def _read_yaml(path: Path) -> dict[str, Entry]:
    from kubeflink.config.yaml import YamlError, load_core

    document = load_core(_text(path), str(path))
    if document.value is None:
        return {}
    if not isinstance(document.value, dict):
        raise YamlError(
            "the file must be a mapping of keys to values", source=str(path), line=document.line(())
        )
    entries: dict[str, Entry] = {}
    for yaml_path, value in _leaves(document.value, ()):
        key = ".".join(str(part) for part in yaml_path)
        where = document.where(yaml_path)
        if not all(isinstance(part, str) or part is None for part in yaml_path):
            raise ConfigurationError(f"the key {key!r} must be text; quote it", origin=where)
        key = ".".join("null" if part is None else str(part) for part in yaml_path)
        if key in entries:
            raise ConfigurationError(
                f"{key} stands there twice: nested, and with dots in its name",
                option=key,
                origin=f"{where} and {entries[key].origin}",
            )
        entries[key] = Entry(_file_value(key, value, where), where)
    return entries


def _leaves(value: Mapping[Any, Any], path: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    for key, item in value.items():
        if isinstance(item, dict):
            yield from _leaves(item, (*path, key))
        else:
            yield (*path, key), item


def _file_value(key: str, value: Any, where: str) -> Value:
    if value is None:
        raise ConfigurationError(
            f"{key} has no value",
            option=key,
            origin=where,
            hint="Flink does not accept null. Remove the key, or write '' for an empty text.",
        )
    if isinstance(value, list):
        from kubeflink.config.yaml_flow import flow_text

        return flow_text(value)
    if isinstance(value, str | bool | int | float):
        return value
    raise ConfigurationError(f"{key} cannot be of this YAML type", option=key, origin=where)


def _read_legacy(path: Path, notices: list[str]) -> dict[str, Entry]:
    """`GlobalConfiguration.loadLegacyYAMLResource`: later lines win, bad lines are skipped."""
    entries: dict[str, Entry] = {}
    for number, line in enumerate(_java_lines(_text(path)), start=1):
        where = f"{path} line {number}"
        content, comment, _ = line.partition("#")
        if not content:
            continue
        key, separator, value = content.partition(": ")
        key, value = java_trim(key), java_trim(value)
        if not (separator and key and value):
            if content.strip():
                notices.append(f"no key and value, so Flink skips it: {where}")
            continue
        if comment and not content.endswith((" ", "\t")):
            notices.append(f"{key}: the value is cut at #, which starts a comment ({where})")
        elif comment and _open_quote(value):
            notices.append(f"{key}: the value is cut at # although it is quoted ({where})")
        entries[key] = Entry(value, where)
    return entries


def _java_lines(text: str) -> list[str]:
    """Lines as `BufferedReader.readLine` ends them: not at form feeds and the like."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _open_quote(value: str) -> bool:
    return value[0] in "'\"" and (len(value) == 1 or value[-1] != value[0])


# --- -D and keywords ---


def _dynamic_entries(
    dynamic: Sequence[tuple[str, str | None]], version: FlinkVersion, notices: list[str]
) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for key, value in dynamic:
        if not key.strip():
            raise ConfigurationError("a -D has no key", hint="Write -Dkey=value.", origin=DYNAMIC)
        _check_encoding(key, value)
        if key in entries:
            notices.append(f"-D{key} is given more than once: the last one counts")
        entries[key] = Entry(_bare(key, version) if value is None else value, DYNAMIC)
    return entries


def _check_encoding(key: str, value: str | None) -> None:
    try:
        f"{key}={value}".encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(
            f"-D{key!a} is no valid UTF-8", hint="Check the locale of the shell.", origin=DYNAMIC
        ) from error


def _bare(key: str, version: FlinkVersion) -> str:
    """The value of a `-Dkey` without one: true, as Flink has it, where that can be meant."""
    option = find(key, version)
    if option is not None and option.kind.name != "Boolean":
        raise ConfigurationError(
            f"-D{key} has no value",
            option=key,
            origin=DYNAMIC,
            hint=f"It takes a {option.kind.name}: -D{key}=...",
        )
    return "true"


def _keyword(key: str, value: object, reading: Reading) -> str:
    """The text of a keyword value that this version reads as that value again.

    Flink's own notation is preferred because people know it. Where a text in it would be taken for
    YAML (a list whose only piece is `[a]`), YAML is written.
    """
    try:
        text = text_of_keyword(value)
    except TypeError as error:
        raise ConfigurationError(f"{key}: {error}", option=key, origin=KEYWORD) from error
    kind: Kind[Any]
    meant: Any
    if isinstance(value, Mapping):
        kind, meant = MAP, _texts(value)
    elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        kind, meant = MAPS, tuple(_texts(item) for item in value)
    elif isinstance(value, list | tuple):
        kind, meant = STRINGS, tuple(text_of_keyword(item) for item in value)
    else:
        return text
    if not reading.standard_yaml or _reads_back(kind, text, reading, meant):
        return text
    from kubeflink.config.yaml_flow import flow_text

    return flow_text(meant)


def _reads_back(kind: Kind[Any], text: str, reading: Reading, meant: Any) -> bool:
    try:
        return bool(kind.read(text, reading) == meant)
    except ValueError:
        return False


def _texts(mapping: Any) -> dict[str, str]:
    return {text_of_keyword(key): text_of_keyword(item) for key, item in mapping.items()}
