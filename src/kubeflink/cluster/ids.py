"""The ids of Flink that users type: 32 hexadecimal digits each.

Flink itself answers any other with an error about a path parameter, after a request.
"""

from __future__ import annotations

import re

from kubeflink.errors import UsageError

_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{32}")
_FORM = "It has 32 hexadecimal digits"
_EMPTY = "an empty text"


def job_id(text: str) -> str:
    """The id of a job as Flink writes it. UsageError for what can be none."""
    if not _HEXADECIMAL.fullmatch(text):
        raise UsageError(
            f"{text or _EMPTY} is no job id", hint=f"{_FORM}; kubeflink list shows the ids"
        )
    return text.lower()


def trigger_id(text: str) -> str:
    """The same for the id of a request, by which it is taken up again."""
    if not _HEXADECIMAL.fullmatch(text):
        raise UsageError(
            f"{text or _EMPTY} is no id of a request",
            hint=f"{_FORM}, and was told when the request was made",
        )
    return text.lower()
