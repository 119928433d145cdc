"""The panels: valid Plotly, true and private on one scale, colours that don't jump."""

import numpy as np
import plotly.graph_objects as go
import pytest

from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample
from dpviz.engine.raster import MOST_CELLS, Raster
from dpviz.errors import InputError
from dpviz.figures.theme import BACKGROUND, CLUSTERS, zero_centred
from dpviz.figures.wavecluster import VIEWS, WaveClusterPicture, frame, panels
from dpviz.noise_source import SeededNoise
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth, run


def scene(name="spirals", grid=40, density=0.1, epsilon=0.3, level=1, mode="light", seed=0):
    source = Source.build(load_sample(name), grid)
    config = Config(method="privthr", density=density, epsilon=epsilon, level=level)
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


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("grid", "level"), [(40, 1), (45, 2), (256, 1), (300, 1)])
def test_every_view_is_valid_plotly_with_words(view, grid, level, mode):
    shown = panels(scene(grid=grid, level=level, mode=mode), view)
    figure = shown.figure()
    assert isinstance(figure, go.Figure)
    assert shown.alt.startswith("a · b")
    for true, private in shown.pairs:
        one, other = figure.data[true], figure.data[private]
        assert np.shape(one.z) == np.shape(other.z)
        assert one.coloraxis == other.coloraxis
        assert (one.x0, one.dx, one.y0, one.dy) == (other.x0, other.dx, other.y0, other.dy)
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


@pytest.mark.parametrize("view", [view for view in VIEWS if view != "threshold"])
def test_the_table_behind_a_view_holds_its_cells(view):
    one = scene()
    table = frame(one, view)
    assert len(table) == (one.true.counts.size if view == "counts" else one.true.average.size)
    assert table["x"].between(*one.domain.bounds[0]).all()
    if view == "average":
        assert np.allclose(table["true average"], one.true.average.ravel())


def numbers_in(shown, domain):
    """Texts in the cells of each panel, as {(column, row): text}, and their ink."""
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
            # Whole true numbers, private ones with one or two decimals.
            assert len(text.partition(".")[2]) in ((0,) if panel == "x" else (1, 2))


def test_a_stage_among_several_has_numbers_while_they_can_be_read():
    shown = numbers_in(panels(scene("tiny8", 8, 0.4), "overview"), None)
    assert {len(cells) for cells in shown.values()} == {64, 16}
    assert len(shown) == 6  # all but the clusters, which have numbers of their own
    shown = numbers_in(panels(scene("tiny8", 16, 0.4), "overview"), None)
    assert [len(cells) for cells in shown.values()] == [64] * 4  # the subbands alone
    shown = numbers_in(panels(scene("tiny8", 8, 0.4), "details"), None)
    assert [len(cells) for cells in shown.values()] == [16] * 6


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
