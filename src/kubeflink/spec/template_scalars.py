"""What a plain scalar of a pod template is to Flink.

Its Kubernetes client reads templates by a schema of YAML that is narrower than that of
`config.yaml`: since 1.18 by the JSON schema of YAML 1.2, in which only `true`, `false`, `null` and
numbers as JSON has them are not text. Where Kubernetes wants text it then makes text of those, so
that an unquoted `1.10` ends as `1.1`. Flink 1.17 reads YAML 1.1, in which `yes` is true, `010` is
eight and a date is a number of milliseconds.

File modes are a case of their own. `0644` is how everybody writes them, but it is text to YAML 1.2,
of which Flink up to 2.0 made the number 644, which Kubernetes refuses. It is read as the octal
number that is meant, for all versions.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import TypeAlias

import yaml

Scalar: TypeAlias = str | int | float | bool | None

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
MOST_DIGITS = 1000
"""Of a whole number: no field takes so large a one, and as text it is the same."""
_KEYWORDS: dict[str, Scalar] = {"true": True, "false": False, "null": None, "": None}

_FLOAT_11 = re.compile(r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+")

_MODE_FIELDS = ("mode", "defaultMode")
_OCTAL = re.compile(r"0o?([0-7]+)")


def resolve_scalar(node: yaml.ScalarNode, *, yaml_11: bool) -> Scalar:
    """The value of a scalar; a quoted one is text.

    Raises ValueError or YAMLError for what looks like a number or date to YAML 1.1, and is none.
    """
    text: str = node.value
    if node.style:
        return text
    if yaml_11:
        return _resolve_yaml_11(node)
    if text in _KEYWORDS:
        return _KEYWORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= MOST_DIGITS else text
    return float(text) if _FLOAT.fullmatch(text) else text


def _resolve_yaml_11(node: yaml.ScalarNode) -> Scalar:
    text: str = node.value
    if _FLOAT_11.fullmatch(text):
        return float(text.replace("_", ""))
    if len(text) > MOST_DIGITS:
        return text
    value = yaml.constructor.SafeConstructor().construct_object(node)
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime.combine(value, time())
        return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)
    return value if isinstance(value, str | int | float | None) else text


def file_mode(field: str, text: str) -> int | None:
    """The number of a field that is a file mode and is written as an octal one, else None."""
    match = _OCTAL.fullmatch(text) if field in _MODE_FIELDS else None
    return int(match[1], 8) if match and len(text) <= MOST_DIGITS else None
