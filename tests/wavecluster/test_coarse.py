"""Grids that are too coarse, and the share of wrong cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpviz.data.samples import load_sample, sample, sample_names
from dpviz.metrics.matching import cells_wrong
from dpviz.wavecluster.coarse import joined
from dpviz.wavecluster.components import connected_components
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import NOISE_FREE, Truth
from tests.support.tiers import examples

masks = arrays(bool, (7, 9), elements=st.booleans())


def both(name: str, side: int) -> tuple[Truth, Truth]:
    """True runs on a grid, and on the grid on which the clusters of a sample set are found."""
    one = sample(name)
    fine = Source.build(load_sample(name), one.grid, one.domain)
    config = Config(method=NOISE_FREE, density=one.density)
    return Truth(fine.on_grid(side), config), Truth(fine, config)


@pytest.mark.parametrize(("name", "clusters"), [("gaussians", 15), ("spirals", 3), ("shapes", 5)])
def test_on_two_cells_a_side_the_clusters_of_a_sample_look_like_one(name, clusters):
    assert joined(*both(name, 2)) == (1, clusters)


@pytest.mark.parametrize("name", sample_names())
def test_the_grid_that_suits_a_sample_is_fine_enough(name):
    assert joined(*both(name, sample(name).grid)) is None


@pytest.mark.parametrize("name", ["noise", "incomes", "tiny4"])
def test_pieces_of_few_or_even_records_are_no_clusters_that_a_grid_could_join(name):
    assert joined(*both(name, 2)) is None


def test_a_few_joined_clusters_do_not_make_a_grid_too_coarse():
    coarse, fine = both("gaussians", 24)
    assert 8 <= coarse.stages.n_clusters < fine.stages.n_clusters
    assert joined(coarse, fine) is None


def labels(mask: np.ndarray) -> np.ndarray:
    return connected_components(mask)[0]


@examples(200)
@given(masks, masks)
def test_the_share_of_wrong_cells_is_a_share(one, other):
    true, private = labels(one), labels(other)
    share = cells_wrong(true, private)
    assert 0 <= share <= 1
    assert cells_wrong(private, true) == share
    assert cells_wrong(true, true) == 0
    # Cells that only one side has are wrong.
    either, only = (one | other).sum(), (one ^ other).sum()
    assert share >= only / max(either, 1) - 1e-12
    assert (share == 1) == bool(either and not (one & other).any())
