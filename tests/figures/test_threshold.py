"""View of the threshold: sorted lists, cuts, and the distribution that PrivTHREM samples from."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from dpviz.base.numbers import equals
from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample, sample
from dpviz.figures.raster import Raster
from dpviz.figures.wavecluster import WaveClusterPicture, panels
from dpviz.figures.wavecluster.threshold import draw as threshold_panels
from dpviz.figures.wavecluster.threshold import frame as threshold_frame
from dpviz.figures.wavecluster.threshold_law import Law, SortedList, explain
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.methods import METHODS
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth, run

#: Probability that a correct distribution fails the test.
FALSE_ALARM = 1e-6


def scene(name, method, seed=0, mode="light", source=None, **options):
    about = sample(name)
    source = source or Source.build(load_sample(name), options.pop("grid", about.grid))
    config = Config(**({"method": method, "density": about.density} | options))
    drawn = run(source, config, SeededNoise(seed))
    return WaveClusterPicture(
        truth=Truth(source, config),
        private=drawn.stages,
        run=drawn,
        raster=Raster.of_source(source),
        columns=("x", "y"),
        mode=mode,
        title="a · b",
        private_title="PrivX",
    )


def notes(shown):
    return [one["text"] for one in shown.layout["annotations"]]


@pytest.mark.some(8)
@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["tiny4", "tiny8", "incomes", "gaussians"])
def test_every_method_has_the_view(name, method, mode):
    one = scene(name, method, mode=mode, epsilon=0.5)
    shown = panels(one, "threshold")
    assert shown.figure().data
    assert shown.alt.startswith("a · b. ")
    said = notes(shown)
    true, private = (stages.threshold for stages in one.stages)
    assert f"k = {true.k:,}" in said
    assert f"d {equals(true.value, 4)}" in said
    assert said.count(f"d′ {equals(private.value, 4)}") == (3 if method == "privthrem" else 1)
    assert f"<b>true</b><br>|L| {true.positive:,}, |Z| {true.nonpositive:,}" in said
    assert any(text.startswith(f"<b>PrivX</b><br>|L′| {private.positive:,}") for text in said)
    assert ("yaxis3" in shown.layout) == (method == "privthrem")
    if method != "privthrem" or one.run.k:
        assert f"k′ = {one.run.k:,}" in said


@pytest.mark.parametrize("method", METHODS)
def test_bars_are_the_coefficients_in_order(method):
    one = scene("tiny8", method, epsilon=1.0)
    shown = threshold_panels(one)
    for axis, stages in zip(("x", "x2"), one.stages, strict=True):
        bars = [trace for trace in shown.data if trace["type"] == "bar" and trace["xaxis"] == axis]
        ranks = np.concatenate([trace["x"] for trace in bars])
        values = np.concatenate([trace["y"] for trace in bars])
        # Means over samples may be positive in more cells than in the median sample.
        most = stages.threshold.positive if stages.threshold.sampled else None
        positive = np.sort(stages.average[stages.average > 0])[::-1][:most]
        np.testing.assert_array_equal(ranks, 1 + np.arange(positive.size))
        np.testing.assert_array_equal(values, positive)
        by_name = {trace["name"]: trace["x"] for trace in bars}
        # Exactly the significant cells have this colour.
        assert by_name["significant"].size == stages.significant.sum()
        assert by_name.get("pruned", np.empty(0)).size == stages.threshold.pruned
        # The values are written under their bars.
        ticks = shown.layout[f"{axis[0]}axis{axis[1:]}"]
        assert [float(text) for text in ticks["ticktext"]] == pytest.approx(positive, abs=0.0501)


def test_true_values_under_the_bars_are_those_of_the_sample():
    shown = threshold_panels(scene("tiny8", "privqt"))
    ten = ["20", "18", "16", "14", "13", "12", "10", "4", "2", "1"]
    assert shown.layout["xaxis"]["ticktext"] == ten
    assert "ticktext" not in threshold_panels(scene("incomes", "privqt")).layout["xaxis"]


@pytest.mark.parametrize("grid", [64, 256])
def test_many_values_are_an_area_with_few_steps(grid):
    one = scene("gaussians", "privthr", grid=grid, epsilon=1.0)
    shown = threshold_panels(one)
    assert shown.layout["yaxis"]["type"] == "log"
    for axis, stages in zip(("x", "x2"), one.stages, strict=True):
        traces = [trace for trace in shown.data if trace["xaxis"] == axis]
        areas = [trace for trace in traces if "fill" in trace]
        values = SortedList.of(stages).values
        for trace in areas:
            assert trace["x"].size <= 1001
            assert trace["hoverinfo"] == "skip"
            # A step ranges from half a rank before its rank to half a rank after it.
            ranks = np.minimum(trace["x"] + 0.5, trace["x"][-1] - 0.5).astype(int)
            np.testing.assert_array_equal(trace["y"], values[ranks - 1])
        for trace in traces:
            if "fill" not in trace:
                np.testing.assert_array_equal(trace["y"], values[trace["x"] - 1])
        # The areas are adjacent without a gap, from the first to the last rank.
        ends = [(trace["x"][0], trace["x"][-1]) for trace in areas]
        assert ends[0][0] == 0.5
        assert ends[-1][1] == values.size + 0.5
        assert all(a[1] == b[0] for a, b in pairwise(ends))
        assert ends[0][1] == stages.significant.sum() + 0.5


def test_a_pruned_list_says_how_k_comes_about():
    for seed in range(20):
        one = scene("tiny8", "privthr", seed=seed, epsilon=1.0)
        threshold = one.private.threshold
        # Algorithm 3: half of Z', limited to the length of the list.
        half = round(threshold.estimate / 2)
        assert threshold.pruned == min(max(half, 0), threshold.positive - 1)
        left = threshold.positive - threshold.pruned
        assert threshold.k == math.ceil(0.6 * left - 1e-9)
        text = explain(one)
        assert f"· {left:,}⌉ = {threshold.k:,}, and the value of rank {threshold.k:,}" in text
        assert f"prunes the {threshold.pruned:,} smallest" in text


@pytest.mark.parametrize("variant", ["sound", "published"])
@pytest.mark.parametrize("name", ["tiny4", "tiny8", "gaussians"])
def test_probabilities_are_those_of_the_printed_law(name, variant):
    one = scene(name, "privthrem", variant=variant, epsilon=0.8)
    law = Law.of(one.true, one.run)
    assert law.probability.sum() == pytest.approx(1, rel=1e-12)
    values = sorted(one.true.average[one.true.average > 0])
    top = one.private.average.max() if variant == "sound" else values[-1]
    k, share = one.true.threshold.k, 0.3 * 0.8
    # Computed in a loop: length * exp(-eps2 * |rank - k| / (2 s)), with s = 1 for Haar on level 1.
    edges = [0.0, *(min(value, top) for value in values), top]
    weights = [
        (edges[i + 1] - edges[i]) * math.exp(-share * abs(len(values) - i - k) / 2)
        for i in range(len(values) + 1)
    ]
    expected = [weight / sum(weights) for weight in weights if weight > 0]
    np.testing.assert_allclose(law.probability, expected, rtol=1e-9)
    assert law.low[0] == 0
    assert law.high[-1] == top
    np.testing.assert_array_equal(law.low[1:], law.high[:-1])


def test_probabilities_are_how_often_the_mechanism_draws():
    # In the published variant, the intervals are the same in every run.
    source = Source.build(load_sample("tiny8"), 8)
    config = Config(method="privthrem", variant="published", density=0.4, epsilon=2.0)
    draws = [run(source, config, SeededNoise(seed)) for seed in range(3000)]
    law = Law.of(Truth(source, config).stages, draws[0])
    found = np.bincount([law.holding(one.stages.threshold.value) for one in draws])
    assert stats.chisquare(found, law.probability * len(draws)).pvalue > FALSE_ALARM
    # The interval that contains d' has the rank that the run stores.
    for one in draws[:100]:
        assert law.last[law.holding(one.stages.threshold.value)] == one.k


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["tiny4", "tiny8", "gaussians"])
def test_area_is_probability_and_the_drawn_interval_is_marked(name, seed):
    one = scene(name, "privthrem", seed=seed, epsilon=0.5)
    (bars,) = (trace for trace in threshold_panels(one).data if trace["xaxis"] == "x3")
    assert float(np.sum(bars["y"] * bars["width"])) == pytest.approx(1, rel=1e-9)
    colours = bars["marker"]["color"]
    (drawn,) = (at for at, colour in enumerate(colours) if colours.count(colour) == 1)
    low, high, share, rank = bars["customdata"][drawn]
    assert low < one.private.threshold.value <= high
    assert rank == f"rank {one.run.k}"
    assert share == pytest.approx(bars["y"][drawn] * bars["width"][drawn])


def test_joined_intervals_keep_probability_and_ends():
    one = scene("gaussians", "privthrem", wavelet="db2", grid=128, epsilon=0.3)
    law = Law.of(one.true, one.run)
    assert law.low.size > 600
    less = law.joined(300)
    assert less.low.size <= 300
    assert less.probability.sum() == pytest.approx(1, rel=1e-9)
    np.testing.assert_array_equal(less.low[1:], less.high[:-1])
    assert (less.low[0], less.high[-1]) == (law.low[0], law.high[-1])
    assert (less.first <= less.last).all()
    assert (less.last[0], less.first[-1]) == (law.last[0], law.first[-1])
    for at in (0, 7, less.low.size - 1):
        inside = (law.low >= less.low[at]) & (law.high <= less.high[at])
        assert less.probability[at] == pytest.approx(law.probability[inside].sum())
    low, high = law.view
    inside = (law.low >= low) & (law.high <= high)
    assert 0.995 <= law.probability[inside].sum() <= 1
    assert np.count_nonzero(inside) < law.low.size
    # The table contains all intervals.
    table = threshold_frame(one)
    rows = table[table["part"] == "interval of d′"]
    np.testing.assert_array_equal(rows["probability"], law.probability)
    assert rows["drawn"].sum() == 1


@pytest.mark.parametrize("method", METHODS)
def test_the_table_holds_both_lists(method):
    one = scene("tiny8", method, epsilon=1.0)
    table = threshold_frame(one)
    for side, stages in zip(("true", "private"), one.stages, strict=True):
        rows = table[table["part"] == f"{side} L"]
        assert len(rows) == stages.threshold.positive
        assert rows["significant"].sum() == stages.significant.sum()
        assert rows["pruned"].sum() == stages.threshold.pruned
    assert ("probability" in table) == (method == "privthrem")


def test_zoom_of_the_cells_is_not_taken_over():
    one = scene("tiny8", "privthr")
    kept = {panels(one, view).layout["uirevision"] for view in ("counts", "average", "overview")}
    assert len(kept) == 1
    assert threshold_panels(one).layout["uirevision"] not in kept
    again = scene("tiny8", "privthr", seed=1)
    assert (
        threshold_panels(one).layout["uirevision"] == threshold_panels(again).layout["uirevision"]
    )


def test_without_a_run_no_law_is_drawn():
    one = scene("tiny8", "privthrem")
    other = WaveClusterPicture(
        truth=one.truth, private=one.true, raster=one.raster, columns=("x", "y")
    )
    assert Law.of(one.true, None) is None
    assert "yaxis3" not in threshold_panels(other).layout


@pytest.mark.parametrize("method", METHODS)
def test_data_without_a_positive_coefficient_have_the_view(method):
    # One record with much larger noise: often no value is positive, and k may be 0.
    counts = np.zeros((2, 2), dtype=np.int64)
    counts[0, 0] = 1
    source = Source.build(Dataset(name="one", counts=counts), 2)
    empty = 0
    for seed in range(12):
        one = scene("tiny4", method, seed=seed, source=source, epsilon=0.1, density=0.4)
        empty += one.private.threshold.positive == 0
        shown = threshold_panels(one)
        assert shown.figure().data
        assert "nan" not in str(shown.layout)
        assert "inf" not in str(shown.layout)
        threshold_frame(one)
    assert empty or method in ("wavecluster", "baseline")
