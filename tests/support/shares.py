"""How several processes share the tests: file by file, the long ones first.

What a module's fixtures have made, such as a session with its JVMs, is used by all tests of the
file, some of which build on each other: so a file stays in one process. The tests of some files
need nothing from each other, and take so long that each of them is a share. Those of a directory
may have something in common that is expensive, a Kubernetes, and stay together as well.

Most of the time a test with JVMs waits for one of them, so more processes than cores are of use.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

SINGLE_TESTS = (
    "tests/local/test_failover.py",
    "tests/local/test_applications.py",
    "tests/local/test_broker.py",
)
"""Files of which each test is a share of its own."""

WHOLE_DIRECTORIES = ("tests/kubernetes/",)
"""Directories whose tests are one share."""

_FIRST = (
    *SINGLE_TESTS,
    "tests/local/test_docs.py",
    "tests/local/test_jobs.py",
    "tests/local/",
    "tests/kubernetes/",
    "tests/conformance/test_commands.py",
    "tests/conformance/",
)
"""Where the time goes, the longest first, so that nothing long is left over for the end. The tests
of a real Kubernetes may have to wait until its programs are built."""


def share_of(test: str) -> str:
    """The share that a test belongs to, by its node id."""
    file = test.partition("::")[0]
    directory = next((each for each in WHOLE_DIRECTORIES if test.startswith(each)), None)
    return directory or (test if file in SINGLE_TESTS else file)


def turn_of(test: str) -> int:
    """When it is the test's turn: a lower number is earlier."""
    found = (turn for turn, place in enumerate(_FIRST) if test.startswith(place))
    return next(found, len(_FIRST))


class Shares(LoadScopeScheduling):
    """Hands the shares out in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)
