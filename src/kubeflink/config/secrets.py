"""Which keys hold secrets, by the rule that Flink uses for its own logs.

`GlobalConfiguration.isSensitive`: a key with one of certain words in it; private keys are added.
Values of such keys are never printed.
"""

from __future__ import annotations

_WORDS = (
    "password",
    "secret",
    "fs.azure.account.key",
    "apikey",
    "api-key",
    "auth-params",
    "service-key",
    "token",
    "basic-auth",
    "jaas.config",
    "http-headers",
    "private.key",
    "private-key",
    "passphrase",
)
# They have one of the words in their name and hold none: names of Secrets, switches, durations.
_HARMLESS = ("kubernetes.", "security.delegation.token", "security.kerberos.token")


def is_secret(key: str) -> bool:
    """Whether the value of a key must not be shown."""
    lowered = key.lower()
    return any(word in lowered for word in _WORDS) and not lowered.startswith(_HARMLESS)
