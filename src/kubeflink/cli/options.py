"""`kubeflink options`: what Flink's configuration options are, from their declarations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kubeflink.cli import console
from kubeflink.cli.invocation import Invocation
from kubeflink.cli.parameters import VersionText
from kubeflink.errors import UsageError

if TYPE_CHECKING:
    from kubeflink.config.options import Option
    from kubeflink.config.versions import FlinkVersion


@click.command("options")
@click.argument("word", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    help="Form of the output; markdown is the page with all options.",
)
@click.option(
    "--flink-version",
    type=VersionText(),
    metavar="VERSION",
    help="The Flink version that is meant.",
)
@click.pass_obj
def options_command(
    invocation: Invocation, word: str | None, output: str, flink_version: str | None
) -> None:
    """Explain the configuration options whose name or description has WORD; without it, list all.

    A complete key, also an older one, explains that option alone.
    """
    from kubeflink.cli import option_text

    if flink_version is not None:
        invocation = replace(invocation, flink_version=flink_version)
    version = invocation.version
    if output == "markdown":
        if word is not None:
            raise UsageError("the page has all options", hint="Leave WORD out.")
        console.raw(option_text.page())
        return
    found = _matching(word, version)
    if output == "json":
        import json

        console.out(json.dumps([_fields(option, version) for option in found], indent=2))
        return
    if word is None:
        for option in found:
            console.out(option.key)
        return
    console.out("\n\n".join(option_text.paragraph(option, version) for option in found))


def _matching(word: str | None, version: FlinkVersion) -> list[Option[Any]]:
    from kubeflink.config.options import all_options, find, nearest

    known = sorted(all_options(version), key=lambda option: option.key)
    if word is None:
        return known
    exact = find(word, version)
    if exact is not None:
        return [exact]
    wanted = word.lower()
    found = [o for o in known if wanted in o.key.lower()]
    found = found or [o for o in known if wanted in o.about.lower()]
    if not found:
        near = nearest(word, version)
        hint = f"Did you mean {near}?" if near else None
        raise UsageError(f"Flink {version} has no option with {word!r} in it", hint=hint)
    return found


def _fields(option: Option[Any], version: FlinkVersion) -> dict[str, Any]:
    from kubeflink.cli import option_text

    return {
        "key": option.key,
        "type": option.kind.name,
        "default": option_text.default_of(option, version),
        "choices": list(option.choices),
        "older_keys": list(option.deprecated_keys),
        "fallback_keys": list(option.fallback_keys),
        "description": option.about,
    }
