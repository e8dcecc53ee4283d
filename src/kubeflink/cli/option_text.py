"""What is said about an option, for the screen and for the page `docs/options.md`.

Both are made from the declarations by the same sentences, so that neither can say anything else
than what the program does.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kubeflink.config.versions import DEFAULT

if TYPE_CHECKING:
    from kubeflink.config.options import Option
    from kubeflink.config.options.option import Release
    from kubeflink.config.versions import FlinkVersion

WIDTH = 90

PAGE_TITLE = "# Options"

_PAGE_HEAD = """\
Flink's configuration options, as far as they reach a Kubernetes object or a command line.
`kubeflink options WORD` explains those that have a word in their name, for the version that
`--flink-version` names; this page is for Flink {version}, and names the versions of those that not
all have.

They are given as `-Dkey=value` (or `-D key=value`), in `config.yaml` in the directory that
`FLINK_CONF_DIR` names, or from Python as `options={{"key": "value"}}`. Options that are not here,
such as those of connectors, are passed on as they are.

This page is made from the declarations in `kubeflink.config.options` by `make docs`.
"""


def default_of(option: Option[Any], version: FlinkVersion) -> str | None:
    """The default as it would be written in a configuration file; None if there is none."""
    if option.default is None:
        return None
    return option.kind.write(option.default).replace("{version}", str(version))


def facts(option: Option[Any], version: FlinkVersion) -> list[str]:
    """One sentence for each thing worth knowing besides name, type and default."""
    found = [option.about] if option.about else []
    if option.choices:
        found.append(f"One of {', '.join(option.choices)}.")
    if option.fallback_keys:
        found.append(f"Where it is not set: {', '.join(option.fallback_keys)}.")
    if option.deprecated_keys:
        found.append(f"Older names: {', '.join(option.deprecated_keys)}.")
    if option.since is not None:
        found.append(f"Since Flink {_release(option.since)}.")
    if option.until is not None:
        found.append(f"Up to Flink {_release(option.until)}.")
    if option.is_deprecated_in(version):
        found.append("Discouraged by Flink.")
    return found


def paragraph(option: Option[Any], version: FlinkVersion) -> str:
    """An option for the screen."""
    default = default_of(option, version)
    sentence = "No default." if default is None else f"Default: {default or 'empty'}."
    about, *others = facts(option, version) or [""]
    lines = [f"{option.key} ({option.kind.name})"]
    for fact in filter(None, (about, sentence, *others)):
        lines += textwrap.wrap(
            fact, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
        )
    return "\n".join(lines)


def page(version: FlinkVersion = DEFAULT) -> str:
    """All options of all versions in Markdown, one table for each family."""
    parts = [f"{PAGE_TITLE}\n\n{_PAGE_HEAD.format(version=version)}"]
    parts += ["\n".join(_family(title, options, version)) for title, options in _families()]
    return "\n".join(parts)


def _families() -> Iterator[tuple[str, list[Option[Any]]]]:
    """The families with what their modules call them, as in "Options of the web UI (...)"."""
    from kubeflink.config.options import Option
    from kubeflink.config.options.catalogue import FAMILIES

    for family in FAMILIES:
        module = import_module(f"kubeflink.config.options.{family}")
        first_line = (module.__doc__ or "").partition("\n")[0]
        title = first_line.removeprefix("Options of ").rstrip(".")
        options = [value for value in vars(module).values() if isinstance(value, Option)]
        yield title[:1].upper() + title[1:], sorted(options, key=lambda option: option.key)


def _family(title: str, options: list[Option[Any]], version: FlinkVersion) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| option | type | default | what it is |"
    yield "| --- | --- | --- | --- |"
    for declared in options:
        option = declared.at(version)
        default = default_of(option, version)
        shown = "" if default is None else f"`{default}`" if default else "empty"
        kind = option.kind.name.replace("<", "&lt;")
        told = " ".join(facts(option, version))
        yield f"| {' | '.join(map(_cell, (f'`{option.key}`', kind, shown, told)))} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _release(release: Release) -> str:
    return ".".join(map(str, release))
