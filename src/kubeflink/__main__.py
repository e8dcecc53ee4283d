"""`python -m kubeflink` is the command `kubeflink`."""

from __future__ import annotations

import sys

from kubeflink.cli import main

if __name__ == "__main__":
    sys.exit(main())
