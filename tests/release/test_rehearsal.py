"""Rehearsals: what they say is what releases of the same plan bring, and no record is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpviz.data.samples import load_sample, sample
from dpviz.domain import Domain
from dpviz.errors import InputError
from dpviz.families import FAMILIES
from dpviz.privacy.ledger import Neighbours
from dpviz.release.rehearsal import (
    Rehearsal,
    StandIn,
    _matched,
    changes,
    made_up,
    rehearse,
)
from dpviz.release.request import Request
from dpviz.work import Cancelled

BOX = Domain(((2.0, 3.0), (48.0, 49.0)))


def plan(family: str = "wavecluster", cap: int = 1, **given: Any) -> Request:
    config = FAMILIES[family].config(
        **{"method": "privthrem", "epsilon": 1.0, **given}, neighbours=Neighbours(cap=cap)
    )
    return Request(config=config, domain=BOX, unit="person" if cap > 1 else None)


def tried(request: Request, records: int = 20_000) -> Rehearsal:
    return rehearse(request, made_up(BOX, records), draws=20, fewer=5)


def test_a_fine_grid_at_a_high_cap_invents_and_a_coarse_one_without_does_not() -> None:
    fine = tried(plan(grid=64, density=0.58, cap=3))
    coarse = tried(plan(grid=16, density=0.8, epsilon=4.0))
    assert np.median(fine.plan.invented) >= 5
    assert np.median(fine.nothing) >= 5
    assert np.median(coarse.plan.invented) <= 2
    assert (fine.plan.invented <= fine.plan.reported).all()
    said = fine.sentence
    assert f"about {np.median(fine.plan.invented):.0f} invented clusters" in said
    assert "5% to 95% of 20 draws" in said
    # It was tried: halving g helps here.
    assert "g 32 in place of 64" in fine.advice


def test_scattered_records_ask_for_a_larger_p() -> None:
    """A tenth of the made-up records is scattered: half of all filled cells are theirs."""
    by_hand = tried(plan(method="twostage", grid=64, density=0.58))
    private = tried(plan(method="twostage", choose="private"))
    assert by_hand.advice.startswith("What would help: p 0.8 in place of 0.58 (0 invented, 0 of 5")
    assert "g 58 and p 0.8 by hand (0 invented, 0 of 5 lost)" in private.advice
    assert not any(words.startswith("p ") for words in changes(plan(density=0.96)))


@pytest.mark.exhaustive
def test_small_clusters_are_tried_too_and_ask_for_a_still_larger_p() -> None:
    """Five hot spots fill few cells: of a fifth of all cells most are scattered records."""
    request = plan(method="twostage", grid=50, density=0.8)
    small = made_up(BOX, 20_000, small=True)
    found = rehearse(request, made_up(BOX, 20_000), small=small, draws=10, fewer=5)
    assert found.advice == "Nothing needs to change for that."
    assert "Are your clusters small" in found.if_small
    assert "p 0.96 in place of 0.8 (0 invented" in found.if_small
    assert found.best == {"p 0.96 in place of 0.8": "for small clusters"}
    advised = rehearse(
        plan(method="twostage", grid=50, density=0.96), made_up(BOX, 20_000), small=small,
        draws=5, fewer=5, advised=True,
    )  # fmt: skip
    assert advised.changes == {}
    assert "0 invented" in found.if_small
    assert "tried" not in advised.advice + advised.if_small
    without = tried(request)
    assert without.if_small == ""
    assert without.best == {}


def test_more_noise_is_seen_by_the_rehearsal() -> None:
    one, ten = (tried(plan(grid=32, density=0.9, cap=cap)).plan.again.mean() for cap in (1, 20))
    assert one > ten


def test_a_rehearsal_repeats_itself() -> None:
    request = plan(grid=32)
    assert tried(request).sentence == tried(request).sentence


def test_k_means_is_rehearsed_by_clusters_that_are_found() -> None:
    found = tried(plan("kmeans", method="dplloyd", clusters=5, epsilon=2.0))
    assert found.sentence.startswith("Expect about ")
    assert "clusters to be found" in found.sentence
    assert "invented" not in found.sentence
    assert found.nothing.size == 0


def test_a_sample_set_stands_in_with_its_own_true_clusters() -> None:
    facts = sample("gaussians")
    stand_in = StandIn(
        title=facts.title, dataset=load_sample("gaussians"), domain=facts.domain, labels=None
    )
    found = rehearse(plan(grid=facts.grid, density=facts.density), stand_in, draws=5, fewer=1)
    assert found.plan.true == facts.clusters
    assert found.records == facts.n
    many = Request(
        config=FAMILIES["kmeans"].config(method="dplloyd", clusters=3),
        domain=Domain(((0, 1), (0, 1), (0, 1))),
    )
    with pytest.raises(InputError, match="has 2 columns, and the release has 3"):
        rehearse(many, stand_in, draws=1, fewer=1)


def test_made_up_data_hang_on_public_numbers_alone() -> None:
    one, other = made_up(BOX, 500), made_up(Domain(((0.0, 1.0), (0.0, 1.0))), 500)
    assert one.dataset.n == 500
    assert BOX.contains(one.dataset.points).all()
    assert np.allclose(one.dataset.points - [2, 48], other.dataset.points)
    assert set(one.labels) == {-1, 0, 1, 2, 3, 4}


def test_changes_are_single_and_stay_valid() -> None:
    request = plan(grid=64, density=0.58)
    found = changes(request)
    assert list(found) == [
        "ε 2 in place of 1",
        "g 32 in place of 64",
        "p 0.8 in place of 0.58",
        "p 0.9 in place of 0.58",
        "p 0.96 in place of 0.58",
        "“Choose g and p: privately”",
        "Two-stage in place of PrivTHREM",
    ]
    assert all(one.domain == BOX for one in found.values())
    chosen = replace(request, config=replace(request.config, choose="private"))
    assert "g 32 in place of 64" not in changes(chosen)
    assert not any(words.startswith("ε") for words in changes(plan(epsilon=15.0)))


def test_clusters_are_matched_one_to_one() -> None:
    true = np.array([0, 0, 0, 0, 1, 1, 1, 1, -1, -1])
    assert _matched(true, true) == (2, 2)
    # One cluster over both: matched with one of them, of which it is half.
    assert _matched(true, np.where(true >= 0, 0, -1)) == (1, 1)
    # A cluster of what is none of them is matched with nothing.
    assert _matched(true, np.array([0, 0, 0, 0, -1, -1, -1, -1, 1, 1])) == (1, 1)
    assert _matched(true, np.full(10, -1)) == (0, 0)


def test_a_rehearsal_stops_when_asked() -> None:
    with pytest.raises(Cancelled):
        rehearse(plan(grid=16), made_up(BOX, 100), draws=5, cancelled=lambda: True)


@pytest.mark.parametrize("family", FAMILIES)
def test_all_methods_can_be_rehearsed(family: str) -> None:
    for name, method in FAMILIES[family].methods.items():
        if method.card.spends:
            found = rehearse(plan(family, method=name), made_up(BOX, 300), draws=2, fewer=1)
            assert found.sentence.endswith(".")
            assert found.advice.endswith(".")
