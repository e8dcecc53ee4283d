"""A jar whose `main` only works beside the client; see ClientSide.java.

`scripts/build-jars` builds it from that source.
"""

from __future__ import annotations

from pathlib import Path

JAR = Path(__file__).with_name("client-side.jar")
