"""Thumbnails of the stages show the arrays of the run, and no single cell gets lost."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from dpviz.base.numbers import readable
from dpviz.data.dataset import Dataset
from dpviz.figures import kmeans, wavecluster
from dpviz.figures.stages import MOST, of_labels, of_values, shrunk
from dpviz.figures.theme import BACKGROUND, CLUSTERS, INK, INVENTED
from dpviz.grid.domain import Domain
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.trial import KMeansTrial
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.truth import run
from tests.figures.test_kmeans import WITH_PATH
from tests.figures.test_kmeans import scene as kmeans_scene
from tests.figures.test_wavecluster import scene

SHAPES = nps.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=140)
MASKS = nps.arrays(bool, SHAPES, elements=st.just(False))


@given(MASKS, st.data())
def test_a_single_marked_cell_stays_visible(mask, data):
    """Of a mask, of labels and of numbers, negative ones too, and at its place."""
    at = tuple(data.draw(st.integers(0, side - 1)) for side in mask.shape)
    step = -(-max(mask.shape) // MOST)
    for value, kind in ((True, bool), (7, np.int32), (-0.01, float), (3, np.uint8)):
        cells = np.zeros(mask.shape, kind)
        cells[at] = value
        small = shrunk(cells)
        assert max(small.shape) <= MOST
        assert small[at[0] // step, at[1] // step] == value
        assert np.count_nonzero(small) == 1


@given(
    nps.arrays(float, SHAPES, elements=st.floats(-1e6, 1e6, allow_subnormal=False)),
    st.floats(1e-3, 1e6),
)
def test_only_zero_has_the_colour_of_zero(values, end):
    drawn = of_values(values, end, "light")
    small = shrunk(values)
    colours = np.array(drawn.palette)[drawn.codes]
    np.testing.assert_array_equal(colours == BACKGROUND["light"], small == 0)
    middle = len(drawn.palette) // 2
    np.testing.assert_array_equal(np.sign(drawn.codes.astype(int) - middle), np.sign(small))
    # Larger values never have a paler colour.
    order = np.argsort(small, axis=None)
    assert (np.diff(drawn.codes.ravel()[order].astype(int)) >= 0).all()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_cluster_has_its_colour_and_an_invented_one_its_own(mode):
    labels = np.array([[0, 1, 12], [13, 14, 15]])
    drawn = of_labels(labels, 14, mode)
    first, last, *_ = colours = CLUSTERS[mode][0], CLUSTERS[mode][11]
    expected = [[BACKGROUND[mode], *colours], [first, CLUSTERS[mode][1], INVENTED[mode]]]
    assert last != first
    assert np.array(drawn.palette)[drawn.codes].tolist() == expected


@pytest.mark.parametrize("method", WAVECLUSTER)
def test_thumbnails_of_wavecluster_are_the_arrays_of_the_run(method):
    one = scene(grid=32, method=method, level=2)
    found = {card.name: card for card in wavecluster.cards(one)}
    assert list(found) == list(wavecluster.STAGES)
    noisy = WAVECLUSTER[method].card.spends
    assert found["noise"].missing == (not noisy)
    for side, stages in enumerate(one.stages):
        counts, cut, clusters = (
            found[name].thumbnails[side] for name in ("counts", "cut", "clusters")
        )
        middle = len(counts.palette) // 2
        np.testing.assert_array_equal(
            np.sign(counts.codes.astype(int) - middle), np.sign(stages.counts)
        )
        shown = np.array(clusters.palette)[clusters.codes] != BACKGROUND["light"]
        np.testing.assert_array_equal(shown, stages.significant)
        marked = cut.codes >= 2 if side else cut.codes > 0
        np.testing.assert_array_equal(marked, stages.significant)
        mosaic = found["wavelet"].thumbnails[side].codes.astype(int) - middle
        np.testing.assert_array_equal(np.sign(mosaic[:8, :8]), np.sign(stages.average))
        for level, bands in enumerate(stages.details, start=1):
            side_ = 32 // 2**level
            for name, band in bands.items():
                across, up = (side_ * (letter == "d") for letter in name)
                part = mosaic[across : across + side_, up : up + side_]
                np.testing.assert_array_equal(np.sign(part), np.sign(band))
    if noisy:
        none, added = found["noise"].thumbnails
        assert len({*none.codes.flat}) == 1
        signs = np.sign(added.codes.astype(int) - len(added.palette) // 2)
        np.testing.assert_array_equal(signs, np.sign(one.private.counts - one.true.counts))
    # Two-stage with Haar has equal cells in a block, so it has no details.
    assert found["wavelet"].offer == (not any(map(np.any, one.private.details[0].values())))


def test_facts_are_the_numbers_of_the_run():
    one = scene(grid=(40, 20), epsilon=0.5)
    found = {card.name: card for card in wavecluster.cards(one)}
    spent = {spend.step: spend for spend in one.run.ledger}
    assert found["counts"].fact == "40 x 20"
    assert float(found["noise"].fact.removeprefix("scale ")) == pytest.approx(
        spent["counts"].scale, rel=0.01
    )
    cells = int(one.private.significant.sum())
    known = f"k′ {one.run.k:,} of {one.true.threshold.k:,} true"
    assert found["cut"].said == f"{known}; {cells} cells significant"
    assert found["clusters"].fact.split()[0] == f"{one.private.n_clusters}"
    # The noise of the threshold is not called noise of the counts, even if it is smaller.
    config = replace(one.run.config, alpha=0.05)
    drawn = run(one.truth.source, config, SeededNoise(0))
    counts, threshold = (spend.scale for spend in drawn.ledger)
    assert threshold < counts
    card = wavecluster.cards(replace(one, private=drawn.stages, run=drawn))[1]
    assert card.fact == f"scale {readable(counts, 3)}"
    assert f"nonpositive {readable(threshold, 3)}" in card.said


@pytest.mark.parametrize(
    ("ndim", "n", "epsilon", "start", "last"),
    [
        (2, 300, 1.0, "made from the grid", "no residual step"),
        (2, 5000, 1.0, "made from the grid", "one residual step"),
        (5, 300, 0.05, "made from the grid", "made from the grid"),
        (5, 5000, 1.0, "from a noisy tree", "two last residual steps"),
        (8, 300, 4.0, "made from the grid", "two last residual steps"),
        (12, 300, 0.05, "places without data", "one residual step"),
    ],
)
def test_dp_refine_says_what_its_run_did(ndim, n, epsilon, start, last):
    """Not "one shot": residual steps move the centres."""
    rng = np.random.default_rng(0)
    middles = rng.uniform(-0.8, 0.8, (6, ndim))
    points = np.clip(middles[rng.integers(0, 6, n)] + rng.normal(0, 0.05, (n, ndim)), -1, 1)
    records = Records.build(Dataset(name="", points=points), Domain(((-1.0, 1.0),) * ndim))
    config = KMeansConfig(method="dprefine", clusters=6, epsilon=epsilon)
    trial = KMeansTrial(KMeansTruth(records, 6), config)
    drawn = run_kmeans(records, config, SeededNoise(0))
    one = kmeans.picture_of(trial, drawn, [f"x{i}" for i in range(ndim)], "", "light")
    found = {card.name: card.fact for card in kmeans.cards(one)}
    assert (found["start"], found["iterations"]) == (start, last)
    said = drawn.decision.lower()
    assert last in said if "residual" in said else last == start
    # The ledger has as many steps as the words name.
    names = {"no": 0, "one": 1, "two": 2}
    before = re.search(r"(\d+) residual steps? before", said)
    steps = names.get(last.split()[0], 0) + (int(before[1]) if before else 0)
    assert sum(one.step.startswith("residuals") for one in drawn.ledger) == steps


@pytest.mark.parametrize("method", KMEANS)
def test_thumbnails_of_kmeans_have_the_centres_of_their_step(method):
    one = kmeans_scene(method)
    found = {card.name: card for card in kmeans.cards(one)}
    assert list(found) == list(kmeans.STAGES)
    has_path = method in WITH_PATH
    assert [found[name].missing for name in ("start", "iterations")] == [not has_path] * 2
    steps = {"start": 0, "iterations": 1, "centres": max(len(one.path) - 1, 0)}
    domain = one.shown_domain
    for name, step in steps.items():
        if found[name].missing:
            continue
        for drawn, shown in zip(found[name].thumbnails, (one.left, one.private), strict=True):
            marked = np.array(drawn.palette)[drawn.codes] == INK["light"]
            share = (one.centers_at(shown, step) - domain.lows) / (domain.highs - domain.lows)
            cells = np.clip((MOST * share).astype(int), 0, MOST - 1)
            assert marked.sum() == len({tuple(cell) for cell in cells})
            assert marked[tuple(cells.T)].all()
    records, grid = found["records"].thumbnails
    assert (grid is None) == (one.private.grid is None)
    cells = one.raster.counts.reshape(MOST, 8, MOST, 8).sum(axis=(1, 3))
    np.testing.assert_array_equal(records.codes > len(records.palette) // 2, cells > 0)
