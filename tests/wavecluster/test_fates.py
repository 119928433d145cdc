"""Fates: every true cluster has one fate, and the headline sums up all fates."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpviz.wavecluster.components import connected_components
from dpviz.wavecluster.diagnosis import outcome
from dpviz.wavecluster.fates import fates
from tests.support.tiers import examples

masks = arrays(bool, (7, 9), elements=st.booleans())
quick = examples(200)


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
    assert (found.invented.size, found.splinters.size) == (0, 0)
    assert found.match.tolist() == list(range(1, true.max() + 1))
    assert not found.beside.any()
    assert found.headline.intact


@quick
@given(masks, masks, st.randoms(use_true_random=False))
def test_numbers_of_clusters_do_not_matter(one, other, random):
    true, private = labels(one), labels(other)
    before = fates(true, private)
    order_true, order_private = list(range(1, true.max() + 1)), list(range(1, private.max() + 1))
    random.shuffle(order_true)
    random.shuffle(order_private)
    of_true, of_private = (np.array([0, *order]) for order in (order_true, order_private))
    again = fates(of_true.astype(np.int32)[true], of_private.astype(np.int32)[private])
    assert [again.of[number - 1] for number in order_true] == before.of.tolist()
    for kind in ("invented", "splinters"):
        assert set(of_private[getattr(before, kind)]) == set(getattr(again, kind))
    # The sentence counts the same pieces, with their new labels.
    assert again.headline.text == before.headline.text
    for word, new in zip(before.headline.words, again.headline.words, strict=True):
        order = of_private if word.kind in ("invented", "splinters") else of_true
        assert {order[piece] for piece in word.pieces} == set(new.pieces)


@quick
@given(masks, masks)
def test_each_count_of_the_sentence_is_the_number_of_its_pieces(one, other):
    true, private = labels(one), labels(other)
    found = fates(true, private)
    for word in found.headline.words:
        counts = [int(digits) for digits in re.findall(r"\d+", word.text)]
        if word.kind:
            assert counts == [len(word.pieces)] == [len(set(word.pieces))]
        most = private.max() if word.kind in ("invented", "splinters") else true.max()
        assert all(1 <= piece <= most for piece in word.pieces)
    of_true = [
        piece
        for word in found.headline.words
        for piece in word.pieces
        if word.kind not in ("invented", "splinters")
    ]
    kept = np.flatnonzero(found.of == "kept") + 1
    if any(word.kind for word in found.headline.words):
        assert sorted([*of_true, *kept]) == list(range(1, true.max() + 1))


@quick
@given(masks, masks)
def test_matches_and_neighbours_are_those_of_each_cluster(one, other):
    true, private = labels(one), labels(other)
    found = fates(true, private)
    for cluster in range(1, true.max() + 1):
        each = outcome(true, private, cluster)
        assert found.match[cluster - 1] == each.match
        assert (np.flatnonzero(found.beside[cluster - 1]) + 1).tolist() == list(each.joined)


@quick
@given(masks, masks)
def test_nothing_broken_means_equally_many_clusters(one, other):
    true, private = labels(one), labels(other)
    found = fates(true, private)
    if found.headline.intact:
        assert true.max() == private.max()
    # Every private cluster that is not invented and not a splinter belongs to a true cluster.
    left = private.max() - found.invented.size - found.splinters.size
    assert left >= found.having("kept").size
    assert not (left and not np.any(found.of != "lost"))


CASES = {
    "found": ("11..22 11..22", "22..11 22..11", "Both clusters are found"),
    "lost and invented": (
        "11..22..... 11..22.....",
        "11......222 11......222",
        "1 cluster invented, 1 lost",
    ),
    "merged": ("11..22 11..22", "111111 111111", "2 clusters merged"),
    "merged into a larger one": (
        "11..2222 ....2222",
        "11111111 ....1111",
        "1 cluster merged with another",
    ),
    "only invented squares left": (
        "1111.... 1111....",
        "...11111 ...11111",
        "1 cluster invented, 1 lost",
    ),
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


PIECES = {
    "lost and invented": {"invented": (2,), "lost": (2,)},
    "merged": {"joined": (1, 2)},
    "splinter": {"splinters": (2,)},
    "half of it in no true cluster": {"invented": (2,)},
}


@pytest.mark.some(len(PIECES))
@pytest.mark.parametrize("name", PIECES)
def test_the_sentence_knows_its_pieces(name):
    true, private, _ = CASES[name]
    words = fates(drawn(true), drawn(private)).headline.words
    assert {word.kind: word.pieces for word in words if word.kind} == PIECES[name]


def test_the_rest_of_the_sentence_counts_what_is_found():
    found = fates(drawn("11..22 11..22"), drawn("11.... 11....")).headline
    assert (found.text, found.detail) == ("1 cluster lost", "1 of 2 true clusters found")
