"""Maps in figures: correct scale, and background lines only for longitude and latitude."""

import numpy as np
import pytest

from dpviz.data.background import read_background
from dpviz.figures.ground import EARTH, OWN, Ground
from dpviz.figures.marks import coded, heatmap
from dpviz.figures.panels import add_maps
from dpviz.figures.theme import BACKGROUND
from dpviz.grid.domain import Domain

EUROPE = Domain(((-10.0, 30.0), (36.0, 60.0)))


def drawn(columns, domain, ground=Ground(), mode="light"):  # noqa: B008 - it is frozen
    layout = {"annotations": [], "coloraxis": {"colorscale": [[0, BACKGROUND[mode]]]}}
    cells = heatmap(np.eye(4, dtype=bool), domain, (domain.highs - domain.lows) / 4,
                    **coded([BACKGROUND[mode], "#123456"]))  # fmt: skip
    maps = [("a", [cells]), ("b", [cells])]
    return layout, add_maps(layout, columns, domain, maps, ground=ground)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_coastlines_are_beneath_cells_that_let_them_through(mode):
    layout, data = drawn(("lon", "lat"), EUROPE, mode=mode)
    assert [one.get("name") for one in data] == [EARTH, None, EARTH, None]
    lines, cells = data[:2]
    assert lines["hoverinfo"] == "skip"
    assert np.isnan(lines["x"]).sum() > 10
    assert cells["zorder"] > lines.get("zorder", 0)
    clear = [colour for _, colour in cells["colorscale"] if colour.startswith("rgba")]
    assert clear
    assert all(colour.endswith(",0)") for colour in clear)
    assert layout["coloraxis"]["colorscale"][0][1].endswith(",0)")


def test_other_columns_have_no_lines_and_their_colours():
    for columns, ground in ((("x", "y"), Ground()), (("lon", "lat"), Ground(earth=False))):
        layout, data = drawn(columns, EUROPE, ground)
        assert [one["type"] for one in data] == ["heatmap", "heatmap"]
        assert data[0]["colorscale"][0][1] == BACKGROUND["light"]
        assert layout["coloraxis"]["colorscale"][0][1] == BACKGROUND["light"]


def test_own_lines_are_drawn_on_any_axes():
    text = b'{"type": "LineString", "coordinates": [[0, 40], [20, 50]]}'
    own = read_background(text, "own.geojson")
    _, data = drawn(("x", "y"), EUROPE, Ground(own=own))
    assert [one.get("name") for one in data] == [OWN, None, OWN, None]
    np.testing.assert_allclose(data[0]["x"], [0, 20])


def test_axes_keep_their_scale_and_stay_linked():
    layout, _ = drawn(("lon", "lat"), EUROPE)
    for panel in ("", "2"):
        up = layout[f"yaxis{panel}"]
        assert up["scaleanchor"] == f"x{panel}"
        assert up["scaleratio"] == pytest.approx(1 / np.cos(np.radians(48)))
        assert up["constrain"] == layout[f"xaxis{panel}"]["constrain"] == "domain"
    assert layout["yaxis2"]["matches"] == "y"
    assert layout["meta"]["shape"] == pytest.approx(24 / 40 / np.cos(np.radians(48)))
    layout, _ = drawn(("lon", "lat"), EUROPE, Ground(axes="free"))
    assert "scaleanchor" not in layout["yaxis"]
    assert layout["meta"]["shape"] is None
