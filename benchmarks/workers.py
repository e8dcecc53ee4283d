"""Workers asked for by Flink's own driver, and by the same JobManager through a broker.

A real JobManager asks an API server without a kubelet: pods are made, and none of them ever runs.
JobManager, API server and broker are processes of their own. The two ways take turns within one
run, the first of a round is another one each time, and what is printed at the end is the median of
the rounds' ratios. Each way is measured

- at the start: `slotmanager.number-of-slots.min` makes a JobManager ask for all workers as soon as
  it runs, when its JVM has compiled nothing yet;
- warm: the same JobManager runs small jobs and one with many subtasks first, and then one that
  wants all the workers. The small ones tell how long it takes from the accepted submit of a job
  until the request for its first pod is at the API server.

Two cores are less than the JVM alone would take: then all that the broker uses is time, as it is
not on a cluster. So the CPU time of each process is printed, too.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from stage.broker import broker
from stage.cluster import Server, api_server, kubeconfig
from stage.jobmanager import JobManager, jobmanager
from stage.processes import Usage

WAYS = ("driver", "broker")
TIME_AIM = 5
"""Percent that the broker may add until the last pod exists."""

FIRST_AIM = 0.3
"""Seconds from an accepted submit to the first pod."""

SECONDS = 300.0
PAUSE = 0.25
SMALL_JOBS = 5
WARM_UP = 200


@dataclass(frozen=True, slots=True)
class Processes:
    """What takes part; the broker is there in one way only."""

    server: Server
    pids: Mapping[str, int]
    config: Path
    directory: Path

    def usage(self) -> dict[str, Usage]:
        """What each process has used so far."""
        return {name: Usage.of(pid) for name, pid in self.pids.items()}


@dataclass(frozen=True, slots=True)
class Result:
    """One way, once. `seconds` go from the first pod to the last, `first` from submits to pods."""

    seconds: float
    requests: float
    used: dict[str, Usage]
    first: tuple[float, ...] = ()


@asynccontextmanager
async def processes(way: str) -> AsyncIterator[Processes]:
    """API server and broker, and the kubeconfig for the JobManager."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = await stack.enter_async_context(api_server())
        pids, config = {"API server": server.pid}, kubeconfig(server.url, directory / "kubeconfig")
        if way == "broker":
            running = await stack.enter_async_context(broker(server, directory))
            pids["broker"], config = running.pid, running.kubeconfig
        yield Processes(server, pids, config, directory / "jobmanager")


async def at_start(way: str, pods: int) -> Result:
    """All workers asked for by a JobManager that begins."""
    options = {"slotmanager.number-of-slots.min": str(pods)}
    async with (
        processes(way) as there,
        jobmanager(there.config, there.directory, options) as running,
    ):
        before = (await there.server.ask("count"))["requests"]
        asked = await _until(there.server, pods)
        times = (await there.server.ask("times"))["times"]
        used = {"JobManager": Usage.of(running.pid), **there.usage()}
        return Result(times[pods - 1] - times[0], (asked - before) / pods, used)


async def warm(way: str, pods: int) -> Result:
    """All workers asked for by a JobManager that has done it before; single ones before that."""
    async with (
        processes(way) as there,
        jobmanager(there.config, there.directory) as running,
    ):
        jar, first = await running.ready(), []
        for number in range(SMALL_JOBS):
            first.append(await _first_pod(there.server, running, jar, number))
        await running.submit(jar, WARM_UP)
        made = SMALL_JOBS + WARM_UP
        before = await _until(there.server, made)
        used_before = {"JobManager": Usage.of(running.pid), **there.usage()}
        await running.submit(jar, pods)
        asked = await _until(there.server, made + pods)
        used = {"JobManager": Usage.of(running.pid), **there.usage()}
        times = (await there.server.ask("times"))["times"][made:]
        spent = {name: usage.since(used_before[name]) for name, usage in used.items()}
        return Result(times[pods - 1] - times[0], (asked - before) / pods, spent, tuple(first))


async def _first_pod(server: Server, running: JobManager, jar: str, made: int) -> float:
    """Seconds from the acceptance of a job that wants one worker until its pod is asked for."""
    accepted = await running.submit(jar, 1)
    await _until(server, made + 1)
    # The answer to the submit can be slower than the pod, which has been asked for by then.
    return max(0.0, float((await server.ask("times"))["times"][made]) - accepted)


async def _until(server: Server, pods: int) -> int:
    """Wait until so many pods have been made; gives the number of requests up to then."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        seen = await server.ask("count")
        if seen["pods"] >= pods:
            return int(seen["requests"])
        await asyncio.sleep(PAUSE)
    raise RuntimeError(f"only {seen['pods']} of {pods} pods after {SECONDS:.0f} s")


async def run(pods: int, rounds: int) -> None:
    """Measure in turn, and print."""
    for title, measure in (("at the start", at_start), ("warm", warm)):
        print(f"{title}:", flush=True)
        results: list[dict[str, Result]] = []
        for number in range(rounds):
            order = WAYS if number % 2 == 0 else WAYS[::-1]
            results.append({})
            for way in order:
                results[-1][way] = await measure(way, pods)
                print(f"  {_line(way, results[-1][way], pods)}", flush=True)
        _summary(results)


def _line(way: str, result: Result, pods: int) -> str:
    used = ", ".join(f"{name} {u.cpu:.1f} s CPU {u.peak:.0f} MB" for name, u in result.used.items())
    first = ", ".join(f"{1000 * seconds:.0f}" for seconds in result.first)
    return (
        f"{way}: {pods} pods in {result.seconds:.1f} s ({pods / result.seconds:.0f}/s), "
        f"{result.requests:.2f} requests a pod; {used}"
        + (f"; first pod of a job after {first} ms" if first else "")
    )


def _summary(results: list[dict[str, Result]]) -> None:
    ratios = [each["broker"].seconds / each["driver"].seconds for each in results]
    cpu = [_cpu(each["broker"]) / _cpu(each["driver"]) for each in results]
    print(
        f"  time until the last pod: {_percent(ratios)} by the broker (aim: under {TIME_AIM} %); "
        f"CPU time of all processes: {_percent(cpu)}"
    )
    for way in WAYS:
        # The first job of a JobManager loads classes, which says nothing of what is compared.
        if later := [seconds for each in results for seconds in each[way].first[1:]]:
            print(
                f"  first pod after the submit, {way}: median {statistics.median(later):.3f} s, "
                f"{max(later):.3f} s at most (aim: {FIRST_AIM} s)"
            )


def _percent(ratios: list[float]) -> str:
    low, middle, high = (
        f"{100 * (r - 1):+.0f}" for r in (min(ratios), statistics.median(ratios), max(ratios))
    )
    return f"{middle} % ({low} to {high})"


def _cpu(result: Result) -> float:
    return sum(usage.cpu for usage in result.used.values())


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    asyncio.run(run(options.pods, options.rounds))


if __name__ == "__main__":
    main()
