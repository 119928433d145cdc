"""Fates: every true cluster has one fate, and the headline sums up all fates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpviz.wavecluster.components import connected_components
from dpviz.wavecluster.diagnosis import outcome
from dpviz.wavecluster.fates import fates

masks = arrays(bool, (7, 9), elements=st.booleans())
quick = settings(max_examples=200, deadline=None)


def labels(mask: np.ndarray) -> np.ndarray:
    return connected_components(mask)[0]


def drawn(picture: str) -> np.ndarray:
    rows = [[0 if sign == "." else int(sign) for sign in row] for row in picture.split()]
    return np.array(rows, dtype=np.int32)


@quick
@given(masks, masks)
def test_all_at_once_is_one_after_the_other(one, other):
    true, private = labels(one), labels(other)
    found = fates(true, private)
    each = [outcome(true, private, cluster).fate for cluster in range(1, true.max() + 1)]
    assert found.of.tolist() == each


@quick
@given(masks)
def test_equal_clusterings_have_nothing_broken(mask):
    true = labels(mask)
    found = fates(true, true)
    assert set(found.of) <= {"kept"}
    assert (found.invented, found.splinters) == (0, 0)
    assert found.headline.intact


@quick
@given(masks, masks, st.randoms(use_true_random=False))
def test_numbers_of_clusters_do_not_matter(one, other, random):
    true, private = labels(one), labels(other)
    before = fates(true, private)
    order_true, order_private = list(range(1, true.max() + 1)), list(range(1, private.max() + 1))
    random.shuffle(order_true)
    random.shuffle(order_private)
    again = fates(
        np.array([0, *order_true], dtype=np.int32)[true],
        np.array([0, *order_private], dtype=np.int32)[private],
    )
    assert [again.of[number - 1] for number in order_true] == before.of.tolist()
    assert (again.invented, again.splinters) == (before.invented, before.splinters)
    assert again.headline == before.headline


@quick
@given(masks, masks)
def test_nothing_broken_means_equally_many_clusters(one, other):
    true, private = labels(one), labels(other)
    found = fates(true, private)
    if found.headline.intact:
        assert true.max() == private.max()
    # Every private cluster that is not invented and not a splinter belongs to a true cluster.
    left = private.max() - found.invented - found.splinters
    assert left >= found.count("kept")
    assert not (left and not np.any(found.of != "lost"))


CASES = {
    "found": ("11..22 11..22", "22..11 22..11", "Both clusters are found"),
    "lost and invented": (
        "11..22..... 11..22.....",
        "11......222 11......222",
        "1 cluster invented, 1 lost",
    ),
    "merged": ("11..22 11..22", "111111 111111", "2 clusters merged"),
    "split": ("1111111 1111111", "111.222 111.222", "1 cluster split"),
    "shrunk": ("11111111 11111111", "111..... ........", "1 cluster shrunk"),
    "grown": ("11........ 11........", "1111111111 1111111111", "1 cluster grown"),
    "splinter": (
        "1111111111 1111111111",
        "1111111.22 1111111.22",
        "The one cluster is found, 1 piece split off",
    ),
    "half of it in no true cluster": ("11111.. 11111..", "111.22. 111.22.", "1 cluster invented"),
    "nothing left": ("11..22 11..22", "...... ......", "2 clusters lost"),
    "nothing there": ("...... ......", "...11. ......", "1 cluster invented"),
    "nothing at all": ("...... ......", "...... ......", "No cluster, which is correct"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_sentence_names_what_broke(name):
    true, private, said = CASES[name]
    found = fates(drawn(true), drawn(private)).headline
    assert found.text == said
    assert found.intact == (name in ("found", "nothing at all"))


def test_the_rest_of_the_sentence_counts_what_is_found():
    found = fates(drawn("11..22 11..22"), drawn("11.... 11....")).headline
    assert (found.text, found.detail) == ("1 cluster lost", "1 of 2 true clusters found")
