"""The page about the API server names every kind and subresource that is served."""

from __future__ import annotations

import re
from pathlib import Path

from kubeflink.apiserver.resources import SERVED

PAGE = Path(__file__).parents[3] / "docs" / "api-server.md"


def test_the_page_names_what_is_served() -> None:
    rows = re.findall(r"^\| (`.+?) \| (.*?) ?\|$", PAGE.read_text(), re.MULTILINE)
    told = {
        plural: {each.strip() for each in below.split(",") if each.strip()}
        for kinds, below in rows
        for plural in re.findall(r"`(\w+)`", kinds)
    }
    assert told.pop("selfsubjectaccessreviews") == {"create only"}
    assert told == {
        each.resource.plural: {*each.subresources, *(["status"] if each.status else [])}
        for each in SERVED
    }
