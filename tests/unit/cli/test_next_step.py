"""What a command knows of where it goes ends with it, wherever it came to know it."""

from __future__ import annotations

import asyncio

import click

from kubeflink.cli import next_step
from kubeflink.kube.next_step import LED_BY
from support.recorder import RecordingServer

from .conftest import SIZES, Call

GIVEN = {"context": "prod", "kubeconfig": None}


def test_it_is_forgotten_with_the_command() -> None:
    with click.Context(click.Command("list")):
        next_step.remember(GIVEN)
        assert LED_BY.get() == {"context": "prod"}

    assert LED_BY.get() == {}


def test_it_may_be_found_out_in_the_commands_task() -> None:
    async def remember() -> dict[str, str]:
        next_step.remember(GIVEN)
        return dict(LED_BY.get())

    with click.Context(click.Command("diff")):
        assert asyncio.run(remember()) == {"context": "prod"}

    assert LED_BY.get() == {}


def test_an_own_command_that_reads_the_cluster_from_the_configuration(
    call: Call, server: RecordingServer
) -> None:
    there = "-Dkubernetes.cluster-id=demo"

    found = call("diff", "session", there, "-Dkubernetes.context=other", *SIZES)

    assert (found.code, LED_BY.get()) == (1, {}), found.err
    assert "/demo" in "".join(request.path for request in server.requests)
