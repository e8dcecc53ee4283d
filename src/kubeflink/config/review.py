"""A look at a whole configuration before anything is sent.

What is certainly wrong is refused: a value that its option cannot have, and keys of which one is
the start of another. What may be a mistake is a notice: an option that does not exist, an older
name, a secret on the command line.
"""

from __future__ import annotations

from kubeflink.config.configuration import Configuration


def review(configuration: Configuration, *, strict: bool) -> Configuration:
    """The configuration to work with, with notices added.

    Raises `ConfigurationError` for what is certainly wrong; with `strict` also for misspelt keys.
    """
    return configuration
