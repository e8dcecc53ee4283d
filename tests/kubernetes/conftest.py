"""A real Kubernetes control plane for all tests of this tier, and a namespace for each.

It is built from source, once (`support.kubernetes_binaries`). Where that is impossible the tier is
left out and says so; in CI it fails.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.cache import MissingError
from support.control_plane import ControlPlane
from support.kubernetes_binaries import kubernetes_binaries
from support.real_cluster import Namespace, namespace_of

HERE = Path(__file__).parent

SECONDS = 300.0
"""The limit of one test. The fixtures are not counted: they may have to wait for a compiler."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a single process this tier comes last: what it needs may still be compiled."""
    for item in items:
        if _is_ours(item) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SECONDS, func_only=True))
    if not hasattr(config, "workerinput"):
        items.sort(key=_is_ours)


def _is_ours(item: pytest.Item) -> bool:
    return HERE in item.path.parents


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    try:
        binaries = kubernetes_binaries()
    except MissingError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no real Kubernetes: {error}")
    # A short path: those of etcd's sockets may have some hundred characters at most.
    with ControlPlane(binaries, tmp_path_factory.mktemp("k8s")) as started:
        yield started


@pytest.fixture
async def namespace(control_plane: ControlPlane) -> AsyncIterator[Namespace]:
    """A namespace of the test's own, and the administrator's client in it."""
    async with namespace_of(control_plane, f"t-{secrets.token_hex(4)}") as made:
        yield made
