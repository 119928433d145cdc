"""Maps in a real browser: true scale, coastlines, and a domain that is drawn or that is a city."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dpviz.data.cities import box_around, cities

#: Size of the panels in pixels, extents of the domain, names of the traces, size of the figure.
PANELS = """() => { const plot = document.querySelector('.js-plotly-plot'), l = plot._fullLayout;
  const span = axis => axis.range[1] - axis.range[0];
  const panels = [['xaxis', 'yaxis'], ['xaxis2', 'yaxis2']].filter(([x]) => l[x]).map(([x, y]) => {
    const box = [l[x]._offset, l[y]._offset, l[x]._length, l[y]._length];
    return {left: box[0], top: box[1], across: box[2] / span(l[x]), up: box[3] / span(l[y]),
      width: box[2], height: box[3]}; });
  return {panels, names: plot._fullData.map(one => one.name), size: [l.width, l.height]}; }"""


@pytest.fixture
def explorer(app_url: Callable, open_page: Callable, faultless: Callable):
    """Open an explorer by a link, and wait for its picture; nothing may go wrong."""

    def open_(link: str = "", page: str = ""):
        watched = open_page(f"{app_url('app.py')}/{page}?{link}")
        watched.page.wait_for_selector(".gtitle", state="attached")
        watched.wait_idle()
        return faultless(watched)

    return open_


def measured(watched, width: int, height: int) -> dict:
    """Panels at a window size, after the figure has the width of its page."""
    watched.page.set_viewport_size({"width": width, "height": height})
    watched.page.wait_for_function(
        "() => { const plot = document.querySelector('.js-plotly-plot');"
        " return Math.abs(plot._fullLayout.width - plot.clientWidth) < 2; }"
    )
    watched.page.wait_for_timeout(700)
    return watched.page.evaluate(PANELS)


@pytest.mark.exhaustive(reason="test_stage.py checks the maps in windows of other sizes")
@pytest.mark.parametrize(
    ("link", "page", "ratio"),
    [
        ("", "", 1),
        ("", "kmeans", 1),
        ("data=checkins&method=wavecluster", "", 1),
        # At latitude 55, a degree of latitude is 1 / cos(55 degrees) degrees of longitude long.
        ("data=checkins&method=wavecluster&domain=-15,30;40,70", "", 1.7434),
    ],
)
def test_cells_keep_their_shape_at_every_window_size(explorer, link, page, ratio):
    watched = explorer(link, page)
    for size in ((1280, 720), (390, 844), (2560, 1440)):
        found = measured(watched, *size)
        first, *others = found["panels"]
        for panel in found["panels"]:
            assert panel["up"] / panel["across"] == pytest.approx(ratio, rel=0.02), (size, panel)
            assert panel["width"] == pytest.approx(first["width"], rel=0.01)
            assert panel["top"] == first["top"]
        assert first["width"] > (190 if size[0] == 390 else 0.24 * found["size"][0])
        # A phone shows one map, and a button shows the other in its place.
        assert len(others) == (size[0] > 390)


@pytest.mark.exhaustive(reason="cells keep their shape daily")
def test_different_units_fill_their_panels_and_a_person_decides(explorer):
    watched = explorer("data=incomes&axes=free")
    found = measured(watched, 1280, 720)
    filled = found["panels"][0]
    assert filled["up"] / filled["across"] > 1.2
    watched.page.get_by_role("button", name="Map").click()
    watched.page.get_by_text("one unit", exact=True).click()
    watched.page.wait_for_function(
        "() => document.querySelector('.js-plotly-plot')._fullLayout.yaxis.scaleratio === 1"
    )
    watched.wait_idle()
    assert "axes=equal" in watched.page.url


@pytest.mark.exhaustive
def test_coastlines_are_beneath_longitude_and_latitude_alone(explorer):
    watched = explorer("data=checkins&method=wavecluster")
    assert watched.page.evaluate(PANELS)["names"].count("coastlines and borders") == 2
    assert watched.page.locator(".legend").count() == 0
    watched = explorer("")
    assert "coastlines and borders" not in watched.page.evaluate(PANELS)["names"]
    watched = explorer("data=checkins&lines=hidden&method=wavecluster")
    assert "coastlines and borders" not in watched.page.evaluate(PANELS)["names"]


def test_a_box_on_the_map_becomes_the_domain(explorer):
    watched = explorer("data=checkins&method=wavecluster")
    box = watched.page.locator(".js-plotly-plot .draglayer .nsewdrag").first.bounding_box()
    watched.page.locator(".js-plotly-plot").first.hover()
    watched.page.locator("[data-title='Draw the domain as a box']").first.click()
    at = (
        (box["x"] + across * box["width"], box["y"] + down * box["height"])
        for across, down in ((0.5, 0.2), (0.75, 0.5))
    )
    watched.page.mouse.move(*next(at))
    watched.page.mouse.down()
    watched.page.mouse.move(*next(at), steps=5)
    watched.page.mouse.up()
    watched.page.wait_for_function("() => location.search.includes('domain=')")
    watched.page.get_by_text("chosen by a look at the data").wait_for()
    watched.page.wait_for_function(
        "() => document.querySelector('.js-plotly-plot')._fullLayout.xaxis.range[0] > -10"
    )
    watched.wait_idle()
    watched.page.wait_for_timeout(1000)
    lon, lat = (
        watched.page.evaluate(f"document.querySelector('.js-plotly-plot')._fullLayout.{one}.range")
        for one in ("xaxis", "yaxis")
    )
    assert [*lon, *lat] == pytest.approx([0, 90, 0, 54], abs=3)
    watched.page.get_by_role("button", name="Domain", exact=False).first.click()
    box_of = "document.querySelector('input[aria-label=\"longitude: from, to\"]')"
    watched.page.wait_for_function(f"() => {box_of}?.value")
    typed = watched.page.get_by_role("textbox", name="longitude: from, to").input_value()
    assert [float(one) for one in typed.split(",")] == pytest.approx(lon)


@pytest.mark.exhaustive
def test_a_city_becomes_the_domain_and_cells_have_metres(explorer):
    watched = explorer("data=checkins&method=wavecluster&g=100")
    watched.page.get_by_role("button", name="Domain", exact=False).first.click()
    watched.page.get_by_text("A box around a city").click()
    watched.choose("City", "Lyon, ")
    width = watched.page.get_by_role("spinbutton", name="Width in km")
    expect(width).to_be_enabled()  # the city's own width was set
    width.fill("20")
    width.press("Enter")
    lyon = next(city for title, city in cities().items() if title.startswith("Lyon, "))
    west = box_around(lyon, 20).bounds[0][0]
    watched.page.wait_for_function(
        f"() => document.querySelector('.js-plotly-plot')._fullLayout.xaxis.range[0] === {west}"
    )
    watched.page.get_by_text("A cell of the grid is about 200 m × 200 m.", exact=True).wait_for()
    # Otherwise the points of the rest of the world would be at the border, and look like clusters.
    watched.page.wait_for_url(re.compile("outside=drop"))


@pytest.mark.exhaustive(reason="tests/data/test_background.py refuses and reads daily")
def test_an_own_background_is_drawn_or_refused_in_one_sentence(explorer, tmp_path: Path):
    good, bad = tmp_path / "roads.geojson", tmp_path / "points.geojson"
    line = '{"type": "LineString", "coordinates": [[100000, 100000], [900000, 500000]]}'
    good.write_text(line, encoding="utf-8")
    bad.write_text('{"type": "Point", "coordinates": [1, 2]}', encoding="utf-8")
    watched = explorer("")
    watched.page.get_by_role("button", name="Map").click()
    upload = watched.page.locator("input[type=file]")
    upload.set_input_files(good)
    watched.page.wait_for_function(
        "() => document.querySelector('.js-plotly-plot')._fullData"
        ".filter(one => one.name === 'own background').length === 2"
    )
    watched.page.locator("input[type=file]").set_input_files(bad)
    watched.page.get_by_text("has no lines and no polygons").wait_for()
    assert watched.page.evaluate(PANELS)["names"].count("own background") == 2
