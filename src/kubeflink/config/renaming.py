"""Short keys of the 1.x years that are the start of other keys.

`high-availability: kubernetes` beside `high-availability.storageDir`, `state.backend` beside
`state.backend.incremental`, `kubernetes.taskmanager.cpu` beside
`kubernetes.taskmanager.cpu.limit-factor`: the most copied settings cannot be written as nested
YAML, and Flink loses one of the two. All of them have a current name, under which nothing is lost.
"""

from __future__ import annotations

from kubeflink.config.configuration import Configuration
from kubeflink.config.nesting import conflicts
from kubeflink.config.options.catalogue import every_option
from kubeflink.config.versions import FLINK_CONF_YAML, FlinkVersion


def rename_conflicting_keys(configuration: Configuration) -> Configuration:
    """The configuration with deprecated keys under their current names, where they must be.

    A deprecated key is left alone where it is in nobody's way, and where the file is written flat.
    Where the current key is set as well, that one counts, as it does for Flink.
    """
    if configuration.file_name == FLINK_CONF_YAML:
        return configuration
    for shorter, longer in conflicts(configuration):
        for key, other in ((shorter, longer), (longer, shorter)):
            current = _current_name(key, configuration.version)
            if current is not None and key in configuration:
                configuration = _renamed(configuration, key, current, other)
    return configuration


def _current_name(key: str, version: FlinkVersion) -> str | None:
    for option in every_option():
        if option.exists_in(version) and key in option.at(version).deprecated_keys:
            return option.key
    return None


def _renamed(configuration: Configuration, key: str, current: str, other: str) -> Configuration:
    if current in configuration:
        return configuration.without(key).with_notices(
            f"{key} is left out: it is an older name of {current}, which is set as well"
        )
    value, origin = configuration.raw(key), configuration.origin(key)
    return (
        configuration.without(key)
        .with_values({current: value}, origin=origin or "")
        .with_notices(
            f"{key} is written as {current}, its current name: "
            f"{configuration.file_name} cannot hold it beside {other}"
        )
    )
