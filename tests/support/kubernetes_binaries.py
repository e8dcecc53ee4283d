"""A real Kubernetes control plane for the tests, built from source: nobody publishes its binaries
where a machine without a container registry could get them.

etcd, kube-apiserver, kube-controller-manager and kube-scheduler share most of their code, so they
are one program (`tests/kubernetes/control-plane/main.go`), which is whichever of them it is called
as. `go build` takes minutes of CPU time; the result stays in the tests' cache, by the content of
what it was made of. Needed are Go and its module proxy.

`scripts/kubernetes-binaries` builds ahead of the tests; a test that comes too early waits for it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from support.cache import MissingError, once

SOURCE = Path(__file__).resolve().parent.parent / "kubernetes" / "control-plane"
PROGRAM = "control-plane"
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")

BUILD_SECONDS = 5400.0
"""The limit of a build, on a machine that does other things at the same time."""

_VERSION_PACKAGE = "k8s.io/component-base/version"


def kubernetes_version() -> str:
    """The version that is built, such as `1.36.3`."""
    found = re.search(r"k8s\.io/kubernetes v(\S+)$", (SOURCE / "go.mod").read_text(), re.MULTILINE)
    assert found is not None, "go.mod requires k8s.io/kubernetes"
    return found[1]


def kubernetes_binaries() -> Path:
    """The directory that holds `PROGRAMS`; built now if it is not there.

    Raises `MissingError` where that is impossible.
    """
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum", "main.go"):
        digest.update((SOURCE / name).read_bytes())
    return once(f"kubernetes-{kubernetes_version()}-{digest.hexdigest()[:12]}", _build)


def _build(fresh: Path) -> None:
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if go is None:
        raise MissingError(
            f"Kubernetes {kubernetes_version()} is built by Go, which is not here: install Go"
            " 1.26 or newer (https://go.dev/dl)"
        )
    major, minor, _ = kubernetes_version().split(".")
    stamps = {
        "gitVersion": f"v{kubernetes_version()}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "archive",
    }
    flags = " ".join(f"-X {_VERSION_PACKAGE}.{key}={value}" for key, value in stamps.items())
    try:
        result = subprocess.run(
            [
                *("nice", "-n", "19", go, "build", "-trimpath", "-buildvcs=false"),
                *("-mod=readonly", "-ldflags", f"-s -w {flags}", "-o", str(fresh / PROGRAM), "."),
            ],
            cwd=SOURCE,
            env={**os.environ, "CGO_ENABLED": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=BUILD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise MissingError(f"building Kubernetes took more than {BUILD_SECONDS:.0f} s") from error
    if result.returncode != 0:
        raise MissingError(f"Kubernetes cannot be built: {result.stdout[-1000:]}")
    for name in PROGRAMS:
        (fresh / name).symlink_to(PROGRAM)


if __name__ == "__main__":
    try:
        print(kubernetes_binaries())
    except MissingError as error:
        sys.exit(str(error))
