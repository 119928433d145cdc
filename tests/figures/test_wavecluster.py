"""The panels are valid Plotly, have one scale for both runs, and have stable colours."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from dpviz.base.errors import InputError
from dpviz.base.numbers import readable
from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample
from dpviz.figures.raster import MOST_CELLS, Raster
from dpviz.figures.theme import BACKGROUND, CLUSTERS, zero_centred
from dpviz.figures.wavecluster import (
    VIEWS,
    WITH_SUBBANDS,
    WaveClusterPicture,
    cards,
    frame,
    panels,
    views_of,
)
from dpviz.figures.wavecluster.synthetic import MOST_POINTS, THINNEST, explain
from dpviz.grid.counts import quantize
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.methods import METHODS
from dpviz.wavecluster.methods.synopses import SYNOPSES
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth, run


def scene(
    name="spirals",
    grid=40,
    density=0.1,
    epsilon=0.3,
    level=1,
    mode="light",
    seed=0,
    method="privthr",
    synopsis="adaptive_grid",
):
    source = Source.build(load_sample(name), grid)
    config = Config(method=method, density=density, epsilon=epsilon, level=level, synopsis=synopsis)
    truth = Truth(source, config)
    drawn = run(source, config, SeededNoise(seed))
    return WaveClusterPicture(
        truth=truth,
        private=drawn.stages,
        run=drawn,
        raster=Raster.of_source(source),
        columns=("x", "y"),
        mode=mode,
        title="a · b",
    )


def method_with(view):
    """A technique whose runs have a view."""
    return "baseline" if view == "synthetic" else "privthr"


@pytest.mark.some(20)
@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    ("grid", "level"), [(40, 1), (45, 2), (256, 1), (300, 1), ((33, 20), 3), ((5, 64), 1)]
)
def test_every_view_is_valid_plotly_with_words(view, grid, level, mode):
    shown = panels(scene(grid=grid, level=level, mode=mode, method=method_with(view)), view)
    figure = shown.figure()
    assert isinstance(figure, go.Figure)
    assert shown.alt.startswith("a · b")
    for true, private in shown.pairs:
        one, other = figure.data[true], figure.data[private]
        assert np.shape(one.z) == np.shape(other.z)
        assert one.coloraxis == other.coloraxis
        for name in ("x0", "dx", "y0", "dy", "x", "y"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
    for trace in figure.data:
        if trace.type == "heatmap":
            assert max(np.shape(trace.z)) <= MOST_CELLS


def test_heatmaps_stand_where_the_cells_are():
    one = scene()
    shown = panels(one, "average")
    trace = shown.data[0]
    lows, highs = one.domain.lows, one.domain.highs
    n = one.true.average.shape[0]
    assert trace["x0"] == pytest.approx(lows[0] + (highs[0] - lows[0]) / n / 2)
    assert trace["dx"] * n == pytest.approx(highs[0] - lows[0])
    assert np.allclose(trace["z"], one.true.average.T, atol=1e-4)


def test_a_matched_private_cluster_has_the_true_ones_number_and_colour():
    for seed in range(5):
        one = scene(epsilon=5.0, seed=seed)
        true, private = one.numbers
        assert true.tolist() == list(range(one.true.n_clusters + 1))
        assert len(set(private[1:])) == one.private.n_clusters
        for cluster in range(1, one.private.n_clusters + 1):
            inside = one.true.labels[one.private.labels == cluster]
            if private[cluster] <= one.true.n_clusters:
                assert (inside == private[cluster]).any()


def test_codes_of_the_cluster_picture_stay_inside_the_palette():
    one = scene(name="noise", grid=64, density=0.8)
    assert one.private.n_clusters > len(CLUSTERS["light"])
    for trace in panels(one, "clusters").data:
        if trace["type"] == "heatmap" and "zmax" in trace:
            assert np.max(trace["z"]) <= trace["zmax"]


def test_significant_panel_counts_invented_and_missed_cells():
    one = scene(epsilon=0.1)
    shown = panels(one, "significant")
    codes = shown.data[shown.pairs[0][1] - 1]["z"]
    true, private = one.true.significant.T, one.private.significant.T
    assert np.array_equal(codes == 3, true & private)
    assert np.array_equal(codes == 2, private & ~true)
    assert np.array_equal(codes == 1, true & ~private)
    assert f"{int((private & ~true).sum())} are invented" in shown.alt


@pytest.mark.parametrize("view", [v for v in VIEWS if v not in ("threshold", "synthetic")])
@pytest.mark.parametrize(("grid", "level"), [(40, 1), ((33, 21), 2)])
def test_the_table_behind_a_view_holds_its_cells(view, grid, level):
    one = scene(grid=grid, level=level)
    table = frame(one, view)
    cells = one.true.average.size
    if view in ("counts", "added"):
        cells = one.true.counts.size
    elif view == "details":
        cells *= 4**level
    assert len(table) == cells
    for name, bounds in zip("xy", one.domain.bounds, strict=True):
        places = table[name].dropna() if view == "details" else table[name]
        assert places.between(*bounds, inclusive="neither").all()
    if view == "average":
        assert np.allclose(table["true average"], one.true.average.ravel())
    if view == "added":
        noise = one.private.counts - one.true.counts
        assert np.allclose(table["private minus true"], noise.ravel())


@pytest.mark.parametrize("method", [one for one in METHODS if one != "wavecluster"])
def test_only_noisy_counts_are_called_noise(method):
    """The scale of the noise says nothing about counts that the method denoised."""
    one = scene(method=method, grid=20)
    shown = panels(one, "added")
    heading = shown.layout["annotations"][1]["text"]
    (card,) = (card for card in cards(one) if card.name == "noise")
    denoised = method in ("baseline", "twostage")
    assert ("private minus true, denoised" in heading) == denoised
    assert ("added to the counts" in heading) == (not denoised)
    assert (", denoised" in card.fact) == ("own denoising" in card.said) == denoised
    hovers = [trace["hovertemplate"] for trace in shown.data if "hovertemplate" in trace]
    assert any("<br>added " in hover for hover in hovers) == (not denoised)
    if not denoised:
        (scale,) = (spend.scale for spend in one.run.ledger if spend.step == "counts")
        half = np.median(np.abs(one.private.counts - one.true.counts))
        assert half == pytest.approx(np.log(2) * scale, rel=0.15)  # as Laplace noise


@pytest.mark.parametrize("grid", [12, 40])
def test_the_noise_is_private_minus_true_around_zero(grid):
    one = scene(grid=grid)
    shown = panels(one, "added")
    maps = [np.array(one["z"]) for one in shown.data if "texttemplate" not in one]
    noise = one.private.counts - one.true.counts
    np.testing.assert_allclose(maps[0].T, one.true.counts)
    np.testing.assert_allclose(maps[1].T, noise, rtol=1e-5)
    # One colour scale for both sides; zero has the colour of the page.
    scale = shown.layout["coloraxis"]
    assert scale["cmin"] == -scale["cmax"]
    assert [colour for place, colour in scale["colorscale"] if place == 0.5] == ["#ffffff"]
    headings = [text["text"] for text in shown.layout["annotations"]]
    half = readable(float(np.median(np.abs(noise.astype(np.float32)))), 3)
    assert f"half of the cells within ±{half}" in headings[1]
    assert "not released" in headings[1]
    # Small grids have their numbers in the cells.
    assert any("texttemplate" in trace for trace in shown.data) == (grid == 12)


# -- the synopsis and its synthetic points -----------------------------------------------


def drawn(shown, name):
    (trace,) = (one for one in shown.data if one.get("name") == name)
    return np.array([trace["x"], trace["y"]], dtype=float)


def edges_of(one):
    """Ends of the boxes in the units of the data, two arrays of shape (m, 2)."""
    leaves, domain = one.run.leaves, one.domain
    sides = domain.highs - domain.lows
    low = domain.lows + leaves.low * sides
    return low, low + leaves.size * sides


@pytest.mark.parametrize("synopsis", SYNOPSES)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_a_synopsis_is_shown_with_its_boxes_and_points(synopsis, epsilon):
    one = scene("shapes", (33, 21), method="baseline", synopsis=synopsis, epsilon=epsilon)
    shown, leaves = panels(one, "synthetic"), one.run.leaves
    low, high = edges_of(one)
    # The map shows at each place the noisy number of records of the box at this place.
    heat = next(trace for trace in shown.data if "customdata" in trace)
    rows, columns = np.random.default_rng(0).integers(0, MOST_CELLS, (2, 60))
    place = np.column_stack([heat["x0"] + heat["dx"] * columns, heat["y0"] + heat["dy"] * rows])
    near = 1e-9 * (one.domain.highs - one.domain.lows)
    for at, value in zip(place, heat["customdata"][rows, columns], strict=True):
        inside = ((low - near <= at) & (at <= high + near)).all(axis=1)
        assert value in leaves.records[inside].astype(np.float32)
    # Points are those of the counts, in their cells.
    points, counts = drawn(shown, "synthetic points").T, one.private.counts
    assert len(points) == min(MOST_POINTS, counts.sum())
    cells = quantize(points, one.domain, counts.shape)
    assert cells[1] == 0
    assert (cells[0] <= counts).all()
    # The table has all boxes, and they cover the domain once.
    table = frame(one, "synthetic")
    assert np.array_equal(table["private records"], leaves.records)
    areas = (table["x to"] - table["x from"]) * (table["y to"] - table["y from"])
    assert areas.sum() == pytest.approx(np.prod(one.domain.highs - one.domain.lows))
    assert f"{len(table):,} boxes, {counts.sum():,} synthetic points" in shown.alt


@pytest.mark.parametrize("synopsis", SYNOPSES)
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_lines_are_the_borders_of_the_boxes(synopsis, epsilon):
    one = scene("shapes", method="baseline", synopsis=synopsis, epsilon=epsilon)
    wide = one.run.leaves.size.min(axis=1) >= THINNEST
    low, high = (ends[wide] for ends in edges_of(one))
    lines = drawn(panels(one, "synthetic"), "boxes").T.reshape(-1, 3, 2)[:, :2]
    near = 1e-6 * (one.domain.highs - one.domain.lows)
    begin, end = lines.min(axis=1) - near, lines.max(axis=1) + near
    for axis in (0, 1):
        for ends in (low, high):
            for share in (0.01, 0.5, 0.99):
                places = low + share * (high - low)
                places[:, axis] = ends[:, axis]
                on_line = (begin <= places[:, None]) & (places[:, None] <= end)
                assert on_line.all(axis=2).any(axis=1).all()
    # No line crosses a box.
    for share in (0.005, 0.123, 0.5, 0.877, 0.995):
        places = (lines[:, 0] + share * (lines[:, 1] - lines[:, 0]))[:, None]
        assert not ((low + near < places) & (places < high - near)).all(axis=2).any()


def test_the_words_say_what_is_left_out():
    tiny = scene("tiny8", 8, method="baseline", epsilon=20.0)
    light, dark = (one["text"] for one in panels(tiny, "synthetic").data if "texttemplate" in one)
    written = np.char.strip(np.char.add(light, dark))
    assert np.array_equal(written.astype(int), tiny.true.counts.T)
    few = explain(tiny)
    assert "synthetic points are drawn" not in few
    assert "outline" not in few
    one = scene("shapes", method="baseline", epsilon=20.0)
    many, sizes = explain(one), one.run.leaves.size
    assert f"2,000 of {one.private.counts.sum():,} synthetic points are drawn." in many
    thin = (sizes.min(axis=1) < THINNEST).sum()
    assert f"{thin:,} of {len(sizes):,} boxes have no outline" in many


def test_only_a_run_with_a_synopsis_has_synthetic_points():
    assert "synthetic" in views_of(scene(method="baseline").run)
    assert "synthetic" not in views_of(scene().run)
    for show in (panels, frame):
        with pytest.raises(InputError, match="only runs of Baseline have them"):
            show(scene(), "synthetic")


def test_boxes_turn_with_their_columns():
    one = scene(grid=(33, 21), method="baseline")
    turned = one.run.turned()
    assert np.array_equal(turned.leaves.low, one.run.leaves.low[:, ::-1])
    assert np.array_equal(turned.leaves.size, one.run.leaves.size[:, ::-1])
    assert np.array_equal(turned.stages.counts, one.private.counts.T)


def test_a_synopsis_without_positive_counts_has_no_points():
    one = scene(method="baseline")
    empty = replace(one, private=replace(one.private, counts=0 * one.private.counts))
    assert drawn(panels(empty, "synthetic"), "synthetic points").size == 0


# -- the mosaic of the subbands ----------------------------------------------------------


def bands_of(shown, panel=""):
    return {
        trace["hovertemplate"].partition("<b>")[2].partition(" ")[0]: trace
        for trace in shown.data
        if trace["type"] == "heatmap" and trace["xaxis"] == f"x{panel}"
    }


@pytest.mark.parametrize(("grid", "level"), [(40, 1), ((33, 20), 3), (24, 2)])
def test_the_mosaic_nests_all_bands_without_gap_or_overlap(grid, level):
    one = scene(grid=grid, level=level)
    shown = panels(one, "details")
    for panel, stages in (("", one.true), ("2", one.private)):
        bands = bands_of(shown, panel)
        details = [f"{name}{at}" for at in range(1, level + 1) for name in ("LH", "HL", "HH")]
        assert set(bands) == {f"LL{level}", *details}
        padded = tuple(side * 2**level for side in stages.average.shape)
        covered = np.zeros(padded, dtype=int)
        for trace in bands.values():
            rows, columns = np.shape(trace["z"])
            # Every coefficient has the same size, one cell of the padded grid.
            assert (trace["dx"], trace["dy"]) == pytest.approx((1 / padded[0], 1 / padded[1]))
            x = round((trace["x0"] - trace["dx"] / 2) * padded[0])
            y = round((trace["y0"] - trace["dy"] / 2) * padded[1])
            covered[x : x + columns, y : y + rows] += 1
        assert (covered == 1).all()
        assert bands[f"LL{level}"]["x0"] < 1 / padded[0]
        assert np.allclose(bands[f"LL{level}"]["z"], stages.average.T, atol=1e-3)
        # Differences along the second axis are at the top; along the first axis, on the right.
        for at in range(1, level + 1):
            assert bands[f"LH{at}"]["x0"] < 0.5**at < bands[f"LH{at}"]["y0"]
            assert bands[f"HL{at}"]["y0"] < 0.5**at < bands[f"HL{at}"]["x0"]
            assert np.allclose(bands[f"LH{at}"]["z"], stages.details[at - 1]["ad"].T, atol=1e-3)


def test_all_details_share_one_symmetric_scale_and_the_average_has_its_own():
    one = scene(level=3)
    shown = panels(one, "details")
    for panel in ("", "2"):
        bands = bands_of(shown, panel)
        average = bands.pop("LL3")
        (scale,) = {trace["coloraxis"] for trace in bands.values()}
        assert scale != average["coloraxis"]
        assert shown.layout[scale]["cmin"] == -shown.layout[scale]["cmax"] < 0
    alone = panels(one, "average").layout["coloraxis"]
    mine = shown.layout[average["coloraxis"]]
    for end in ("cmin", "cmax"):
        assert mine[end] == pytest.approx(alone[end], rel=1e-5)
    for axis in (scale, average["coloraxis"]):
        assert shown.layout[axis]["showscale"]
        assert shown.layout[axis]["colorbar"]["title"]["text"]


@pytest.mark.parametrize("view", ["details", "overview"])
def test_a_mosaic_has_linked_axes_of_its_own(view):
    shown = panels(scene(level=2), view)
    axes = {trace["xaxis"] for trace in shown.data if trace.get("meta")}
    first, second = sorted(axes, key=lambda name: int(name[1:] or 1))
    for axis in "xy":
        one, other = (shown.layout[f"{axis}axis{name[1:]}"] for name in (first, second))
        assert one["range"] == other["range"] == [0, 1]
        assert one["uirevision"] == other["uirevision"] == "subbands"
        assert other["matches"] == axis + first[1:]
        sizes = {np.ptp(part["domain"]).round(9) for part in (one, other)}
        assert len(sizes) == 1


def test_hover_over_the_mosaic_names_band_level_and_the_interval_of_both_axes():
    one = scene(grid=(33, 20), level=3)
    trace = bands_of(panels(one, "details"))["HL2"]
    assert "HL2 · V, vertical edges" in trace["hovertemplate"]
    assert "level 2" in trace["hovertemplate"]
    (low, high), cells = one.domain.bounds[0], trace["meta"]["across"]
    width = (high - low) / 33
    assert len(cells) == 10  # 33 cells are padded to 40
    assert cells[0] == f"x {low:,.7g} to {low + 4 * width:,.7g}"
    assert cells[8] == f"x {low + 32 * width:,.7g} to {high:,.7g}"
    assert cells[9] == "x beyond the domain (padding)"
    figure = panels(one, "details").figure()
    (drawn,) = (
        one for one in figure.data if "HL2" in (one.hovertemplate or "") and one.xaxis == "x"
    )
    (private,) = (
        one for one in figure.data if "HL2" in (one.hovertemplate or "") and one.xaxis == "x2"
    )
    other, error, across, up = drawn.customdata[1][3]
    assert other == private.z[1][3]
    assert error == pytest.approx(private.z[1][3] - drawn.z[1][3])
    assert (across, up) == (cells[3], trace["meta"]["up"][1])


@pytest.mark.parametrize("level", [1, 3, 5, 6])
def test_every_band_has_a_label_or_its_level_stands_in_the_heading(level):
    shown = panels(scene(grid=64, level=level), "details")
    heading = shown.layout["annotations"][0]["text"]
    (labels,) = (one for one in shown.data if one.get("mode") == "text" and one["xaxis"] == "x")
    named = {text.partition("<b>")[2].partition("</b>")[0] for text in labels["text"]}
    unnamed = set(bands_of(shown)) - named
    assert bool(unnamed) == (level > 4) == ("in the corner" in heading)
    assert {5: "LL5, level 5", 6: "LL6, levels 5 to 6"}.get(level, "level") in heading
    assert {int(name[2:]) for name in unnamed} == set(range(5, level + 1))
    for title in ("LH1</b> · H, horizontal", "HL1</b> · V, vertical", "HH1</b> · D, diagonal"):
        assert any(title in text for text in labels["text"])


def test_the_table_of_all_subbands_has_band_and_level():
    one = scene(grid=(33, 20), level=3)
    table = frame(one, "details")
    assert list(table)[:4] == ["band", "level", "x", "y"]
    assert set(table["band"]) == set(bands_of(panels(one, "details")))
    part = table[table["band"] == "HH2"]
    assert set(part["level"]) == {2}
    assert np.array_equal(part["private coefficient"], one.private.details[1]["dd"].ravel())
    assert part["x"].isna().sum() == 6  # a column of cells outside the domain


def test_details_are_computed_only_for_the_views_that_show_them():
    for view in VIEWS:
        one = scene(method=method_with(view))
        panels(one, view)
        assert ("details" in vars(one.private)) == (view in WITH_SUBBANDS)


@pytest.mark.parametrize("view", ["average", "significant", "clusters", "counts"])
def test_last_blocks_of_odd_grids_end_with_the_domain(view):
    one = scene(grid=(33, 21), level=3)
    for trace in panels(one, view).data:
        if trace["type"] == "heatmap":
            for axis, name in enumerate("xy"):
                low, high = one.domain.bounds[axis]
                cells = np.shape(trace["z"])[1 - axis]
                if name in trace:
                    assert (trace[name][0], trace[name][-1]) == (low, high)
                    assert len(trace[name]) == cells + 1
                    assert (np.diff(trace[name]) > 0).all()
                else:
                    start = trace[f"{name}0"] - trace[f"d{name}"] / 2
                    assert start == pytest.approx(low)
                    assert start + cells * trace[f"d{name}"] == pytest.approx(high)
        elif len(trace["x"]):
            assert np.min(trace["x"]) > one.domain.lows[0]
            assert np.max(trace["x"]) < one.domain.highs[0]


def numbers_in(shown, domain):
    """Texts in the cells of each panel as {(column, row): text}, and their colour."""
    found = {}
    for trace in shown.data:
        if "texttemplate" in trace:
            panel = found.setdefault(trace["xaxis"], {})
            for row, texts in enumerate(trace["text"]):
                for column, text in enumerate(texts):
                    if text.strip():
                        assert (column, row) not in panel
                        panel[column, row] = text, trace["textfont"]["color"]
    return found


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", ["tiny4", "tiny8"])
@pytest.mark.parametrize("view", ["counts", "average", "significant"])
def test_numbers_stand_in_the_cells_of_a_small_grid(view, name, mode):
    one = scene(name, int(name[-1]), 0.4, epsilon=2.0, mode=mode)
    found = numbers_in(panels(one, view), one.domain)
    for panel, stages in zip(("x", "x2"), one.stages, strict=True):
        band = stages.counts if view == "counts" else stages.average
        assert len(found[panel]) == band.size
        for place, (text, _) in found[panel].items():
            value = float(text.replace("−", "-"))
            assert value == (band[place] if panel == "x" else pytest.approx(band[place], abs=0.051))
            assert text != "−0.0"
            # True numbers are integers; private numbers have one or two decimals.
            assert len(text.partition(".")[2]) in ((0,) if panel == "x" else (1, 2))


def test_a_stage_among_several_has_numbers_while_they_can_be_read():
    shown = numbers_in(panels(scene("tiny8", 8, 0.4), "overview"), None)
    assert {len(cells) for cells in shown.values()} == {64, 16}
    assert len(shown) == 6  # all panels except the clusters, which show cluster numbers
    shown = numbers_in(panels(scene("tiny8", 16, 0.4), "overview"), None)
    assert [len(cells) for cells in shown.values()] == [64] * 4  # only the subbands


@pytest.mark.parametrize("level", [1, 2, 3])
def test_every_coefficient_of_a_small_mosaic_has_its_number(level):
    one = scene("tiny8", 8, 0.4, level=level)
    found = {}
    for trace in panels(one, "details").data:
        if "texttemplate" in trace and trace["xaxis"] == "x":
            for (row, column), text in np.ndenumerate(np.array(trace["text"])):
                if text.strip():
                    x, y = (
                        trace[f"{a}0"] + at * trace[f"d{a}"]
                        for a, at in (("x", column), ("y", row))
                    )
                    place = round(x * 8 - 0.5), round(y * 8 - 0.5)
                    assert place not in found
                    found[place] = float(text.replace("−", "-"))
    side = 8 // 2**level
    assert len(found) == 64
    for x, y in np.ndindex(side, side):
        assert found[x, y] == pytest.approx(one.true.average[x, y], abs=0.051)
        value = one.true.details[level - 1]["da"][x, y]
        assert found[x + side, y] == pytest.approx(value, abs=0.051)
    assert not any("texttemplate" in one for one in panels(scene("tiny8", 9, 0.4), "details").data)


@pytest.mark.parametrize(("grid", "view"), [(18, "counts"), (34, "average"), (34, "significant")])
def test_larger_grids_have_no_numbers(grid, view):
    assert not numbers_in(panels(scene("tiny8", grid, 0.4), view), None)
    assert numbers_in(panels(scene("tiny8", grid - 2, 0.4), view), None)


def test_marks_of_invented_cells_leave_the_number_free():
    one = scene("tiny8", 8, 0.4, epsilon=0.1)
    width = one.width(1)
    marks = [trace for trace in panels(one, "significant").data if trace.get("mode") == "markers"]
    for trace, mask in zip(
        marks,
        (
            one.private.significant & ~one.true.significant,
            one.true.significant & ~one.private.significant,
        ),
        strict=True,
    ):
        x, y = np.nonzero(mask)
        assert np.allclose((trace["x"] / width[0] - x, trace["y"] / width[1] - y), [[0.1], [0.86]])
    (mark, _) = [
        trace for trace in panels(scene(epsilon=0.1), "significant").data if "marker" in trace
    ]
    assert mark["x"].size


def test_zero_is_the_background_on_a_zero_centred_scale():
    for mode in ("light", "dark"):
        scale = zero_centred(-4, 10, mode)
        places = [place for place, _ in scale]
        assert places == sorted(places)
        assert (places[0], places[-1]) == (0, 1)
        assert dict(scale)[round(4 / 14, 6)] == BACKGROUND[mode]


def test_three_columns_can_not_be_drawn():
    points = np.random.default_rng(0).random((50, 3))
    source = Source.build(Dataset(name="three", points=points), 8)
    truth = Truth(source, Config())
    with pytest.raises(InputError, match="two columns"):
        WaveClusterPicture(
            truth=truth, private=truth.stages, raster=Raster.of_source(source), columns="abc"
        )


def test_hover_and_table_tell_the_numbers_that_are_drawn():
    one = scene(epsilon=0.5, seed=3)
    shown = panels(one, "clusters")
    true, private = (shown.data[index]["z"] for index in shown.pairs[0])
    numbers = one.numbers
    assert np.array_equal(true, numbers[0][one.true.labels].T)
    assert np.array_equal(private, numbers[1][one.private.labels].T)
    table = frame(one, "clusters")
    assert np.array_equal(table["private cluster"], numbers[1][one.private.labels].ravel())


def test_no_filled_cell_of_a_large_grid_vanishes():
    counts = np.zeros((600, 600), dtype=np.int64)
    spots = np.random.default_rng(0).choice(300, (40, 2), replace=True) * 2
    counts[spots[:, 0], spots[:, 1]] = 5
    source = Source.build(Dataset(name="sparse", counts=counts), 600)
    truth = Truth(source, Config(density=0.5))
    one = WaveClusterPicture(
        truth=truth, private=truth.stages, raster=Raster.of_source(source), columns=("x", "y")
    )
    codes = panels(one, "clusters").data[0]["z"]
    assert max(codes.shape) <= MOST_CELLS
    x, y = np.nonzero(counts)
    assert (codes[y // 3, x // 3] % 3 > 0).all()
    mask = panels(one, "significant").data[0]["z"]
    x, y = np.nonzero(truth.stages.significant)
    step = -(-300 // MOST_CELLS)
    assert (mask[y // step, x // step] > 0).all()
