"""The jars in the tree were built from the Java sources beside them."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from kubeflink.cluster import runner
from support import client_side

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("jar", "main_class"),
    [
        (runner.jar(), runner.MAIN_CLASS),
        (EXAMPLES / "wordcount.jar", "WordCount"),
        (client_side.JAR, "ClientSide"),
    ],
    ids=["runner", "example", "test"],
)
def test_a_jar_is_that_of_its_sources(jar: Path, main_class: str) -> None:
    sources = sorted(jar.parent.glob("*.java"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()

    with zipfile.ZipFile(jar) as content:
        manifest = content.read("META-INF/MANIFEST.MF").decode().splitlines()
        names = content.namelist()

    assert sources
    assert f"Source-Digest: {digest}" in manifest, "run scripts/build-jars"
    assert f"Main-Class: {main_class}" in manifest
    assert f"{main_class.replace('.', '/')}.class" in names
