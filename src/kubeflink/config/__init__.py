"""What was asked for: options, `config.yaml`, `-D`, units, the memory model, Flink versions."""

from __future__ import annotations

from kubeflink.config.configuration import Configuration, Notice
from kubeflink.config.loading import load
from kubeflink.config.versions import FlinkVersion

__all__ = ["Configuration", "FlinkVersion", "Notice", "load"]
