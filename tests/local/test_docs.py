"""The documentation, run: every command and every snippet on its pages, against real Flink.

All pages share one embedded Kubernetes and one session cluster, `demo`, on those pages that say so.
Flink comes from a directory that looks like an image with a program in it, the memory sizes from a
configuration directory; so the commands are the ones that are printed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflink.local.sizes import SMALL_MEMORY
from support.cache import MissingError
from support.documents import Page, blocks_of
from support.extras import pyflink_python
from support.flink_jars import flink_jars
from support.left_out import left_out

pytestmark = [pytest.mark.flink, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SECONDS = 1500.0

ON_THEIR_OWN = (
    "README.md",
    "docs/deploy-a-session.md",
    "docs/application.md",
    "docs/moving-from-flink-scripts.md",
    "docs/from-a-notebook.md",
)
"""The pages that start what they need."""

WITH_SESSION = (
    "docs/run-a-job.md",
    "docs/savepoints.md",
    "docs/from-python.md",
    "docs/errors.md",
)
"""The pages that begin with a session cluster `demo`."""


def run(env: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "kubeflink", *words],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def flink_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Flink with the example's jar in `usrlib`, as an image would have it."""
    home = tmp_path_factory.mktemp("flink")
    for part in ("lib", "opt", "plugins", "bin"):
        (home / part).symlink_to(flink_jars("2.3.0") / part)
    (home / "usrlib").mkdir()
    shutil.copy(EXAMPLES / "wordcount.jar", home / "usrlib")
    return home


@pytest.fixture(scope="module")
def python_of_image() -> Path:
    """A Python with PyFlink, as an image for PyFlink would have it."""
    with left_out("docs/pyflink.md is not run"):
        return pyflink_python("2.3.0")


def pythons() -> list[str]:
    """Where pods find a `python`: that with PyFlink, if it can be had."""
    try:
        return [str(pyflink_python("2.3.0").parent)]
    except MissingError:
        return []


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory, flink_home: Path) -> Iterator[dict[str, str]]:
    """The environment of a user with an embedded Kubernetes."""
    home = tmp_path_factory.mktemp("home")
    conf = home / "conf"
    conf.mkdir()
    lines = [f"{key}: {value}\n" for key, value in SMALL_MEMORY.items()]
    # Logs of a job are read after it: its TaskManagers must not be gone by then.
    lines.append("resourcemanager.taskmanager-timeout: 2min\n")
    (conf / "config.yaml").write_text("".join(lines), encoding="utf-8")
    (home / "savepoints").mkdir()
    env = {name: value for name, value in os.environ.items() if "FLINK" not in name}
    env |= {
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "LC_ALL": "C.UTF-8",
        "PATH": os.pathsep.join([*pythons(), str(Path(sys.executable).parent), env["PATH"]]),
        "FLINK_CONF_DIR": str(conf),
        "SAVEPOINTS": (home / "savepoints").as_uri(),
    }
    try:
        yield env
    finally:
        run(env, "local", "down")


@pytest.fixture
def kubernetes(env: dict[str, str], flink_home: Path) -> dict[str, str]:
    """The embedded Kubernetes, started again if a page has ended it."""
    run(env, "local", "up", "--flink-home", str(flink_home))
    env["KUBECONFIG"] = run(env, "local", "kubeconfig").strip()
    return env


@pytest.fixture
def session(kubernetes: dict[str, str]) -> dict[str, str]:
    """The session cluster `demo`, started if no page before has needed it."""
    if "demo" not in run(kubernetes, "clusters"):
        # Functions in Python load a lot.
        more = ("-Dtaskmanager.numberOfTaskSlots=4", "-Dtaskmanager.memory.jvm-metaspace.size=256m")
        run(kubernetes, "session", "start", "demo", *more)
    return kubernetes


def follow(
    name: str, env: dict[str, str], directory: Path, python: Path = Path(sys.executable)
) -> None:
    """Do what a page says, in a directory that has the examples in it."""
    for example in EXAMPLES.iterdir():
        shutil.copy(example, directory)
    blocks = blocks_of((ROOT / name).read_text(encoding="utf-8"))
    Page(blocks, directory, python).run(env, SECONDS).check(blocks, name)


@pytest.mark.parametrize("name", ON_THEIR_OWN)
def test_a_page_that_starts_its_own(name: str, kubernetes: dict[str, str], tmp_path: Path) -> None:
    follow(name, kubernetes, tmp_path)


def test_the_page_about_the_embedded_kubernetes(kubernetes: dict[str, str], tmp_path: Path) -> None:
    """It says sizes of its own, and ends what it begins."""
    env = {name: value for name, value in kubernetes.items() if name != "FLINK_CONF_DIR"}

    follow("docs/local.md", env, tmp_path)


@pytest.mark.parametrize("name", WITH_SESSION)
def test_a_page_on_a_session(name: str, session: dict[str, str], tmp_path: Path) -> None:
    follow(name, session, tmp_path)


def test_the_page_about_pyflink(
    session: dict[str, str], python_of_image: Path, tmp_path: Path
) -> None:
    """Its reader's Python has PyFlink, too."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "kubeflink"
    command.write_text(f'#!/bin/sh\nexec {python_of_image} -m kubeflink "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    env = {**session, "PATH": f"{command.parent}{os.pathsep}{session['PATH']}"}

    follow("docs/pyflink.md", env, tmp_path, python_of_image)


def test_the_notebook(kubernetes: dict[str, str], tmp_path: Path) -> None:
    """Run by Jupyter's own client: in a kernel, with outputs as a reader would see them."""
    notebook = shutil.copy(EXAMPLES / "word-count.ipynb", tmp_path)
    execute = Path(sys.executable).with_name("jupyter-execute")
    done = subprocess.run(
        [execute, "--inplace", f"--timeout={SECONDS:.0f}", notebook],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=kubernetes,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    cells = json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    text = "".join(line for output in outputs for line in output.get("text", ()))
    pages = ["".join(output["data"]["text/html"]) for output in outputs if "data" in output]

    lines = [line.split() for line in text.splitlines()]
    assert lines == [["4", "to"], ["3", "the"], ["2", "be"], ["2", "of"], ["2", "or"]]
    assert [
        kind for kind in ("Cluster", "Job", "FINISHED", "jobmanager") if kind in str(pages)
    ] == [*("Cluster", "Job", "FINISHED", "jobmanager")]
    assert "flink-cluster-" not in run(kubernetes, "clusters")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["wordcount.jar", "to be"], 0, "word count has finished after"),
        (["--hours", "0.0003", "wordcount.jar", "--endless", "to be"], 3, "has not ended after"),
    ],
    ids=["finishes", "takes too long"],
)
def test_the_nightly_script(
    kubernetes: dict[str, str], arguments: list[str], code: int, told: str
) -> None:
    done = subprocess.run(
        [sys.executable, "nightly.py", *arguments],
        cwd=EXAMPLES,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=kubernetes,
        check=False,
    )

    assert done.returncode == code, done.stderr
    assert told in done.stdout + done.stderr
    assert "nightly" not in run(kubernetes, "clusters")
