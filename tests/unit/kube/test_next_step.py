"""Commands for copying lead to the cluster that a message is about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubeflink.kube import next_step


@pytest.fixture
def led_by_options() -> Iterator[None]:
    token = next_step.LED_BY.set({"namespace": "default", "context": "a test"})
    yield
    next_step.LED_BY.reset(token)


def test_a_namespace_is_named_unless_it_is_the_default() -> None:
    assert next_step.command("logs demo", "default") == "kubeflink logs demo"
    assert next_step.command("logs demo", "prod") == "kubeflink logs demo --namespace prod"
    assert next_step.command("logs demo", "") == "kubeflink logs demo"
    assert next_step.kubectl("get pods", "default") == "kubectl get pods -n default"
    assert next_step.kubectl("create namespace x", None) == "kubectl create namespace x"


@pytest.mark.usefixtures("led_by_options")
def test_what_led_the_present_command_leads_the_next_one() -> None:
    context = "--context 'a test'"
    assert next_step.command("logs demo", "default") == (
        f"kubeflink logs demo --namespace default {context}"
    )
    assert next_step.command("logs demo", "prod") == (
        f"kubeflink logs demo --namespace prod {context}"
    )
    assert next_step.kubectl("get pods", "prod") == f"kubectl get pods -n prod {context}"
