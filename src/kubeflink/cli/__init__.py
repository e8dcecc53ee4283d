"""The command line: parse, call, print. What it calls lives in the layers below."""

from kubeflink.cli.main import main

__all__ = ["main"]
