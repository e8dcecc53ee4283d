"""Text for the shell in a container's command line, and back.

A TaskManager gets what differs from its mounted configuration as arguments in a line that bash
reads. Every value is put in single quotes, in which nothing has a meaning to the shell; a single
quote itself ends the quotes, stands escaped, and begins them again (`BootstrapTools`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

_PLAIN = re.compile(r"[A-Za-z0-9._/-]+")


def single_quoted(text: str) -> str:
    """The text as one word of a shell, whatever it contains. It must have no NUL."""
    return "'" + text.replace("'", "'\\''") + "'"


def dynamic_properties(values: Mapping[str, str]) -> str:
    """`-Dkey='value'` for each entry, in the order of the mapping.

    Flink never quotes a key. Some keys need it: `$internal.pipeline.job-id` begins with a variable.
    """
    return " ".join(f"-D{_word(key)}={single_quoted(value)}" for key, value in values.items())


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else single_quoted(text)


def parse_dynamic_properties(line: str) -> dict[str, str]:
    """The `-Dkey=value` and `-D key=value` words with which a line of arguments begins.

    The entry points know no other option and stop reading at the first word that is none. A key
    without value means true. Variables and substitutions stay as they are written: only the shell
    of the container could replace them. A line with an open quote has no words at all, as bash
    would not run it.
    """
    try:
        words = iter(shlex.split(line))
    except ValueError:
        return {}
    return dict(_pairs(words))


def _pairs(words: Iterable[str]) -> Iterable[tuple[str, str]]:
    remaining = iter(words)
    for word in remaining:
        if not word.startswith("-D"):
            return
        text = word[2:] or next(remaining, "")
        key, separator, value = text.partition("=")
        if key:
            yield key, value if separator else "true"
