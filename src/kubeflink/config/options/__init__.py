"""Flink's options: one module per family, and the catalogue of all of them.

Names of constants follow from keys: `kubernetes.container.image.ref` is
`kubernetes.CONTAINER_IMAGE_REF`, `taskmanager.numberOfTaskSlots` is
`taskmanager.NUMBER_OF_TASK_SLOTS`, and keys of another first word keep it
(`slotmanager.number-of-slots.max` is `resourcemanager.SLOTMANAGER_NUMBER_OF_SLOTS_MAX`).
"""

from __future__ import annotations

from kubeflink.config.options.catalogue import all_options, declared, every_option, find, nearest
from kubeflink.config.options.option import Option

__all__ = ["Option", "all_options", "declared", "every_option", "find", "nearest"]
