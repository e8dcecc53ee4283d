"""What the user should know of a configuration that is valid, but may not do what was meant."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflink.config import Notice
from kubeflink.spec.parameters import JobManagerParameters


def advice(parameters: JobManagerParameters) -> Iterator[Notice]:
    """All remarks on a cluster that is about to be deployed."""
    yield from ()
