"""Flink's client as a process, whose place a script takes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubeflink.config import load
from kubeflink.config.versions import FlinkVersion
from kubeflink.errors import LocalError
from kubeflink.jvm.flink_command import FlinkCommand
from kubeflink.jvm.flink_home import FlinkHome
from kubeflink.jvm.java import JavaRuntime


def client(root: Path, script: str) -> FlinkCommand:
    """A client that does what the script says instead of Flink."""
    java = root / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    java.chmod(0o755)
    home = FlinkHome(root, FlinkVersion(2, 3, 0), root / "lib" / "flink-dist-2.3.0.jar")
    return FlinkCommand(home, JavaRuntime(root / "java", 17))


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo SyntaxError: never closed; exit 31", "The program failed, as it has said above"),
        ("exit 31", "The program failed and has said nothing"),
        ("exit 5", "Flink's client ended with exit code 5"),
    ],
)
async def test_who_has_said_why_a_program_failed(tmp_path: Path, script: str, told: str) -> None:
    heard: list[str] = []
    command = client(tmp_path, script)
    configuration = load(conf_dir=None, environ={})

    with pytest.raises(LocalError) as caught:
        await asyncio.wait_for(
            command.run(
                ["run"], configuration=configuration, on_line=heard.append, on_error=heard.append
            ),
            60,
        )

    assert caught.value.message == told
    assert heard == [line for line in ["SyntaxError: never closed"] if line in script]


async def test_nothing_of_it_stays(tmp_path: Path) -> None:
    heard: list[str] = []
    script = """
for word in "$@"; do case $word in -Djava.io.tmpdir=*) place=${word#*=};; esac; done
touch "$place/job.py" && echo "$place" """
    configuration = load(conf_dir=None, environ={})

    await asyncio.wait_for(
        client(tmp_path, script).run(
            ["run"], configuration=configuration, on_line=heard.append, on_error=heard.append
        ),
        60,
    )

    (place,) = heard
    assert Path(place).is_absolute()
    assert not Path(place).parent.exists()
