"""Runs pieces of Python one after the other, as the cells of a notebook: with the same names, in a
running event loop, each with an output of its own.

    python snippets.py SOURCE OUTPUT EXIT-CODE [SOURCE OUTPUT EXIT-CODE ...]

A piece whose exit code is 1 must raise an exception, whose text belongs to its output.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import sys
import traceback
import types
from pathlib import Path


def compiled(source: Path) -> types.CodeType:
    code: types.CodeType = compile(
        source.read_text(encoding="utf-8"),
        str(source),
        "exec",
        flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
        dont_inherit=True,
    )
    return code


def write_to(output: str) -> None:
    """Let everything that is printed from now on go to this file."""
    sys.stdout.flush()
    with open(output, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


async def run(code: types.CodeType, names: dict[str, object]) -> None:
    result = types.FunctionType(code, names)()
    if inspect.iscoroutine(result):
        await result


async def main(words: list[str]) -> int:
    names: dict[str, object] = {"__name__": "__main__"}
    for source, output, expected in zip(words[::3], words[1::3], words[2::3], strict=True):
        write_to(output)
        failed = 0
        try:
            await run(compiled(Path(source)), names)
        except Exception:  # noqa: BLE001  whatever it is, it is shown and counted
            traceback.print_exc()
            failed = 1
        sys.stdout.flush()
        if failed != int(expected):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
