"""Flink's REST API from the client's side: jars, jobs, savepoints, checkpoints, logs."""

from __future__ import annotations

from kubeflink.rest.client import FlinkClient

__all__ = ["FlinkClient"]
