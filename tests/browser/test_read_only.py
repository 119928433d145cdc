"""The app, when its checkout and the home folder are read-only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import await_health, end, faults, serve
from tests.support.read_only import read_only_checkout

#: For each page, a text that appears when the page is complete.
WHOLE = {
    "": ".live-figure .gtitle",
    "kmeans": ".live-figure .gtitle",
    "compare": ".live-figure .gtitle",
    "audit": ".live-figure .gtitle",
    "release": "text=Active: Fifteen Gaussians",
}


@pytest.mark.exhaustive
@pytest.mark.daily("first and release")
@pytest.mark.parametrize(
    "pages",
    [pytest.param(("", "release"), id="first and release"), pytest.param(tuple(WHOLE), id="all")],
)
def test_pages_are_drawn(
    tmp_path: Path, open_page: Callable[..., Any], pages: tuple[str, ...]
) -> None:
    with read_only_checkout(tmp_path) as (checkout, process):
        del process["cwd"]
        process["env"]["DPVIZ_HOME"] = ""
        url, server = serve("app.py", tmp_path, checkout, **process)
        try:
            await_health(url, server)
            for page in pages:
                watched = open_page(f"{url}/{page}")
                watched.page.wait_for_selector(WHOLE[page])
                assert watched.page.get_by_test_id("stException").count() == 0
                assert watched.page.get_by_text("can't be written").count() == 0
                assert watched.errors == []
                assert watched.hosts == {"127.0.0.1"}
        finally:
            end(server)
    assert faults(tmp_path / "server.log") == []
