"""Logs of all pods of a cluster, read and followed."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.cluster import logs
from kubeflink.cluster.log_overlap import Overlap
from kubeflink.cluster.session import SessionCluster
from kubeflink.errors import ClusterError, ClusterNotFoundError, ForbiddenError
from kubeflink.objects import DEPLOYMENTS, PODS
from support.kubernetes import SmallKubernetes

RUNNING = {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 0}]}


async def test_the_jobmanager_comes_first_and_workers_in_their_order(
    demo: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    for index in (10, 2):
        name = f"demo-taskmanager-1-{index}"
        await kubernetes.add_pod(name, RUNNING, component="taskmanager")
        kubernetes.pods.lines[name] = [f"w{index} a", f"w{index} b"]
    await kubernetes.add_pod("demo-7f", RUNNING)
    kubernetes.pods.lines["demo-7f"] = ["j a", "j b"]
    await kubernetes.add_pod("demo-taskmanager-1-3", RUNNING, component="taskmanager")  # no log yet

    lines = [line.text async for line in demo.logs(tail_lines=1)]
    workers = [line async for line in demo.logs(component="taskmanager")]

    assert lines == ["j b", "w2 b", "w10 b"]
    assert {line.component for line in workers} == {"taskmanager"}


async def test_a_cluster_without_pods_and_no_cluster(
    demo: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    with pytest.raises(ClusterNotFoundError, match="no pods yet"):
        await anext(demo.logs())
    with pytest.raises(ClusterNotFoundError, match="No Flink cluster other"):
        await anext(logs.read(kubernetes.client, "other"))


async def test_pods_that_have_not_begun_are_named(
    demo: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    await kubernetes.add_pod("demo-7f", {"phase": "Pending"})

    with pytest.raises(ClusterError, match="no log yet of demo-7f") as caught:
        await anext(demo.logs())

    assert "kubeflink describe demo" in str(caught.value.hint)


async def test_following_takes_up_new_pods_and_ends_with_the_cluster(
    demo: SessionCluster, kubernetes: SmallKubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "POLL_SECONDS", 0.05)
    await kubernetes.add_pod("demo-7f", RUNNING)
    kubernetes.pods.lines["demo-7f"] = ["old", "first"]
    seen: list[str] = []

    async for line in demo.logs(follow=True, tail_lines=1):
        seen.append(line.text)
        if line.text == "first":
            await kubernetes.add_pod("demo-taskmanager-1-1", RUNNING, component="taskmanager")
            kubernetes.pods.lines["demo-taskmanager-1-1"] = ["worker from its beginning"]
        if line.text.startswith("worker"):
            kubernetes.pods.ended |= {"demo-7f", "demo-taskmanager-1-1"}
            await kubernetes.client.delete(DEPLOYMENTS, "demo")
            await kubernetes.remove(PODS, "demo-7f")
            await kubernetes.remove(PODS, "demo-taskmanager-1-1")

    assert seen == ["first", "worker from its beginning"]


async def test_a_container_that_starts_anew_is_followed_again(
    demo: SessionCluster, kubernetes: SmallKubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "POLL_SECONDS", 0.05)
    await kubernetes.add_pod("demo-7f", RUNNING)
    kubernetes.pods.lines["demo-7f"] = ["run 1"]
    kubernetes.pods.ended.add("demo-7f")
    following = demo.logs(follow=True)

    assert (await anext(following)).text == "run 1"
    kubernetes.pods.lines["demo-7f"] = ["run 2"]
    await kubernetes.set_status(
        "demo-7f", {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 1}]}
    )

    assert (await anext(following)).text == "run 2"
    await following.aclose()


@pytest.mark.parametrize("how", ["closed", "broken"])
@pytest.mark.parametrize("tail", [None, 1])
async def test_a_log_that_is_cut_goes_on_where_it_was(
    demo: SessionCluster,
    kubernetes: SmallKubernetes,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    tail: int | None,
) -> None:
    """No line is told twice, and none is lost that came when nobody followed."""
    monkeypatch.setattr(logs, "POLL_SECONDS", 0.05)
    await kubernetes.add_pod("demo-7f", RUNNING)
    lines = kubernetes.pods.lines["demo-7f"] = ["a", "same", "same", "b"]
    seen: list[str] = []

    async for line in demo.logs(follow=True, tail_lines=tail):
        seen.append(line.text)
        if line.text == "b":
            kubernetes.pods.cut["demo-7f"] = how
            while "demo-7f" in kubernetes.pods.cut:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            lines += ["same", "same", "c"]
        if line.text == "c":
            kubernetes.pods.cut["demo-7f"] = how
            while "demo-7f" in kubernetes.pods.cut:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            lines += ["the last"]
            kubernetes.pods.ended.add("demo-7f")
            await kubernetes.set_status("demo-7f", {"phase": "Succeeded"})
            await kubernetes.client.delete(DEPLOYMENTS, "demo")
        if line.text == "the last":
            await kubernetes.remove(PODS, "demo-7f")

    begin = ["a", "same", "same", "b"] if tail is None else ["b"]
    assert seen == [*begin, "same", "same", "c", "the last"]


async def test_other_ends_of_lines_are_of_the_program(
    demo: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    await kubernetes.add_pod("demo-7f", RUNNING)
    kubernetes.pods.lines["demo-7f"] = ["a\x0bb\x85c\u2028d\re", ""]

    lines = [line.text async for line in demo.logs()]

    assert lines == ["a\x0bb\x85c\u2028d\re", ""]


@given(
    known=st.lists(st.sampled_from("abc"), max_size=12),
    missed=st.lists(st.sampled_from("abcxyz"), max_size=6),
    meanwhile=st.lists(st.sampled_from("abcxyz"), max_size=6),
    later=st.lists(st.sampled_from("xyz"), max_size=6),
)
def test_no_line_is_taken_twice(
    known: list[str], missed: list[str], meanwhile: list[str], later: list[str]
) -> None:
    """Whatever is alike; and what is like nothing before is never lost."""
    overlap, log = Overlap(), [*known]
    taken = [each for line in known for each in overlap.new(line)]
    log += missed
    taken += overlap.missed(log)
    count = overlap.follow_again()
    assert count == len(log)
    log += meanwhile
    for line in [*log[len(log) - count :], *later, "end"] if count else [*log, *later, "end"]:
        taken += overlap.new(line)
    log += [*later, "end"]

    assert taken[: len(known)] == known
    assert len(taken) <= len(log)
    assert taken[-1] == "end"
    position = iter(log)
    assert all(line in position for line in taken), "in their order"


def test_lines_with_times_are_all_taken() -> None:
    overlap = Overlap()
    log = [f"{number} line" for number in range(3000)]
    taken = [each for line in log[:1500] for each in overlap.new(line)]
    taken += overlap.missed(log[1000:2000])
    assert overlap.follow_again() == 1000
    for line in log[1300:]:
        taken += overlap.new(line)

    assert taken == log


async def test_an_error_reaches_the_reader(
    demo: SessionCluster, kubernetes: SmallKubernetes
) -> None:
    await kubernetes.add_pod("demo-7f", RUNNING)
    kubernetes.pods.lines["demo-7f"] = ["x"]
    kubernetes.rights.denied.add("get pods/log")

    async with asyncio.timeout(30):
        with pytest.raises(ForbiddenError, match="pods/log"):
            await anext(demo.logs(follow=True))
