"""The panels of the k-means explorer show exactly the run."""

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import plotly.graph_objects as go
import pytest

from dpviz.base.errors import InputError
from dpviz.base.lru import LRUCache
from dpviz.base.numbers import readable
from dpviz.data.dataset import Dataset
from dpviz.figures.kmeans import KMeansPicture, frame, iterations, panels, views_of
from dpviz.figures.marks import OVERLAY
from dpviz.figures.raster import MOST_CELLS, RecordRaster
from dpviz.figures.theme import BACKGROUND, CLUSTERS, INK
from dpviz.grid.domain import Domain
from dpviz.kmeans.family import FAMILY
from dpviz.kmeans.headline import placed
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.methods.mcmc import STEPS
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import canonical
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.privacy.noise_source import SeededNoise, Silenced
from dpviz.ui.widgets.live_figure import encode

WITH_PATH = tuple(name for name, one in KMEANS.items() if one.card.parameter("start"))

#: Sound methods that release a noisy grid with their default start.
WITH_GRID = ("dpkmeanspp", "dpkmeansup", "contour", "eugkm", "hybrid", "dprefine")
NAMES = ("east", "north", "height", "age", "weight")
PAIRS = [(2, (0, 1)), (2, (1, 0)), (3, (0, 2)), (3, (1, 0)), (5, (4, 2))]


@cache
def truth_of(ndim=2, clusters=4):
    """Blobs on a domain with different bounds on each axis, and their true clustering."""
    rng = np.random.default_rng(ndim)
    lows = np.array([-100.0, 0.0, 5.0, -1.0, 1000.0])[:ndim]
    widths = np.array([200.0, 10.0, 1.0, 4.0, 3000.0])[:ndim]
    places = rng.uniform(0.15, 0.85, (clusters, ndim))
    unit = np.clip(np.concatenate([rng.normal(place, 0.06, (90, ndim)) for place in places]), 0, 1)
    bounds = tuple((low, low + width) for low, width in zip(lows, widths, strict=True))
    points = lows + unit * widths
    records = Records.build(Dataset(name="blobs", points=points, domain=Domain(bounds)))
    return KMeansTruth(records, clusters)


@cache
def run_of(method, ndim=2, clusters=4, seed=0, silent=False, **choices):
    truth, noise = truth_of(ndim, clusters), SeededNoise(seed)
    config = KMeansConfig(method=method, clusters=clusters, **choices)
    noise = Silenced(noise) if silent else noise
    return truth.numbered(run_kmeans(truth.records, config, noise))


def scene(method="dplloyd", ndim=2, axes=(0, 1), clusters=4, silent=False, **more):
    """Picture of a run; further options go into the run's configuration."""
    looks = ("step", "mode", "title", "with_points")
    shown = {name: more.pop(name) for name in looks if name in more}
    truth, run = truth_of(ndim, clusters), run_of(method, ndim, clusters, **more)
    return KMeansPicture(
        truth=truth,
        left=run_of(method, ndim, clusters, silent=True, **more) if silent else truth.run,
        private=run,
        raster=RecordRaster.of_records(truth.records.points, truth.records.domain, axes),
        columns=NAMES[:ndim],
        left_title=f"{method} without noise" if silent else "true",
        private_title=method,
        **{"title": "a · b", **shown},
    )


def panel(shown, number):
    axis = "x" if number == 1 else f"x{number}"
    kinds = {
        "heatmap": "ground", "lines+markers": "paths", "markers+text": "centres",
        "circle-open": "starts", "cross-thin": "true",
    }  # fmt: skip
    traces = {}
    for trace in shown.data:
        if trace["xaxis"] == axis:
            kind = trace.get("mode", trace["type"])
            kind = trace["marker"]["symbol"] if kind == "markers" else kind
            if kind == "lines" or (kind == "text" and "name" not in trace):
                continue  # marks of what the noise did, see test_damage.py
            traces[trace.get("name") if kind == "text" else kinds[kind]] = trace
    return traces


def overlays(shown):
    """Traces of the private panel that come from true data, by their kind."""
    traces = {}
    for trace in shown.data:
        if trace["xaxis"] == "x2":
            if trace.get("name") == OVERLAY:
                traces["points"] = trace
            elif trace.get("marker", {}).get("symbol") == "cross-thin":
                traces["centres"] = trace
    return traces


def places(trace):
    return np.column_stack([trace["x"], trace["y"]])


def headings(shown):
    return [re.sub("<.*?>", "", one["text"]) for one in shown.layout["annotations"]]


def unit(one, points):
    domain = one.truth.records.domain
    return (points - domain.lows) / (domain.highs - domain.lows)


def by_hand(one, points, centers):
    """Nearest centre of each point, and the extra distance to the second nearest centre."""
    apart = ((unit(one, points)[:, None] - unit(one, centers)[None]) ** 2).sum(axis=2)
    two = np.sort(np.column_stack([apart, np.full(len(points), np.inf)]), axis=1)[:, :2]
    return apart.argmin(axis=1), two[:, 1] - two[:, 0]


def in_browser(shown):
    """Data as the browser gets them; JSON has no NaN and no Infinity."""

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    payload = encode(shown.spec(), {"alt": shown.alt})
    length = int.from_bytes(payload[:4], "little")
    return json.loads(payload[4 : 4 + length], parse_constant=refuse)


# ---- all views


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("method", KMEANS)
def test_every_view_is_valid_plotly_with_words(method, mode):
    one = scene(method, mode=mode)
    # Only a Markov chain has the parameter temperature.
    chains = KMEANS[method].card.parameter("temperature") is not None
    assert ("chain" in views_of(one.private)) == chains
    assert ("grid" in views_of(one.private)) == (method in WITH_GRID)
    assert ("iterations" in views_of(one.private)) == (method in WITH_PATH)
    for view in views_of(one.private):
        shown = panels(one, view)
        figure = shown.figure()
        assert isinstance(figure, go.Figure)
        assert shown.alt.startswith("a · b. ")
        assert shown.alt.endswith(".")
        for trace in figure.data:
            assert f"xaxis{trace.xaxis[1:]}" in shown.layout
            if trace.type == "heatmap" and view not in ("grid", "records"):
                assert np.shape(trace.z) == (MOST_CELLS, MOST_CELLS)
                assert np.max(trace.z) <= trace.zmax
        assert all(
            f"xaxis{one['xref'][1:-7]}" in shown.layout for one in shown.layout["annotations"]
        )
        assert len(in_browser(shown)["figure"]["data"]) == len(shown.data)


@pytest.mark.parametrize("points", [False, True])
def test_no_record_is_on_the_private_side_unless_the_user_asks(points):
    one = replace(scene("dplloyd"), with_points=points)
    shown = panels(one, "records")
    left, right = (
        [trace for trace in shown.data if trace["xaxis"] == axis and trace["type"] == "heatmap"]
        for axis in ("x", "x2")
    )
    filled = np.array(left[0]["z"]).T > 0
    np.testing.assert_array_equal(filled, one.raster.counts > 0)
    assert not np.array(right[0]["z"]).any()
    assert len(right) == 1 + points
    heading = shown.layout["annotations"][1]["text"]
    assert "no record is released" in heading
    assert (OVERLAY in heading) == points
    table = frame(one, "records")
    assert table["true records"].sum() == one.truth.records.n
    assert (table["true records"] > 0).all()


@pytest.mark.parametrize(("ndim", "axes"), PAIRS)
@pytest.mark.parametrize("method", ["kmeans", "mcmc", "eugkm"])
def test_any_two_of_many_columns_can_be_shown(method, ndim, axes):
    one = scene(method, ndim, axes)
    for view in views_of(one.private):
        shown = panels(one, view)
        assert isinstance(shown.figure(), go.Figure)
        if view not in ("iterations", "noise"):
            for axis, column in zip("xy", axes, strict=True):
                described = shown.layout[f"{axis}axis"]
                assert described["title"]["text"] == NAMES[column]
                assert described["range"] == list(one.truth.records.domain.bounds[column])
            others = [name for name in shown.layout if re.fullmatch("[xy]axis2", name)]
            assert all(shown.layout[name]["matches"] == name[0] for name in others)
        assert len(in_browser(shown)["figure"]["data"]) == len(shown.data)


def test_modes_differ_in_ink_and_ground():
    for mode in ("light", "dark"):
        marks = panel(panels(scene(mode=mode), "regions"), 1)["centres"]
        assert marks["marker"]["color"] == INK[mode]
        assert marks["marker"]["line"]["color"] == BACKGROUND[mode]
        assert marks["textfont"]["color"] == INK[mode]
    scales = [panel(panels(scene(mode=mode), "regions"), 2)["ground"]["colorscale"] for mode in INK]
    assert scales[0][0][1] == BACKGROUND["light"]
    assert scales[1][0][1] == BACKGROUND["dark"]
    bars = [panels(scene(mode=mode), "noise").data[0]["marker"]["color"] for mode in INK]
    assert bars[0] != bars[1]


# ---- regions


@pytest.mark.parametrize("axes", [(0, 1), (1, 0)])
@pytest.mark.parametrize("clusters", [1, 4, 14])
def test_every_cell_bears_the_colour_of_its_nearest_centre(axes, clusters):
    one = scene(axes=axes, clusters=clusters, epsilon=5.0)
    shown = panels(one, "regions")
    for number, centers in ((1, one.truth.centers), (2, one.private.centers)):
        trace = panel(shown, number)["ground"]
        across = trace["x0"] + trace["dx"] * np.arange(MOST_CELLS)
        up = trace["y0"] + trace["dy"] * np.arange(MOST_CELLS)
        cells = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
        cells = cells if axes == (0, 1) else cells[:, ::-1]
        domain = one.truth.records.domain
        assert domain.contains(cells).all()
        codes = trace["z"].ravel()
        nearest, margin = by_hand(one, cells, centers)
        sure = margin > 1e-9
        assert sure.mean() > 0.99
        palette = len(CLUSTERS["light"])
        colours = (one.numbers_of(centers)[nearest] - 1) % palette + 1
        assert np.array_equal((codes // 3)[sure], colours[sure])


def test_the_ground_tells_where_there_are_few_and_many_records():
    one = scene(axes=(1, 0))
    domain, points = one.truth.records.domain, one.truth.records.points
    counts, _, _ = np.histogram2d(
        points[:, 1], points[:, 0], bins=MOST_CELLS, range=(domain.bounds[1], domain.bounds[0])
    )
    shade = panel(panels(one, "regions"), 1)["ground"]["z"].T % 3
    assert np.array_equal(shade > 0, counts > 0)
    many = counts > max(1, np.median(counts[counts > 0]))
    assert many.any()
    assert np.array_equal(shade == 2, many)


@pytest.mark.parametrize(("ndim", "axes"), [pair for pair in PAIRS if pair[0] > 2])
def test_with_more_columns_a_cell_shows_the_cluster_of_one_of_its_records(ndim, axes):
    one = scene("dplloyd", ndim, axes, epsilon=3.0)
    shown, domain = panels(one, "regions"), one.truth.records.domain
    points = one.truth.records.points
    edges = [np.linspace(*domain.bounds[axis], MOST_CELLS + 1) for axis in axes]
    at = [
        np.clip(np.searchsorted(edge, points[:, axis], "right") - 1, 0, MOST_CELLS - 1)
        for edge, axis in zip(edges, axes, strict=True)
    ]
    codes = panel(shown, 1)["ground"]["z"].T // 3
    labels, _ = by_hand(one, points, one.truth.centers)
    filled = np.zeros(codes.shape, dtype=bool)
    filled[at[0], at[1]] = True
    assert np.array_equal(codes > 0, filled)
    for i, j in zip(*np.nonzero(filled), strict=True):
        inside = (at[0] == i) & (at[1] == j)
        assert codes[i, j] - 1 in labels[inside]
    # Private regions are not areas of this plane.
    assert "ground" not in panel(shown, 2)


@pytest.mark.parametrize(("ndim", "axes"), PAIRS)
def test_numbers_and_colours_are_those_of_the_true_clusters(ndim, axes):
    for seed in range(3):
        one = scene("eugkm", ndim, axes, epsilon=1000.0, seed=seed)
        shown = panels(one, "regions")
        left, right = panel(shown, 1)["centres"], panel(shown, 2)["centres"]
        assert left["text"] == right["text"] == [f"<b>{number}</b>" for number in (1, 2, 3, 4)]
        # With almost no noise, private centre k is the centre nearest to true centre k.
        domain = one.shown_domain
        width = domain.highs - domain.lows
        assert (np.abs(places(left) - places(right)) / width < 0.05).all()
        assert np.array_equal(places(left), one.truth.centers[:, axes])
        assert np.array_equal(places(right), one.private.centers[:, axes])
        if ndim == 2:
            for number, marks in ((1, left), (2, right)):
                ground = panel(shown, number)["ground"]
                column = ((places(marks)[:, 0] - domain.lows[0]) / ground["dx"]).astype(int)
                row = ((places(marks)[:, 1] - domain.lows[1]) / ground["dy"]).astype(int)
                assert (ground["z"][row, column] // 3).tolist() == [1, 2, 3, 4]


def test_true_points_and_centres_lie_over_the_private_panel_only_when_asked_for():
    for axes in ((0, 1), (1, 0)):
        for step in (0, 2, None):
            one = scene(axes=axes, step=step, with_points=True)
            shown = panels(one, "regions")
            assert "true" not in panel(shown, 1)
            over = overlays(shown)
            assert np.array_equal(places(over["centres"]), truth_of().centers[:, axes])
            assert over["centres"]["text"] == ["1", "2", "3", "4"]
            assert np.array_equal(over["points"]["z"].T > 0, one.raster.counts > 0)
            assert OVERLAY in headings(shown)[1]
            bare = panels(scene(axes=axes, step=step), "regions")
            assert overlays(bare) == {}
            assert OVERLAY not in headings(bare)[1]


@pytest.mark.parametrize("method", ["dplloyd", "mcmc", "eugkm", "dprefine"])
def test_the_private_panel_reads_no_record(method):
    """If the records change but the private run does not, the private panel stays the same."""
    for ndim in (2, 3):
        one = scene(method, ndim)
        records = one.truth.records
        mirrored = records.domain.lows + records.domain.highs - records.points
        other = replace(
            one, raster=RecordRaster.of_records(mirrored, records.domain, one.raster.axes)
        )
        assert not np.array_equal(one.raster.counts, other.raster.counts)
        first, second = (
            [trace for trace in panels(each, "regions").data if trace["xaxis"] == "x2"]
            for each in (one, other)
        )
        assert str(first) == str(second)


def test_private_centres_have_the_noisy_number_of_records_that_a_release_has():
    one = scene("eugkm")
    counts = FAMILY.released(one.private, one.truth.records.domain)["counts"]
    said = panel(panels(one, "regions"), 2)["noisy records"]
    assert [text.strip("\u2007") for text in said["text"]] == [f"{one:,.0f}" for one in counts]
    # At a step before the result, the numbers of the iteration are shown.
    way = scene("dplloyd", step=2)
    said = panel(panels(way, "regions"), 2)["noisy records"]
    assert [text.strip("\u2007") for text in said["text"]] == [
        # Two of these centres are so close that their numbers of records are not shown.
        f"{one:,.0f}" if at < 2 else ""
        for at, one in enumerate(way.private.iterations[1].counts)
    ]
    x, y = np.array(said["x"]), np.array(said["y"])
    assert abs(x[2] - x[3]) < 0.17 * np.ptp(way.truth.records.domain.bounds[0])
    assert abs(y[2] - y[3]) < 0.08 * np.ptp(way.truth.records.domain.bounds[1])
    # The hover text of each centre has its number, also where there is no space.
    hovers = panel(panels(way, "regions"), 2)["centres"]["customdata"]
    for text, count in zip(hovers, way.private.iterations[1].counts, strict=True):
        assert text.startswith(f"<br>noisy records {count:,.0f}")
    # A start does not have these numbers, and some methods never release them.
    for other in (scene("dplloyd", step=0), scene("gupt")):
        assert "noisy records" not in panel(panels(other, "regions"), 2)
    assert all("noisy records" not in panel(panels(each, "regions"), 1) for each in (one, way))


# ---- paths


def walks(trace):
    """Lines of a trace, separated at NaN, each of shape (steps, 2)."""
    line = places(trace)
    cuts = np.flatnonzero(np.isnan(line).all(axis=1))
    assert np.array_equal(np.isnan(line).any(axis=1), np.isnan(line).all(axis=1))
    assert cuts[-1] == len(line) - 1
    return [piece[~np.isnan(piece).any(axis=1)] for piece in np.split(line, cuts)[:-1]]


@pytest.mark.parametrize("method", KMEANS)
def test_paths_lead_from_each_start_to_where_its_centre_is(method):
    axes = (1, 0)
    one = scene(method)
    path, names = one.path, one.names_of(one.numbers_of(one.before.centers))
    assert path or method not in WITH_PATH
    if not path:
        traces = panel(panels(scene(method, step=3), "regions"), 2)
        assert set(traces) - {"noisy records"} == {"ground", "centres"}
        return
    for step in {0, 1, len(path) // 2, len(path) - 1}:
        shown = panels(scene(method, axes=axes, step=step), "regions")
        traces = panel(shown, 2)
        expected = np.array(path)[: step + 1][..., axes]
        for cluster, walk in enumerate(walks(traces["paths"])):
            assert np.array_equal(walk, expected[:, cluster])
        assert len(walks(traces["paths"])) == 4
        assert np.array_equal(places(traces["starts"]), expected[0])
        assert traces["starts"]["text"] == names
        assert np.array_equal(places(traces["centres"]), expected[-1])
        # The best k-means run has no path, so its centres do not move.
        assert set(panel(shown, 1)) == {"ground", "centres"}
        assert np.array_equal(places(panel(shown, 1)["centres"]), truth_of().centers[:, axes])


@pytest.mark.parametrize("method", WITH_PATH)
def test_the_path_is_the_runs_and_its_end_the_result(method):
    one = scene(method)
    run = one.private
    assert np.array_equal(one.path[-1], run.centers)
    if run.before is None:
        assert all(map(np.array_equal, one.path, run.path))
        assert len(one.path) == len(run.path)
    else:
        assert len(one.path) == len(run.path) + 1
        # The path before post-processing is the run's own path, with its clusters in another order.
        for mine, theirs in zip(one.path, run.path, strict=False):
            assert np.array_equal(mine[np.lexsort(mine.T)], theirs[np.lexsort(theirs.T)])
    # If no step is given, or a step after the last step, the result is shown.
    shown = [panels(scene(method, step=step), "regions") for step in (None, len(one.path) - 1, 99)]
    for other in shown:
        assert np.array_equal(places(panel(other, 2)["centres"]), run.centers)
        assert headings(other)[1].startswith(f"{method} · result")


def test_headings_and_words_name_the_step():
    said = ["start", *(f"after iteration {step} of 5" for step in range(1, 5)), "result"]
    for step, words in enumerate(said):
        shown = panels(scene(step=step), "regions")
        assert headings(shown)[0] == "true · 4 centres"
        assert headings(shown)[1] == f"dplloyd · {words}"
        assert words in shown.alt
    post = [panels(scene("mcmc", step=step), "regions") for step in (4, 5, 6)]
    assert ["iteration 4 of 5" in headings(one)[1] for one in post] == [True, False, False]
    assert ["iteration 5 of 5" in headings(one)[1] for one in post] == [False, True, False]
    assert "result" in headings(post[2])[1]
    assert headings(panels(scene("eugkm"), "regions"))[1] == "eugkm · result"


def test_a_single_centre_is_not_called_centres():
    shown = panels(scene(clusters=1), "regions")
    assert headings(shown)[0] == "true · 1 centre"
    assert "1 centres" not in shown.alt


def test_centres_that_kept_their_place_are_squares():
    one = scene(epsilon=0.2)
    kept = [iteration.kept for iteration in one.private.iterations]
    assert any(mask.any() and not mask.all() for mask in kept)
    for step in range(6):
        marks = panel(panels(scene(epsilon=0.2, step=step), "regions"), 2)["centres"]
        mask = kept[step - 1] if step else np.zeros(4, dtype=bool)
        assert marks["marker"]["symbol"] == ["square" if stayed else "circle" for stayed in mask]
        assert ["in its place" in text for text in marks["customdata"]] == mask.tolist()
        if step:
            before, after = one.path[step - 1], one.path[step]
            assert np.array_equal((before == after).all(axis=1), mask)


def test_after_post_processing_no_centre_has_kept_its_place():
    one = scene("mcmc", epsilon=0.2)
    assert one.private.kept_centers
    for step, iteration in enumerate(one.before.iterations, start=1):
        marks = panel(panels(scene("mcmc", epsilon=0.2, step=step), "regions"), 2)["centres"]
        squares = [symbol == "square" for symbol in marks["marker"]["symbol"]]
        assert squares == iteration.kept.tolist()
    marks = panel(panels(one, "regions"), 2)["centres"]
    assert set(marks["marker"]["symbol"]) == {"circle"}


def test_the_method_without_noise_steps_along():
    for step in (0, 2, 5):
        one = scene(silent=True, step=step)
        shown = panels(one, "regions")
        assert headings(shown)[0].startswith("dplloyd without noise")
        left = panel(shown, 1)
        assert np.array_equal(places(left["centres"]), one.left.path[step])
        assert len(walks(left["paths"])[0]) == step + 1
        assert "true" not in left


def test_the_result_stands_beside_the_result_of_the_method_without_noise():
    # A run may stop earlier with noise than without. Simulate an early stop after the first step.
    for seed in range(40):
        one = scene("dplloyd", silent=True, clusters=14, seed=seed, start="random", iterations=5)
        one = replace(one, private=run_of("dplloyd", 2, 14, seed=seed, iterations=1))
        kept = [step.kept for step in one.left.iterations]
        # Without records a centre does not move, even without noise.
        if (kept[0] != kept[-1]).any():
            break
    else:
        pytest.fail("no other centres kept their place at the end than at first")
    shown = panels(one, "regions")
    left = panel(shown, 1)
    assert "result" in headings(shown)[1]
    assert np.array_equal(places(left["centres"]), one.left.centers)
    assert len(walks(left["paths"])[0]) == len(one.left.path)
    marked = [symbol == "square" for symbol in left["centres"]["marker"]["symbol"]]
    assert marked == kept[-1].tolist()


# ---- noise


def span(run):
    """Range of the domain in the coordinates to which the noise is added."""
    return 1 if run.config.geometry == "cube" else 2


@pytest.mark.parametrize(
    ("method", "epsilon"), [("dplloyd", 0.3), ("contour", 0.3), ("hybrid", 30.0)]
)
def test_noise_bars_by_hand(method, epsilon):
    one = scene(method, epsilon=epsilon, seed=1)
    run, shown = one.private, panels(one, "noise")
    bars = [trace for trace in shown.data if trace["type"] == "bar"]
    left = [bar for bar in bars if bar["xaxis"] == "x"]
    right = [bar for bar in bars if bar["xaxis"] == "x2"]
    assert len(left) == len(right) == len(run.iterations)
    shares = []
    for number, iteration in enumerate(run.iterations):
        assert left[number]["name"].startswith(f"iteration {number + 1} ")
        assert np.array_equal(left[number]["x"], [1, 2, 3, 4])
        assert np.array_equal(left[number]["y"], iteration.scales)
        for k in range(4):
            share = right[number]["y"][k]
            if iteration.kept[k]:
                assert np.isnan(share)
            else:
                moved = iteration.scales[k] / iteration.counts[k] / span(run)
                assert share == pytest.approx(100 * moved)
                shares.append(share)
    assert f"at most {readable(max(shares))}%" in shown.alt
    assert np.array_equal(run.centre_noise, [bar["y"] for bar in right], equal_nan=True)


def test_noise_moves_a_centre_by_what_the_bar_says():
    """An error of one noise scale in a sum moves the centre by the shown share of the domain."""
    one = scene(epsilon=5.0)
    iteration = one.private.iterations[0]
    assert not iteration.kept.any()
    for k in range(4):
        scaled = iteration.sums[k] / iteration.counts[k]
        centre = unit(one, iteration.centers)[k]
        # Two coordinates determine the linear map from scaled coordinates to the unit cube.
        slope = (centre[1] - centre[0]) / (scaled[1] - scaled[0])
        moved = slope * iteration.scales[k] / iteration.counts[k]
        assert one.private.centre_noise[0][k] == pytest.approx(100 * moved)


def test_noise_of_centres_that_all_kept_their_place_has_no_bars():
    one = scene(epsilon=0.01, clusters=14)
    kept = np.array([iteration.kept for iteration in one.private.iterations])
    assert kept.any()
    assert np.array_equal(np.isnan(one.private.centre_noise), kept)
    assert isinstance(panels(one, "noise").figure(), go.Figure)


@pytest.mark.parametrize("method", ["kmeans", "eugkm", "gupt", "privgene"])
def test_without_iterations_the_noise_is_that_of_each_spend(method):
    one = scene(method)
    shown = panels(one, "noise")
    spends = one.private.ledger.spends
    (bars,) = shown.data
    # All choices of a generation of PrivGene share one bar.
    firsts = {spend.step.partition(",")[0]: spend for spend in reversed(spends)}
    assert list(bars["x"]) == list(dict.fromkeys(one.step.partition(",")[0] for one in spends))
    assert list(bars["y"]) == [firsts[name].scale for name in bars["x"]]
    assert len(bars["x"]) == (8 if method == "privgene" else len(spends))
    assert sum(bars["customdata"]) == pytest.approx(sum(one.epsilon for one in spends))
    table = frame(one, "noise")
    assert len(table) == len(spends)
    if spends:
        assert table["noise scale"].tolist() == [spend.scale for spend in spends]
        assert table["epsilon"].sum() == pytest.approx(one.private.config.epsilon)
        assert f"{readable(spends[0].scale)}" in shown.alt
    else:
        assert "no noise" in shown.alt


def test_noise_is_numbered_like_the_clusters_it_moves():
    one = scene("mcmc", epsilon=0.5, seed=2)
    table, bars = frame(one, "noise"), panels(one, "noise").data
    order = canonical(one.before.centers).tolist()
    assert order != sorted(order), "the test asks for a run whose numbers differ from its order"
    for number, iteration in enumerate(one.before.iterations, start=1):
        rows = table[table["iteration"] == number]
        drawn = rows[[f"centre {name}" for name in NAMES[:2]]].to_numpy()
        assert np.array_equal(drawn, one.path[number])
        assert np.array_equal(rows["noisy records"], iteration.counts)
        assert np.array_equal(bars[2 * number - 2]["customdata"], iteration.counts)


# ---- iterations


def error_by_hand(one, centers):
    """NICV as printed: squared distances on data scaled to [0, 1], per record."""
    points = one.truth.records.points
    apart = ((unit(one, points)[:, None] - unit(one, centers)[None]) ** 2).sum(axis=2)
    return apart.min(axis=1).mean()


def contours_by_hand(one, centers):
    """S_k as printed: a is the average distance of the cluster, b that to the next centre."""
    points = one.truth.records.points
    apart = np.sqrt(((unit(one, points)[:, None] - unit(one, centers)[None]) ** 2).sum(axis=2))
    labels, two = apart.argmin(axis=1), np.sort(apart, axis=1)
    found = np.zeros(len(centers))
    for number in np.unique(labels):
        near, nearer = two[labels == number, 1], two[labels == number, 0].mean()
        found[number] = ((near - nearer) / np.maximum(near, nearer)).mean()
    return found


@pytest.mark.parametrize("variant", ["sound", "published"])
@pytest.mark.parametrize("method", ["dplloyd", "contour", "mcmc"])
def test_the_iterations_show_errors_and_contour_coefficients_of_every_step(method, variant):
    one = scene(method, silent=True, variant=variant, geometry="box", epsilon=0.5, ndim=3)
    shown, table = panels(one, "iterations"), frame(one, "iterations")
    silent, private, best, *curves, least = shown.data
    for trace, run, column in (
        (silent, one.left, f"{method} without noise NICV"),
        (private, one.private, "NICV of the centres"),
    ):
        errors = [error_by_hand(one, centers) for centers in one.path_of(run)]
        assert trace["x"].tolist() == list(range(len(errors)))
        assert np.allclose(trace["y"], errors)
        assert np.allclose(table[column].dropna(), errors)
        assert trace["customdata"][0] == "start"
        assert ("post-processing" in trace["customdata"][-1]) == (method == "mcmc")
    assert (silent["name"], private["name"]) == (one.left_title, one.private_title)
    assert np.allclose(best["y"], error_by_hand(one, one.truth.centers))
    contours = np.array([contours_by_hand(one, centers) for centers in one.path])
    assert np.allclose(np.transpose([curve["y"] for curve in curves]), contours)
    assert np.allclose(least["y"], contours.min(axis=1))
    names = one.names_of(one.numbers_of(one.private.centers))
    for number, column in zip(names, contours.T, strict=True):
        assert np.allclose(table[f"S {number} of the centres"].dropna(), column)
    assert np.allclose(table["min S of the centres"].dropna(), contours.min(axis=1))
    assert table["iteration"].tolist() == list(range(len(table)))


def test_contour_coefficients_of_very_many_records_are_those_of_a_sample(monkeypatch):
    one = scene(silent=True, epsilon=2.0)
    exact = frame(one, "iterations")
    assert "sample" not in iterations.explain(one)
    monkeypatch.setattr("dpviz.kmeans.sketch.MANY", 300)
    monkeypatch.setattr("dpviz.kmeans.sketch.SKETCHED", 120)
    records = replace(one.truth.records, _kept=LRUCache(9))
    few = replace(one, truth=replace(one.truth, records=records))
    assert "For S, a random sample" in iterations.explain(few)
    rough = frame(few, "iterations")
    assert np.array_equal(rough["NICV of the centres"], exact["NICV of the centres"])
    off = (rough - exact)["min S of the centres"].abs()
    assert 0 < off.max() < 0.1


def test_the_iterations_need_no_run_without_noise():
    assert [one["name"] for one in panels(scene(), "iterations").data[:2]] == [
        "dplloyd", "best k-means",
    ]  # fmt: skip


def test_numbers_at_the_ends_of_the_curves_do_not_touch():
    one = scene(clusters=14, epsilon=5.0)
    shown, names = panels(one, "iterations"), one.names_of(one.numbers_of(one.private.centers))
    curves = [one for one in shown.data if "text" in one]
    ends = sorted(one["y"][-1] for one in curves if one["text"][-1])
    every = np.concatenate([one["y"] for one in curves])
    assert 2 <= len(ends) < len(curves)
    assert np.diff(ends).min() >= 0.04 * np.ptp(every)
    assert all(one["text"][-1] in ("", at) for at, one in zip(names, curves, strict=True))


def test_a_line_marks_the_iteration_of_the_player():
    first, second = panels(scene(step=2), "iterations").layout["shapes"]
    assert (first["x0"], second["x1"]) == (2, 2)
    assert (first["xref"], second["xref"]) == ("x", "x2")
    assert "shapes" not in panels(scene(), "iterations").layout


@pytest.mark.parametrize("method", ["eugkm", "kmeans"])
def test_a_run_without_iterations_has_no_view_of_them(method):
    with pytest.raises(InputError, match="has no iterations"):
        panels(scene(method), "iterations")
    with pytest.raises(InputError, match="has no iterations"):
        frame(scene(method), "iterations")


# ---- before and after


def squares(points, centers):
    return ((points[:, None] - centers[None]) ** 2).sum(axis=2).min(axis=1).sum()


def test_before_and_after_stand_side_by_side_with_the_chain():
    one = scene("mcmc", epsilon=0.5)
    shown, chain = panels(one, "chain"), one.private.chain
    before, after = panel(shown, 1), panel(shown, 2)
    assert np.array_equal(places(before["centres"]), one.before.centers)
    assert np.array_equal(places(after["centres"]), one.private.centers)
    assert "true" not in before | after
    for number in (1, 2):
        over = panel(panels(scene("mcmc", epsilon=0.5, with_points=True), "chain"), number)
        assert np.array_equal(places(over["true"]), one.truth.centers)
    assert "paths" not in after
    assert [walk[-1].tolist() for walk in walks(before["paths"])] == one.before.centers.tolist()
    runs = (one.truth.run, one.before, one.private)
    domain = one.truth.records.domain
    unit = [
        (places - domain.lows) / (domain.highs - domain.lows)
        for places in (one.truth.records.points, *(run.centers for run in runs))
    ]
    true, *errors = (squares(unit[0], centers) for centers in unit[1:])
    ratios = [f"{error / true:.2f}" for error in errors]
    for heading, ratio in zip(headings(shown), ratios, strict=False):
        assert f"NICV {ratio} × true" in heading
    assert f"NICV {ratios[0]} and {ratios[1]} times the true NICV" in shown.alt
    trace = next(trace for trace in shown.data if trace["xaxis"] == "x3")
    assert np.array_equal(trace["y"], chain.log_likelihood)
    assert trace["x"][0] == 0
    assert trace["x"][-1] == STEPS
    assert (np.diff(trace["x"]) > 0).all()
    assert f"from {readable(chain.log_likelihood[0], 4)} to {readable(chain.best, 4)}" in shown.alt
    assert f"{chain.accepted:.0%}" in headings(shown)[2]


# ---- tables


@pytest.mark.parametrize(("ndim", "axes"), PAIRS)
@pytest.mark.parametrize("clusters", [4, 8])
def test_the_table_pairs_each_private_centre_with_the_nearest_true_one(clusters, ndim, axes):
    one = scene("dplloyd", ndim, axes, clusters=clusters, epsilon=0.2)
    table, names = frame(one, "regions"), NAMES[:ndim]
    scale, true, points = one.truth.space.scale, one.truth.centers, one.truth.records.points
    private = table[[f"private {name}" for name in names]].to_numpy()
    paired = table[[f"true {name}" for name in names]].to_numpy()
    has = np.isfinite(private).all(axis=1)
    far = np.linalg.norm(scale(private[has])[:, None] - scale(true), axis=2)
    assert np.array_equal(paired[has], true[far.argmin(axis=1)])
    assert np.array_equal(paired, true[table["cluster"] - 1])
    # All centres of both runs are in the table; a true cluster without a centre has an empty one.
    assert sorted(map(tuple, private[has])) == sorted(map(tuple, one.private.centers))
    assert table["cluster"][~has].tolist() == (placed(one.truth, one.private).alone + 1).tolist()
    assert table["private number"].isna().tolist() == (~has).tolist()
    labels, _ = by_hand(one, points, true)
    sizes = np.bincount(labels, minlength=clusters)
    assert table["true records"].tolist() == sizes[table["cluster"] - 1].tolist()
    labels, _ = by_hand(one, points, private[has])
    nearest = table["true records nearest to the private centre"]
    assert nearest[has].tolist() == np.bincount(labels, minlength=has.sum()).tolist()


@pytest.mark.parametrize(
    ("method", "epsilon"), [("dplloyd", 0.3), ("contour", 0.3), ("hybrid", 99.0)]
)
def test_the_table_of_the_noise_has_a_row_per_iteration_and_cluster(method, epsilon):
    one = scene(method, epsilon=epsilon)
    table, run = frame(one, "noise"), one.private
    assert len(table) == 4 * len(run.iterations)
    for number, iteration in enumerate(run.iterations, start=1):
        rows = table[table["iteration"] == number]
        assert rows["cluster"].tolist() == one.numbers_of(one.before.centers).tolist()
        assert np.array_equal(rows[["centre east", "centre north"]], iteration.centers)
        assert np.array_equal(rows["noisy records"], iteration.counts)
        assert np.array_equal(rows["noise scale"], iteration.scales)
        assert np.array_equal(rows["kept its place"], iteration.kept)
        share = rows["noise of the centre, % of the domain"]
        assert np.array_equal(share, run.centre_noise[number - 1], equal_nan=True)


def test_the_table_of_the_chain_is_its_trace():
    one = scene("mcmc")
    table = frame(one, "chain")
    assert np.array_equal(table["log likelihood"], one.private.chain.log_likelihood)
    assert table["step"].iloc[0] == 0
    assert table["step"].iloc[-1] == STEPS


# ---- the noisy grid


@pytest.mark.parametrize("axes", [(0, 1), (1, 0)])
@pytest.mark.parametrize("method", WITH_GRID)
def test_the_noisy_grid_stands_beside_the_true_counts_of_its_cells(method, axes):
    one = scene(method, axes=axes, epsilon=2.0)
    grid, domain = one.private.grid, one.truth.records.domain
    edges = [
        np.linspace(low, high, side + 1)
        for (low, high), side in zip(domain.bounds, grid.shape, strict=True)
    ]
    # Records on an edge belong to the cell above it. In this test records are on an edge only at
    # the border.
    true = np.histogramdd(one.truth.records.points, bins=edges)[0].transpose(axes)
    noisy = grid.weights.reshape(grid.shape).transpose(axes)
    shown = panels(one, "grid")
    left, right = (panel(shown, number) for number in (1, 2))
    assert np.array_equal(left["ground"]["z"], true.T)
    assert np.array_equal(right["ground"]["z"], noisy.T)
    # Both hover texts show both numbers, and both panels have the same colour scale.
    assert np.array_equal(left["ground"]["customdata"], noisy.T)
    assert np.array_equal(right["ground"]["customdata"], true.T)
    for side, names in ((left, ("z", "customdata")), (right, ("customdata", "z"))):
        text = side["ground"]["hovertemplate"]
        assert f"true %{{{names[0]}:" in text
        assert f"noisy %{{{names[1]}:" in text
        assert side["ground"]["coloraxis"] == "coloraxis"
    assert shown.layout["coloraxis"]["cmin"] == 0
    assert 0 < shown.layout["coloraxis"]["cmax"] <= true.max()
    # Each panel shows its own centres; the private panel shows true centres only on request.
    assert np.array_equal(places(left["centres"]), one.truth.centers[:, axes])
    assert np.array_equal(places(right["centres"]), one.private.centers[:, axes])
    assert "true" not in right
    over = panel(panels(replace(one, with_points=True), "grid"), 2)
    assert np.array_equal(places(over["true"]), one.truth.centers[:, axes])
    # The cells cover the shown domain, and both panels zoom together.
    for trace in (left["ground"], right["ground"]):
        for axis, column, step in (("x", axes[0], "dx"), ("y", axes[1], "dy")):
            low, high = domain.bounds[column]
            side = grid.shape[column]
            assert trace[step] * side == pytest.approx(high - low)
            assert trace[f"{axis}0"] == pytest.approx(low + trace[step] / 2)
    assert shown.layout["xaxis2"]["matches"] == "x"
    assert shown.layout["yaxis2"]["matches"] == "y"
    cells = f"{true.shape[0]} × {true.shape[1]} cells"
    assert cells in headings(shown)[0]
    assert f"{np.abs(noisy - true).sum():,.0f} records of difference" in headings(shown)[1]
    assert cells in shown.alt
    table = frame(one, "grid")
    assert list(table) == [*(NAMES[axis] for axis in axes), "true records", "noisy records"]
    assert np.array_equal(table["true records"], true.ravel())
    assert np.array_equal(table["noisy records"], noisy.ravel())
    inside = np.column_stack([table[NAMES[axis]] for axis in (0, 1)])
    assert domain.contains(inside).all()


@pytest.mark.parametrize(
    ("method", "ndim", "begins"),
    [("gupt", 2, "this run releases no noisy grid"), ("eugkm", 3, "the noisy grid has 3 columns")],
)
def test_a_grid_that_cannot_be_shown_is_not_offered(method, ndim, begins):
    one = scene(method, ndim)
    assert "grid" not in views_of(one.private)
    for draw in (panels, frame):
        with pytest.raises(InputError, match=f"^view = grid: {begins}"):
            draw(one, "grid")


# ---- words and zoom


def test_words_say_what_is_drawn():
    shown = panels(scene(title="blobs · DPLloyd · ε 1", step=2), "regions")
    assert shown.alt == (
        "blobs · DPLloyd · ε 1. Regions of 4 centres: true with the records on the left, dplloyd "
        "on the right, after iteration 2 of 5."
    )
    assert shown.layout["title"]["text"] == "blobs · DPLloyd · ε 1"


def revision(**changes):
    return panels(scene(**{"title": "blobs · DPLloyd · ε 1", **changes}), "regions").layout[
        "uirevision"
    ]


def test_zoom_stays_over_everything_but_another_ground():
    first = revision()
    assert revision(title="blobs · DPLloyd · ε 2", epsilon=2.0) == first
    assert revision(title="blobs · GUPT · ε 1", method="gupt") == first
    assert revision(step=0, mode="dark", seed=3) == first
    assert revision(title="spirals · DPLloyd · ε 1") != first
    assert revision(axes=(1, 0)) != first


def test_zoom_does_not_stay_on_other_columns_with_the_same_bounds():
    points = np.random.default_rng(0).random((60, 3))
    domain = Domain(((0, 1), (0, 1), (0, 1)))
    truth = KMeansTruth(Records.build(Dataset(name="cube", points=points, domain=domain)), 3)
    revisions = {
        panels(
            KMeansPicture(
                truth=truth,
                left=truth.run,
                private=truth.run,
                raster=RecordRaster.of_records(points, domain, axes),
                columns=NAMES[:3],
                title="cube · DPLloyd",
            ),
            "regions",
        ).layout["uirevision"]
        for axes in ((0, 1), (0, 2), (1, 2))
    }
    assert len(revisions) == 3


@pytest.mark.parametrize("method", ["dplloyd", "mcmc", "eugkm"])
def test_more_private_centres_than_true_ones_are_drawn_and_listed(method):
    points = np.repeat([[0.1, 0.7], [1.1, 0.3]], 50, axis=0)
    records = Records.build(Dataset(name="few", points=points), Domain(((-1, 2), (-1, 2))))
    truth = KMeansTruth(records, 5)
    assert len(truth.centers) == 2
    config = KMeansConfig(method=method, clusters=5)
    picture = KMeansPicture(
        truth=truth,
        left=truth.run,
        private=truth.numbered(run_kmeans(records, config, SeededNoise(0))),
        raster=RecordRaster.of_records(records.points, records.domain, (0, 1)),
        columns=("x", "y"),
        left_title="true",
        private_title=method,
        title="few",
    )
    for view in views_of(picture.private):
        assert isinstance(panels(picture, view).figure(), go.Figure)
        assert len(frame(picture, view))
    table = frame(picture, "regions")
    assert table["true records"].tolist() == [50] * len(table)
    assert table["private number"].nunique() == 5


@pytest.mark.parametrize("method", ["dplloyd", "dprefine", "mcmc", "eugkm"])
@pytest.mark.parametrize("seed", range(3))
def test_a_number_never_means_two_clusters(method, seed):
    """Each private number is that of the centre's own cluster, or one that no cluster has."""
    one = scene(method, clusters=8, epsilon=0.2, seed=seed)
    K = len(one.truth.centers)
    numbers = one.numbers_of(one.private.centers)
    owner = placed(one.truth, one.private).owner
    assert len({*numbers}) == len(numbers)
    assert all(
        number in (at + 1, *range(K + 1, 2 * K + 1))
        for number, at in zip(numbers, owner, strict=True)
    )
    assert {*(owner + 1)} == {*numbers[numbers <= K]}
    shown = panel(panels(one, "regions"), 2)["centres"]["text"]
    assert shown == [f"<b>{'+' * (one > K)}{one}</b>" for one in numbers.tolist()]
    assert one.numbers_of(one.truth.centers).tolist() == [*range(1, K + 1)]
