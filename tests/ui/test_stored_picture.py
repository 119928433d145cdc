"""The picture that the server sends with a page: only of sample sets, and only of its own link."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import get_args
from urllib.parse import urlencode

import numpy as np
import pytest
from streamlit.runtime.scriptrunner import RerunData
from streamlit.testing.v1 import AppTest, local_script_runner

from dpviz.base.home import home
from dpviz.data.background import read_background
from dpviz.families import FAMILIES
from dpviz.figures.theme import Mode
from dpviz.server import web
from dpviz.ui import FRONTEND
from dpviz.ui.explorer import PREPARED
from dpviz.ui.session import first_picture
from dpviz.ui.session.first_picture import keep, shipped, with_picture
from dpviz.ui.widgets.assets import ahead
from tests.golden.build import PICTURES, picture
from tests.support import APP, coroutines
from tests.support.links import PAGES, opened
from tests.ui.test_wavecluster import figure_head

MODES = get_args(Mode)

QUICK = {"data": "tiny8", "method": "privthr", "epsilon": "0.5"}


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path / "home"))


#: A number with digits behind the point; whole numbers are the same everywhere.
NUMBER = re.compile(rb"-?\d*\.\d+")

PAGE = b"<html lang='en'><head></head><body></body></html>"


def stored(path: str, query: str, prepared: Collection[str] = ()) -> bytes:
    """What the server adds to a page."""
    page = with_picture(PAGE, path, query, prepared)
    return b"" if page == PAGE else page


def files() -> list[Path]:
    return sorted((home() / "pictures").glob("*"))


def link_of(test: AppTest) -> dict[str, str]:
    given = test.query_params.items()
    return {name: value if isinstance(value, str) else value[-1] for name, value in given}


def test_a_page_with_a_picture_fetches_scripts_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    link = f"<head>{ahead()}</head>".encode()
    assert b"/plotly.min.js?" in link
    assert b"/live_figure.js?" in link

    def fetches(query: str) -> bool:
        return link in with_picture(PAGE, "/", query, ())

    assert fetches("")
    assert not fetches("data=tiny8")  # this page has no picture
    # Without a session, or while the first session loads the module, there are no addresses.
    monkeypatch.setitem(sys.modules, "dpviz.ui.widgets.assets", ModuleType("assets"))
    assert not fetches("")
    monkeypatch.delitem(sys.modules, "dpviz.ui.widgets.assets")
    assert not fetches("")


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
    assert not stored(f"/{page}", urlencode({**link, "epsilon": ""}))
    assert not stored(f"/{page}", urlencode({**link, "embed": "true"}))


@pytest.mark.parametrize(
    ("page", "title"), [("", b"PrivTHR"), ("wavecluster", b"PrivTHR"), ("kmeans", b"DP-Refine")]
)
def test_a_new_installation_has_a_first_picture_of_its_explorers(page: str, title: bytes) -> None:
    found = stored(f"/{page}", "")
    assert title in found
    assert b"Two-stage" not in found
    # If the code is on disk, the page begins with the default.
    compiled = stored(f"/{page}", "", ("wavecluster", "kmeans"))
    assert {"kmeans": b"DP-Refine"}.get(page, b"Two-stage") in compiled
    assert b"PrivTHR" not in compiled
    for mode in MODES:
        assert found.count(f'<div class="dpv-first dpv-{mode}"'.encode()) == 1
    assert not stored(f"/{page}", "epsilon=1")
    assert not stored(f"/{page}-uncompiled", "")


def test_dark_pictures_of_the_package_are_dark() -> None:
    for page in FAMILIES:
        light, dark = (shipped(page)[mode] for mode in ("light", "dark"))
        # The cells are an image, which has the colours of the mode.
        one, other = (re.findall(rb'base64,[^"]+', content) for content in (light, dark))
        assert one
        assert not set(one) & set(other)


def test_other_pages_of_a_new_installation_have_no_picture() -> None:
    assert not any(stored(f"/{page}", "") for page in PAGES if page not in FAMILIES)


@pytest.mark.usefixtures("as_released")
def test_the_picture_of_the_default_follows_when_its_code_is_compiled() -> None:
    keep("wavecluster", [{}], shipped("wavecluster"))
    assert len(files()) == len(MODES)
    kept = stored("/", "")
    assert b"Two-stage" in kept
    assert b"PrivTHR" not in kept
    # The page's own picture is the same.
    for one in files():
        one.unlink()
    PREPARED.add("wavecluster")
    AppTest.from_file(APP, default_timeout=120).run()
    light = next(one for one in files() if one.name.endswith("-light.html"))
    assert light.read_bytes() in kept


def test_a_server_knows_whose_code_is_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: set[str] = set()
    monkeypatch.setattr(web, "_LIBRARIES", ())
    monkeypatch.setattr(web, "PREPARED", prepared)
    missing = FAMILIES["kmeans"].code[-1]
    monkeypatch.setattr(
        "dpviz.base.compiled.uncompiled", lambda names: [one for one in names if one == missing]
    )
    web._load()
    assert prepared == {"wavecluster"}


@pytest.mark.usefixtures("as_released")
@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_of_the_package_are_what_the_pages_draw(name: str) -> None:
    for file, now in picture(name).items():
        kept = (FRONTEND / "pictures" / file).read_bytes()
        # The last digit of a place may depend on the processor.
        assert NUMBER.split(now) == NUMBER.split(kept)
        for a, b in zip(NUMBER.findall(now), NUMBER.findall(kept), strict=True):
            assert float(a) == pytest.approx(float(b), abs=0.02)


def test_the_start_page_has_its_picture() -> None:
    PREPARED.add("wavecluster")
    AppTest.from_file(APP, default_timeout=120).run()
    assert b"Two-stage" in stored("/", "")
    assert stored("/", "") == stored("/wavecluster", "") == stored("/below/a/path/wavecluster", "")


@pytest.mark.parametrize(("page", "number"), [("kmeans", 2), ("release", 0)])
def test_a_visit_after_other_pages_or_moves_stores_nothing(page: str, number: int) -> None:
    test = opened(page, {"data": "tiny8"} | ({"method": "dplloyd"} if number else {}))
    before = files()
    assert len(before) == number  # one for the link as it was given, one for the full link
    test.query_params.clear()
    test.switch_page("pages/wavecluster.py").run()  # takes over the data set
    assert "tiny8" in link_of(test)["data"]
    test.session_state["wavecluster:epsilon"] = 0.7
    test.run()
    assert files() == before


def test_a_moved_slider_stores_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    test = opened("wavecluster", QUICK)
    before = [(one, one.read_bytes()) for one in files()]
    assert len(before) == 2
    # As in a browser, a slider runs only the part of the page with the explorer.
    kept = test._fragment_storage
    parts = [one for one in kept._fragments if kept._parent_by_id.get(one) is None]
    monkeypatch.setattr(
        local_script_runner, "RerunData", partial(RerunData, fragment_id_queue=parts)
    )
    monkeypatch.setattr("streamlit.page_link", lambda *_, **__: None)  # here, a part has no pages
    test.session_state["wavecluster:epsilon"] = 5.0
    assert not test.run().exception
    assert link_of(test)["epsilon"] == "5"
    assert [(one, one.read_bytes()) for one in files()] == before


def test_pictures_of_own_data_are_never_stored() -> None:
    rows = np.random.default_rng(1).random((300, 2))
    table = "a,b\n" + "\n".join(f"{a:.3f},{b:.3f}" for a, b in rows)
    test = opened("wavecluster", {"data": "own", "method": "privthr"})
    test.file_uploader(key="own:file").set_value(("own.csv", table.encode(), "text/csv")).run()
    # A new link is read like the first one, and shows the same own data.
    for link, number in (({"data": "own", "method": "privthr", "epsilon": "0.9"}, 0), (QUICK, 2)):
        del test.session_state["app:begun"]
        test.query_params.clear()
        test.query_params.update(link)
        test.run()
        named = "own.csv" in figure_head(test)["figure"]["layout"]["title"]["text"]
        assert named == (number == 0)
        assert link_of(test)["epsilon"] == link["epsilon"]
        assert len(files()) == number


def test_own_lines_below_the_map_are_never_stored() -> None:
    shape = {"type": "LineString", "coordinates": [[0.1, 0.1], [0.9, 0.7]]}
    lines = read_background(json.dumps(shape).encode(), "farm.geojson")
    test = AppTest.from_file(APP, default_timeout=120)
    test.session_state["map:own"] = {"token": "x", "lines": lines}
    test.query_params.update(QUICK)
    test.switch_page("pages/wavecluster.py").run()
    assert not test.exception
    drawn = figure_head(test)["figure"]["data"]
    assert any(one.get("line", {}).get("width") == 1.5 for one in drawn)
    assert not files()


def test_a_corrected_link_stores_nothing() -> None:
    test = opened("wavecluster", {**QUICK, "epsilon": "-3"})
    assert not test.exception
    assert not files()


@pytest.mark.parametrize("link", [{"view": "epsilons"}, {"view": "counts"}, {"data": "checkins"}])
def test_only_two_maps_of_few_lines_are_stored(link: dict[str, str]) -> None:
    assert not opened("wavecluster", {**QUICK, "method": "privthr", **link}).exception
    assert all(len(one.read_bytes()) < 10**5 for one in files())
    assert len(files()) == 2 * (link == {"data": "checkins"} and bool(files()))


def test_a_changed_program_has_no_picture_and_old_ones_go(monkeypatch: pytest.MonkeyPatch) -> None:
    opened("wavecluster", QUICK)
    assert stored("/wavecluster", urlencode(QUICK))
    old = files()
    for one in old:
        os.utime(one, (0, 0))
    monkeypatch.setattr(first_picture, "_PROGRAM", "another")
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
            await send({"type": "http.response.body", "body": PAGE})

        async def send(message) -> None:  # type: ignore[no-untyped-def]
            got.append(message.get("body", b""))

        scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(),
                 "headers": [(b"host", b"localhost"), (b"accept", accept),
                             (b"if-none-match", b"1"), (b"accept-encoding", b"gzip")]}  # fmt: skip
        coroutines.run(web.Shield(app)(scope, None, send))  # type: ignore[arg-type]
        return b"".join(got)

    page = sent("/wavecluster", urlencode(QUICK))
    assert page.startswith(b'<html data-dpv-first="light" lang')
    assert page.endswith(b"</svg>\n</div></body></html>")
    for other in (sent("/kmeans", urlencode(QUICK)), sent("/wavecluster", "data=%FF")):
        assert b"dpv-first" not in other
    assert b"dpv-first" not in sent("/wavecluster", urlencode(QUICK), b"*/*")
