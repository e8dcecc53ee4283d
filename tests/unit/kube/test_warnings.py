"""`Warning` headers of an API server: read as RFC 7234 has them, and told once."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from kubeflink import errors, objects
from kubeflink.kube import KubeClient, warnings
from support.api_stub import ApiStub, Fault, status

LOGGER = "kubeflink.kube.warnings"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('299 - "v1 ComponentStatus is deprecated"', ["v1 ComponentStatus is deprecated"]),
        (
            r'299 - "unknown field \"spec.replica\"", 299 - "would violate PodSecurity"',
            ['unknown field "spec.replica"', "would violate PodSecurity"],
        ),
        ('299 - "a, b",299 kube:443 "c"', ["a, b", "c"]),
        ('299 - "dated" "Wed, 21 Oct 2015 07:28:00 GMT", 299 - "b"', ["dated", "b"]),
        (r'299 - "a backslash \\ and \a"', ["a backslash \\ and a"]),
        ('299 - "grün"', ["grün"]),
        # Not for the user: those of caches, and those without a text.
        ('110 - "Response is Stale", 299 - "kept"', ["kept"]),
        ('299 - ""', []),
        ('299 - "  "', []),
        (', ,299 - "a",,', ["a"]),
        # What is no warning ends the header; what came before it counts.
        ("", []),
        ("trouble", []),
        ("299 - no quotes", []),
        ('299 - "no end', []),
        ('299 - "ends in an escape\\"', []),
        ('29 - "too short a code"', []),
        ('2990 - "too long a code"', []),
        ('299 "no agent"', []),
        ('٢٩٩ - "other digits"', []),
        ('299 - "good", 299 - "bad" trailing, 299 - "lost"', ["good"]),
        # Nothing that moves the cursor of a terminal.
        ('299 - "a\x1b[2Jb\tc"', ["a [2Jb c"]),
    ],
)
def test_the_texts_of_a_header(header: str, expected: list[str]) -> None:
    assert list(warnings.texts(header)) == expected


@given(st.lists(st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1), max_size=4))
def test_what_was_quoted_is_read_again(written: list[str]) -> None:
    values = (text.replace("\\", "\\\\").replace('"', '\\"') for text in written)
    header = ", ".join(f'299 - "{value}"' for value in values)

    assert list(warnings.texts(header)) == written


@given(st.text())
def test_any_text_is_read_to_its_end(header: str) -> None:
    assert all(text.isprintable() for text in warnings.texts(header))


# --- over sockets ----------------------------------------------------------------------------


Told = Callable[[], list[str]]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Told:
    """What has been logged of warnings so far."""
    # Whatever the command line has set.
    monkeypatch.setattr(logging.getLogger("kubeflink"), "propagate", True)
    return lambda: [each.getMessage() for each in caplog.records if each.name == LOGGER]


def warning(*headers: str, code: int | None = None) -> Fault:
    """A fault that lets the request through, or refuses it, with these `Warning` headers."""

    async def fault(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        response = await stub.serve(request) if code is None else status(code, "no")
        for header in headers:
            response.headers.add("Warning", header)
        return response

    return fault


def pod(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}


async def test_each_text_is_told_once_whoever_is_told_it(
    client: KubeClient, stub: ApiStub, told: Told
) -> None:
    first, second = f"first {uuid.uuid4()}", f"second {uuid.uuid4()}"
    stub.faults = [
        ("POST", warning(f'299 - "{first}"', "no warning", f'299 - "{second}", 299 - "{first}"')),
        ("POST", warning(f'299 - "{second}"')),
        ("GET", warning(f'299 - "{first}"')),
    ]

    await client.create(pod("a"))
    await client.create(pod("b"))
    await client.get(objects.PODS, "a")

    assert told() == [f"Warning: {first}", f"Warning: {second}"]


async def test_a_refusal_may_warn_as_well(client: KubeClient, stub: ApiStub, told: Told) -> None:
    text = str(uuid.uuid4())
    stub.faults = [("POST", warning(f'299 - "{text}"', code=422))]

    with pytest.raises(errors.InvalidError):
        await client.create(pod("a"))

    assert told() == [f"Warning: {text}"]


async def test_a_watch_may_warn_as_well(client: KubeClient, stub: ApiStub, told: Told) -> None:
    text = str(uuid.uuid4())

    async def watch(request: web.Request, stub: ApiStub) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Warning": f'299 - "{text}"'})
        await response.prepare(request)
        return response

    stub.watches = [watch]

    assert [event async for event in client.watch(objects.PODS, resource_version="1")] == []
    assert told() == [f"Warning: {text}"]


async def test_what_is_remembered_has_a_limit(
    client: KubeClient, stub: ApiStub, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warnings, "_MOST", 3)
    monkeypatch.setattr(warnings, "_TOLD", set())
    stub.faults = [
        ("POST", warning(", ".join(f'299 - "{number}"' for number in range(4)))),
        ("GET", warning('299 - "3"', '299 - "0"')),
    ]

    await client.create(pod("a"))
    await client.get(objects.PODS, "a")

    assert told() == [f"Warning: {number}" for number in (0, 1, 2, 3, 0)]


async def test_what_is_told_of_one_answer_has_a_limit(
    client: KubeClient, stub: ApiStub, told: Told
) -> None:
    """An API server keeps to it; a proxy may add any number of its own."""
    text = str(uuid.uuid4())
    headers = [f'299 - "{text} {number:04} {"x" * 1950}"' for number in range(20)]
    stub.faults = [("POST", warning(*headers))]

    await client.create(pod("a"))

    assert [len(line) for line in told()] == [2001, 2001, 124]
    assert told()[-1].endswith("...")
