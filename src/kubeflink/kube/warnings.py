"""What an API server says beside its answers: `Warning` headers.

    Warning: 299 - "v1 ComponentStatus is deprecated in v1.19+"
    Warning: 299 - "unknown field \\"spec.replica\\"", 299 - "would violate PodSecurity ..."

Deprecations, fields that are not known, namespaces that will not take the pods of a Deployment:
nothing fails, and all of it matters. As with kubectl each text is told once, by the log: the
command line prints it, and in a Python program it goes where its logging leads.

A header holds one or more values (RFC 7234, section 5.5): a code, an agent, the text in quotes, and
perhaps a date. The code of Kubernetes is 299; others are of caches on the way. What is no such
value ends the reading of its header, and is no error.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger(__name__)

HEADER: Final = "Warning"

_CODE: Final = "299"
"""A warning that lasts, of no further class."""

_VALUE: Final = re.compile(
    r'[\s,]*(?P<code>[0-9]{3}) [^\s",]+ "(?P<text>(?:[^"\\]|\\.)*)"(?: "[^"]*")?\s*(?:,|$)'
)
_ESCAPED: Final = re.compile(r"\\(.)")

_MOST: Final = 1000
"""How many texts are remembered: a process may live for months, and a text may name an object."""

_LONGEST: Final = 4096
"""Characters of all texts of one answer: what an API server itself keeps to, if not a proxy."""

_TOLD: set[str] = set()


def tell(headers: httpx2.Headers) -> None:
    """Logs the warnings in the headers of an answer that this process has not logged before."""
    left = _LONGEST
    for header in headers.get_list(HEADER):
        for whole in texts(header):
            if left <= 0:
                return
            text = whole if len(whole) <= left else f"{whole[:left]}..."
            left -= len(text)
            if text in _TOLD:
                continue
            if len(_TOLD) >= _MOST:
                _TOLD.clear()
            _TOLD.add(text)
            logger.warning("Warning: %s", text)


def texts(header: str) -> Iterator[str]:
    """The texts for the user in one `Warning` header, each in one line that a terminal can show."""
    position = 0
    while value := _VALUE.match(header, position):
        position = value.end()
        text = _ESCAPED.sub(r"\1", value["text"])
        text = "".join(each if each.isprintable() else " " for each in text).strip()
        if value["code"] == _CODE and text:
            yield text
