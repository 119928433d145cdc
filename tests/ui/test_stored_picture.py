"""The picture that the server sends with a page: only of sample sets, and only of its own link."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpviz.base.home import home
from dpviz.server import web
from dpviz.ui.explorer import PREPARED
from dpviz.ui.session import first_picture
from dpviz.ui.session.first_picture import stored
from tests.support import APP, coroutines
from tests.support.links import opened
from tests.ui.test_wavecluster import figure_head

QUICK = {"data": "tiny8", "method": "privthr", "epsilon": "0.5"}


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path / "home"))


def files() -> list[Path]:
    return sorted((home() / "pictures").glob("*"))


def link_of(test: AppTest) -> dict[str, str]:
    given = test.query_params.items()
    return {name: value if isinstance(value, str) else value[-1] for name, value in given}


@pytest.mark.parametrize("page", ["wavecluster", "kmeans"])
def test_a_page_is_sent_with_the_picture_of_its_link(page: str) -> None:
    link = {"data": "tiny8", "method": {"wavecluster": "privthr", "kmeans": "dplloyd"}[page]}
    assert not stored(f"/{page}", urlencode(link))
    test = opened(page, link)
    assert not test.exception
    found = stored(f"/{page}", urlencode(link))
    assert found.count(b'<div class="dpv-first dpv-light"') == 1
    title = {"wavecluster": b"PrivTHR", "kmeans": b"DPLloyd"}[page]
    assert title in found
    # The page's full link has the same picture; the order of its values has no meaning.
    assert stored(f"/{page}", urlencode([*reversed(link_of(test).items())])) == found
    other = {"wavecluster": "kmeans", "kmeans": "wavecluster"}[page]
    assert not stored(f"/{other}", urlencode(link))
    assert not stored(f"/{page}", urlencode({**link, "seed": 7}))
    assert not stored(f"/{page}", urlencode({**link, "embed": "true"}))
    assert not stored(f"/{page}", "")


def test_the_start_page_has_its_picture() -> None:
    PREPARED.add("wavecluster")
    AppTest.from_file(APP, default_timeout=120).run()
    assert b"Two-stage" in stored("/", "")
    assert stored("/", "") == stored("/wavecluster", "") == stored("/below/a/path/wavecluster", "")


def test_a_visit_after_other_pages_or_moves_stores_nothing() -> None:
    test = opened("kmeans", {"data": "tiny8", "method": "dplloyd"})
    before = files()
    assert len(before) == 2  # one for the link as it was given, one for the full link
    test.query_params.clear()
    test.switch_page("pages/wavecluster.py").run()  # takes over the data set
    assert "tiny8" in link_of(test)["data"]
    test.session_state["wavecluster:epsilon"] = 0.7
    test.run()
    assert files() == before


def test_pictures_of_own_data_are_never_stored() -> None:
    rows = np.random.default_rng(1).random((300, 2))
    table = "a,b\n" + "\n".join(f"{a:.3f},{b:.3f}" for a, b in rows)
    test = opened("wavecluster", {"data": "own", "method": "privthr"})
    test.file_uploader(key="own:file").set_value(("own.csv", table.encode(), "text/csv")).run()
    # A new link in the same session is read like the first one, and shows the same own data.
    test.query_params.clear()
    test.query_params.update({"data": "own", "method": "privthr", "epsilon": "0.9"})
    test.run()
    assert "own.csv" in figure_head(test)["figure"]["layout"]["title"]["text"]
    assert link_of(test)["epsilon"] == "0.9"
    assert not files()
    test.query_params.clear()
    test.query_params.update(QUICK)
    test.run()
    assert len(files()) == 2  # of the sample set


def test_a_changed_program_has_no_picture_and_old_ones_go(monkeypatch: pytest.MonkeyPatch) -> None:
    opened("wavecluster", QUICK)
    assert stored("/wavecluster", urlencode(QUICK))
    old = files()
    for one in old:
        os.utime(one, (0, 0))
    monkeypatch.setattr(first_picture, "_program", lambda: "another")
    assert not stored("/wavecluster", urlencode(QUICK))
    monkeypatch.setattr(first_picture, "_MOST", 2)
    opened("wavecluster", QUICK)
    assert stored("/wavecluster", urlencode(QUICK))
    assert len(files()) == 2
    assert not set(old) & set(files())


def test_without_a_folder_the_page_is_as_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    for place in (str(tmp_path / "file"), "relative"):
        monkeypatch.setenv("DPVIZ_HOME", place)
        test = opened("wavecluster", QUICK)
        assert not test.exception
        assert not stored("/wavecluster", urlencode(QUICK))


def test_the_server_adds_the_picture_to_the_page_alone() -> None:
    opened("wavecluster", QUICK)

    def sent(path: str, query: str, accept: bytes = b"text/html") -> bytes:
        got: list[bytes] = []

        async def app(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
            # A browser must not show its older page, which has another picture or none.
            if accept == b"text/html":
                assert [name for name, _ in scope["headers"]] == [b"host", b"accept"]
            await send({"type": "http.response.start", "status": 200, "headers": []})
            body = b"<html lang='en'><head></head><body></body></html>"
            await send({"type": "http.response.body", "body": body})

        async def send(message) -> None:  # type: ignore[no-untyped-def]
            got.append(message.get("body", b""))

        scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(),
                 "headers": [(b"host", b"localhost"), (b"accept", accept),
                             (b"if-none-match", b"1"), (b"accept-encoding", b"gzip")]}  # fmt: skip
        coroutines.run(web.Shield(app)(scope, None, send))  # type: ignore[arg-type]
        return b"".join(got)

    page = sent("/wavecluster", urlencode(QUICK))
    assert page.startswith(b"<html data-dpv-first lang")
    assert page.endswith(b"</svg>\n</div></body></html>")
    for other in (sent("/kmeans", urlencode(QUICK)), sent("/wavecluster", "data=%FF")):
        assert b"dpv-first" not in other
    assert b"dpv-first" not in sent("/wavecluster", urlencode(QUICK), b"*/*")
