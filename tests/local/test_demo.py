"""The main job: `kubeflink demo`, from nothing to the right counts and back to nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kubeflink.local.demo import shipped_text

pytestmark = pytest.mark.flink

_LETTERS = r"[^\W\d_]+"
_WORD = re.compile(rf"{_LETTERS}(?:['\u2019]{_LETTERS})*")  # as in Words.java
_TABLE = re.compile(r"^  ([^\s:]+) +(\d+)$", re.MULTILINE)

SECONDS = 900


def most_frequent(text: Path, top: int) -> list[tuple[str, int]]:
    """The same count in plain Python, as the judge."""
    words = Counter(word.lower() for word in _WORD.findall(text.read_text(encoding="utf-8")))
    return sorted(words.items(), key=lambda item: (-item[1], item[0]))[:top]


def run_demo(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    return subprocess.run(
        [sys.executable, "-m", "kubeflink", "demo", *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environ,
        check=False,
    )


def processes_of(home: Path) -> list[str]:
    """Command lines of all processes that were started for the embedded cluster in `home`."""
    listed = subprocess.run(
        ["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True, timeout=60
    )
    return [line for line in listed.stdout.splitlines() if str(home) in line]


@pytest.mark.timeout(SECONDS + 60)
def test_the_demo_counts_the_shipped_text_and_leaves_nothing(tmp_path: Path) -> None:
    done = run_demo(tmp_path, "--top", "25")

    assert (done.returncode, done.stderr) == (0, "")
    counted = _TABLE.findall(done.stdout)
    assert [(word, int(n)) for word, n in counted] == most_frequent(shipped_text(), 25)
    numbers = [int(n) for n in re.findall(r"TaskManagers: (\d+)", done.stdout)]
    assert numbers[0] == 0
    # On a busy machine one that is just ending is counted beside the one that follows it.
    assert max(numbers) in (2, 3)
    assert numbers[-1] == 0
    assert re.findall(r"job is (\w+)", done.stdout)[-1] == "FINISHED"
    assert processes_of(tmp_path) == []
    assert not [path for path in (tmp_path / "state").rglob("*") if path.name == "kubeconfig"]


@pytest.mark.timeout(SECONDS + 60)
def test_the_demo_counts_a_text_of_ones_own(tmp_path: Path) -> None:
    text = tmp_path / 'it\'s my "text" ; --.txt'
    text.write_text(
        "Über Überall, über\u2019s Über; don't, DON'T 12 x_y\n\nlast" * 50, encoding="utf-8"
    )

    done = run_demo(tmp_path, str(text), "--top", "9")

    assert (done.returncode, done.stderr) == (0, "")
    counted = _TABLE.findall(done.stdout)
    assert [(word, int(n)) for word, n in counted] == most_frequent(text, 9)


@pytest.mark.parametrize(
    ("name", "message"),
    [("nope.txt", "no file"), ("", "no file that can"), ("latin.txt", "no text in UTF-8: byte 3")],
)
def test_a_text_that_cannot_be_read_is_refused_at_once(
    tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "latin.txt").write_bytes(b"Z\xc3\xbc\xfcrich")
    done = run_demo(tmp_path, str(tmp_path / name))

    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "state").exists()
