"""Parameters in the links of all pages; and pages that are opened by a link, without a browser."""

from __future__ import annotations

from functools import cache
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.support import APP, ROOT

PAGES = tuple(sorted(file.stem for file in ROOT.glob("pages/*.py")))


def opened(page: str, link: dict[str, Any], timeout: float = 120) -> AppTest:
    """Open a page by a link, in a new session."""
    test = AppTest.from_file(APP, default_timeout=timeout)
    for name, value in link.items():
        test.query_params[name] = value
    return test.switch_page(f"pages/{page}.py").run()


@cache
def parameters() -> dict[str, list[str]]:
    """Names of the parameters that each page reads from its link."""
    found = {}
    for page in PAGES:
        test = opened(page, {})
        found[page] = [*test.session_state[f"{page}:state"].values]
    return found
