"""Maps as SVG show the same squares, marks and words as the figure of the screen."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from dpviz.figures import kmeans, marks, wavecluster
from dpviz.figures.panels import Panels, add_maps
from dpviz.figures.svg import can_draw, svg
from dpviz.figures.theme import BACKGROUND, CLUSTERS, INK
from dpviz.grid.domain import Domain
from tests.figures.test_kmeans import scene as of_centres
from tests.figures.test_wavecluster import scene
from tests.support.tiers import examples

SVG = "{http://www.w3.org/2000/svg}"
DOMAIN = Domain(((10.0, 30.0), (-5.0, 5.0)))
COLOURS = ["#ffffff", "#102030", "rgba(64,128,255,0.5)", "#ff0000"]
CHANNELS = np.array(
    [[255, 255, 255, 255], [16, 32, 48, 255], [64, 128, 255, 128], [255, 0, 0, 255]]
)


def maps_of(picture: str) -> list[ElementTree.Element]:
    """Maps of a picture, from left to right."""
    whole = ElementTree.fromstring(picture)
    return whole.find(f"{SVG}svg").findall(f"{SVG}svg")  # type: ignore[union-attr]


def image_of(part: ElementTree.Element) -> tuple[Any, np.ndarray]:
    """The first image of a map: its attributes, and the colours of its cells (up, right, 4)."""
    image = next(part.iter(f"{SVG}image"))
    data = base64.b64decode(image.attrib["href"].partition(",")[2])
    return image.attrib, np.array(Image.open(BytesIO(data)).convert("RGBA"))[::-1]


def shares_of(part: ElementTree.Element, kind: str) -> np.ndarray:
    """Places of the parts of a kind, as shares of a map; the second share is upwards."""
    found = [one for one in part.iter(SVG + kind) if "%" in one.get("y", "")]
    places = [[float(one.attrib[name].rstrip("%")) / 100 for name in "xy"] for one in found]
    return np.abs(np.array(places) - [0, 1])


def panels_of(*maps: list[marks.Trace], columns: tuple[str, str] = ("x", "y")) -> Panels:
    layout = marks.base_layout("title", (48, 12, 46, 38))
    headings = [("<b>true</b> · 2", maps[0]), ("right", maps[1])]
    return Panels(data=add_maps(layout, columns, DOMAIN, headings), layout=layout, alt="Two maps")


@given(arrays(np.uint8, (7, 5), elements=st.integers(0, 3)), st.booleans())
@examples(60)
def test_each_cell_has_its_colour_and_its_place(codes: np.ndarray, beyond: bool) -> None:
    # Cells of two seventh more than the domain are cut at its end.
    width = np.array([20.0, 10.0]) / (codes.shape[0] - 2 * beyond, codes.shape[1])
    trace = marks.heatmap(codes, DOMAIN, width, **marks.coded(COLOURS))
    panels = panels_of([trace], [{**trace, "opacity": 0}])
    assert can_draw(panels)
    left, right = maps_of(svg(panels, "light"))
    at, colours = image_of(left)
    assert np.array_equal(colours, CHANNELS[codes.T])
    assert float(at["x"]) == float(at["y"]) == 0
    assert float(at["width"]) == pytest.approx(codes.shape[0] / (codes.shape[0] - 2 * beyond))
    assert float(at["height"]) == pytest.approx(1)
    assert not list(right.iter(f"{SVG}image"))


def test_marks_numbers_and_headings_are_those_of_the_figure() -> None:
    x, y = np.array([12.0, np.nan, 30.0]), np.array([-5.0, np.nan, 2.5])
    line = {"color": "#123456", "width": 2, "dash": "4px,3px"}
    drawn = [
        marks.scatter("lines", np.array([10, 20, np.nan, 30, 10]), np.array([-5, 0, np.nan, 5, 5]),
                      line=line, opacity=0.5),
        marks.scatter("markers+text", x, y, text=["<b>1</b>", "", "<b><s>2</s></b>"],
                      textposition=["top right", "middle center", "bottom left"],
                      textfont=marks.number_font("light"),
                      marker=marks.marker(8, "#000000", ["circle", "circle", "square"])),
    ]  # fmt: skip
    left, right = maps_of(svg(panels_of(drawn, []), "light"))
    (path,) = (one for one in left.iter(f"{SVG}path") if one.get("stroke") == "#123456")
    assert path.get("d") == "M0 1L0.5 0.5M1 0L0 0"
    assert (path.get("stroke-dasharray"), path.get("opacity")) == ("4,3", "0.5")
    assert len(list(left.iter(f"{SVG}circle"))) == 1
    words = [(one.get("text-anchor"), "".join(one.itertext())) for one in left.iter(f"{SVG}text")]
    assert words[0] == (None, "true · 2")
    assert ("start", "1") in words
    assert ("end", "2") in words
    assert "line-through" in ElementTree.tostring(left, encoding="unicode")
    np.testing.assert_allclose(shares_of(left, "svg"), [[0.1, 0], [1, 0.75]], atol=1e-9)
    assert [*map("".join, (one.itertext() for one in right.iter(f"{SVG}text")))] == ["right"]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_explorers_have_the_clusters_of_the_screen(mode: Any) -> None:
    cells, centres = replace(scene(), mode=mode), replace(of_centres(), mode=mode)
    for module, picture in ((wavecluster, cells), (kmeans, centres)):
        panels = module.panels(picture, next(iter(module.VIEWS)))
        assert can_draw(panels)
        left, right = maps_of(svg(panels, mode, 380))
        for part, axis in ((left, "x"), (right, "x2")):
            traces = [
                one for one in panels.data if one["xaxis"] == axis and "text" in one.get("mode", "")
            ]
            texts = [re.sub("<[^>]*>", "", text) for one in traces for text in one["text"]]
            found = ["".join(one.itertext()) for one in part.iter(f"{SVG}text")]
            assert found[1:] == texts
            places = np.column_stack(
                [np.concatenate([one[name] for one in traces]) for name in "xy"]
            )
            ends = np.array([panels.layout[f"{name}axis"]["range"] for name in "xy"])
            shares = (places - ends[:, 0]) / (ends[:, 1] - ends[:, 0])
            np.testing.assert_allclose(shares_of(part, "text"), shares, atol=6e-5)
        whole = svg(panels, mode, 380)
        assert INK[mode] in whole
        assert BACKGROUND[mode] in whole
    # The true side has the colours of its clusters.
    _, colours = image_of(maps_of(svg(wavecluster.panels(cells, "clusters"), mode))[0])
    assert {bytes.fromhex(one[1:]) for one in CLUSTERS[mode][: cells.true.n_clusters]} & {
        bytes(one[:3]) for one in colours.reshape(-1, 4)
    }


def test_outside_text_is_not_markup() -> None:
    picture = replace(scene(), private_title=marks.literal('<script>"&'), title="<i>")
    panels = wavecluster.panels(picture, "clusters")
    right = maps_of(svg(panels, "light"))[1]
    assert "".join(next(right.iter(f"{SVG}text")).itertext()).startswith('<script>"&')


def test_other_figures_are_not_drawn() -> None:
    drawn = {view: can_draw(wavecluster.panels(scene(), view)) for view in ("clusters", "details")}
    assert drawn == {"clusters": True, "details": False}
    assert not can_draw(wavecluster.panels(scene(), "counts"))  # it has a colour bar
    assert not can_draw(wavecluster.panels(scene(), "overview"))
    several = {**panels_of([], []).layout, "xaxis3": {}}  # as with three epsilons
    assert not can_draw(Panels(data=[], layout=several))


def test_one_map_alone_has_half_of_the_width() -> None:
    panels = panels_of([], [])
    for shown, width in (((1, 2), 778), ((1,), 380)):
        whole = ElementTree.fromstring(svg(panels, "light", 380, shown))
        assert float(whole.attrib["width"]) == width
        assert len(maps_of(svg(panels, "light", 380, shown))) == len(shown)
