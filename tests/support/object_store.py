"""A real S3 server of this machine's own: moto as a process, without an account.

What is in it is read by its own REST API, past all libraries that are under test.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2

SECONDS = 60.0
"""How long the server may take to start, and for an answer."""

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"

# The server looks for an account's name, and at a signature only if it is told to.
_ACCOUNT = {
    "authorization": f"AWS4-HMAC-SHA256 Credential={KEY}/20260101/us-east-1/s3/aws4_request,"
    " SignedHeaders=host, Signature=0"
}
_LISTENS = re.compile(r"Running on (http://127\.0\.0\.1:\d+)")
_NO_ENVIRONMENT = ("AWS_", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """The server at `url`; `process` is ended by the context that made it."""

    url: str
    process: subprocess.Popen[str]

    def options(self) -> dict[str, str]:
        """The options with which Flink, and kubeflink, reach it."""
        return {
            "s3.endpoint": self.url,
            "s3.access-key": KEY,
            "s3.secret-key": SECRET,
            "s3.path.style.access": "true",
        }

    def make(self, bucket: str) -> None:
        """An empty bucket."""
        self._ask("PUT", bucket)

    def put(self, bucket: str, key: str, content: bytes) -> None:
        """One object."""
        self._ask("PUT", f"{bucket}/{key}", content)

    def get(self, bucket: str, key: str) -> bytes:
        """The content of an object."""
        return self._ask("GET", f"{bucket}/{key}").content

    def keys(self, bucket: str) -> list[str]:
        """The objects that are there."""
        return self._found(f"{bucket}?list-type=2")

    def unfinished(self, bucket: str) -> list[str]:
        """The keys of multipart uploads that nobody completed or gave up."""
        return self._found(f"{bucket}?uploads")

    def want_accounts(self) -> None:
        """Refuse everybody from now on, until `want_no_accounts`."""
        self._ask("POST", "moto-api/reset-auth", b"0")

    def want_no_accounts(self) -> None:
        """Take every request again."""
        self._ask("POST", "moto-api/reset-auth", b"Infinity")

    def _found(self, path: str) -> list[str]:
        return [
            html.unescape(key)
            for key in re.findall("<Key>(.*?)</Key>", self._ask("GET", path).text)
        ]

    def _ask(self, method: str, path: str, content: bytes | None = None) -> httpx2.Response:
        with httpx2.Client(trust_env=False, timeout=SECONDS, headers=_ACCOUNT) as http:
            answer = http.request(method, f"{self.url}/{path}", content=content)
        assert answer.is_success, answer.text
        return answer


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """One server on a port of its own, ended with the context."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(_NO_ENVIRONMENT)}
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            assert process.stderr is not None
            said = ""
            for line in process.stderr:
                said += line
                if found := _LISTENS.search(line):
                    yield ObjectStore(found[1], process)
                    break
            else:
                raise AssertionError(f"the S3 server does not start: {said}")
        finally:
            process.kill()
