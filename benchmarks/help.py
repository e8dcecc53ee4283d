"""`kubeflink --help`: CPU time and modules, against an interpreter that does nothing."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

AIM = 0.15
"""Seconds of CPU."""

NOTHING = "pass"
HELP = "import sys; from kubeflink.cli import main; sys.exit(main(['--help']))"
MODULES = (
    "import sys; from kubeflink.cli import main; main(['--help']);"
    "print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
)


def cpu_seconds(code: str) -> float:
    """User and system time of an interpreter that runs this code."""
    before = os.times()
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    bare: list[float] = []
    ours: list[float] = []
    for _ in range(rounds):
        bare.append(cpu_seconds(NOTHING))
        ours.append(cpu_seconds(HELP))
    done = subprocess.run(
        [sys.executable, "-c", MODULES], capture_output=True, text=True, check=True
    )
    modules = done.stderr.split()
    heavy = {"aiohttp", "rich", "lightkube", "httpx2", "msgspec"} & set(modules)
    print(f"bare interpreter   {statistics.median(bare):.3f} s of CPU")
    print(f"kubeflink --help   {statistics.median(ours):.3f} s of CPU (aim: at most {AIM})")
    print(f"top-level modules  {len(modules)}, heavy ones: {', '.join(sorted(heavy)) or 'none'}")


if __name__ == "__main__":
    main()
