"""The recipe of the broker's image agrees with the package, and with the pod that runs it."""

from __future__ import annotations

import asyncio
import re
import shlex
import signal
import sys
import tomllib
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from kubeflink import objects
from kubeflink.objects import CONFIG_MAPS, JsonObject
from support.broker import cluster_spec, real_cluster
from support.broker_process import free_port, persistent_jobmanager

ROOT = Path(__file__).parents[3]
RECIPE = ROOT / "images" / "broker" / "Containerfile"
CONSTRAINTS = RECIPE.parent / "constraints.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

Instruction = tuple[str, str]


def stages() -> list[list[Instruction]]:
    """The instructions of each stage; a stage begins with FROM."""
    text = re.sub(r"^#.*\n", "", RECIPE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found: list[list[Instruction]] = []
    for line in text.replace("\\\n", " ").splitlines():
        if not line.strip():
            continue
        word, _, rest = line.partition(" ")
        if word == "FROM":
            found.append([])
        found[-1].append((word, " ".join(rest.split())))
    return found


def told(word: str, stage: list[Instruction]) -> list[str]:
    return [rest for name, rest in stage if name == word]


def copied() -> list[str]:
    """What comes from the repository."""
    lines = [rest for stage in stages() for rest in told("COPY", stage)]
    return [path for line in lines if "--from=" not in line for path in shlex.split(line)[:-1]]


def pod() -> JsonObject:
    (deployment,) = (
        each
        for each in cluster_spec({"kubeflink.broker.enabled": "true"}).objects
        if each["kind"] == "Deployment" and objects.name_of(each) == "demo-broker"
    )
    found: JsonObject = deployment["spec"]["template"]["spec"]
    return found


def pythons() -> set[str]:
    """The versions of Python that the recipe speaks of."""
    return set(re.findall(r"python:?(3\.\d+)", RECIPE.read_text(encoding="utf-8")))


def test_user_ports_and_program_are_those_of_the_pod() -> None:
    last, found = stages()[-1], pod()
    (container,) = found["containers"]

    # The kubelet believes only a number not to be root's.
    assert found["securityContext"]["runAsNonRoot"] is True
    assert int(told("USER", last)[0].split(":")[0]) > 0
    assert told("EXPOSE", last) == [" ".join(str(p["containerPort"]) for p in container["ports"])]
    assert told("ENTRYPOINT", last) == [f'["{container["command"][0]}"]']
    assert container["command"][0] in PROJECT["project"]["scripts"]


def test_all_stages_have_one_python_that_is_supported() -> None:
    (python,) = pythons()

    assert len({told("FROM", stage)[0].split()[0] for stage in stages()}) == 1
    assert python in SpecifierSet(PROJECT["project"]["requires-python"])
    assert f"Programming Language :: Python :: {python}" in PROJECT["project"]["classifiers"]


def test_what_a_wheel_is_made_of_is_copied() -> None:
    project, hatch = PROJECT["project"], PROJECT["tool"]["hatch"]
    needed = ["pyproject.toml", project["readme"], *project["license-files"]]
    needed += [hatch["version"]["path"], *hatch["build"]["targets"]["wheel"]["packages"]]

    for path in needed:
        assert any(PurePosixPath(path).is_relative_to(each) for each in copied()), path


def test_the_context_is_what_is_copied() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    everything, *rest = [line for line in lines if not line.startswith("#")]

    assert everything == "*"
    assert {line[1:] for line in rest if line.startswith("!")} == set(copied())
    assert all((ROOT / path).exists() for path in copied())


def test_bytecode_does_not_go_by_the_times_of_files() -> None:
    """Layers round them; and nothing is compiled where the file system cannot be written."""
    runs = [rest for stage in stages() for line in told("RUN", stage) for rest in line.split("&&")]
    compilers = [run for run in runs if "compileall" in run]

    assert len(compilers) == len(stages())
    assert all("--invalidation-mode unchecked-hash" in run for run in compilers)


def test_every_dependency_has_one_version() -> None:
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    entries = [Requirement(line) for line in lines if not line.startswith("#")]
    pinned = {}
    for each in entries:
        assert re.fullmatch(r"==[0-9.]+", str(each.specifier)), each
        pinned[canonicalize_name(each.name)] = str(each.specifier)[2:]
    project = PROJECT["project"]
    direct = [*project["dependencies"], *project["optional-dependencies"]["broker"]]

    assert len(pinned) == len(entries)
    for needed in map(Requirement, direct):
        assert pinned[canonicalize_name(needed.name)] in needed.specifier, needed


NEVER_WRITE = """
import os, sys

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = {"os.mkdir", "os.rename", "os.link", "os.symlink", "tempfile.mkstemp", "tempfile.mkdtemp"}

def refuse(event, args):
    if event in CHANGES or event == "open" and args[2] & WRITING and args[0] != os.devnull:
        os.write(2, f"written: {event} {args}".encode())
        os._exit(99)

sys.addaudithook(refuse)
sys.dont_write_bytecode = True

from kubeflink.cli import main
sys.exit(main())
"""


async def test_a_broker_of_a_pod_writes_no_file(tmp_path: Path) -> None:
    """Its file system is read-only, and no volume of its pod can be written."""
    port, configuration = free_port(), tmp_path / "flink"
    configuration.mkdir()
    async with (
        real_cluster(cluster_spec()) as cluster,
        persistent_jobmanager(cluster, tmp_path, port) as flink,
    ):
        shipped = await cluster.store.get(CONFIG_MAPS, "default", "flink-config-demo")
        for name, text in shipped["data"].items():
            (configuration / name).write_text(text)
        broker = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", NEVER_WRITE, "broker", "demo", "--port", str(port)),
            *("--kubeconfig", str(tmp_path / "template" / "kubeconfig"), "--metrics-port", "0"),
            *("--conf-dir", str(configuration), "--credentials", str(tmp_path / "credentials")),
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            asked = asyncio.create_task(flink.ask(1))
            ended = asyncio.create_task(broker.wait())
            await asyncio.wait({asked, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                assert asked.result() == 201
                broker.send_signal(signal.SIGTERM)
            _, said = await broker.communicate()
            asked.cancel()
        finally:
            if broker.returncode is None:
                broker.kill()
            await broker.wait()

    assert (broker.returncode, "written" in said.decode()) == (143, False), said.decode()
