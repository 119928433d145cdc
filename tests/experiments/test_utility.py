"""The stored results on the cost of soundness: complete, reproducible, and correctly reported."""

from __future__ import annotations

from itertools import product
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.experiments.utility import Cost, Spread, compared, costs, frame, sentence
from dpviz.families import CARDS
from dpviz.grid.domain import Domain
from dpviz.kmeans.parameters import defaults_of
from tests.benchmarks import utility as measured

COMPARED = tuple(name for name, card in CARDS.items() if measured.compares(card))


def spread(median: float, width: float = 0.1) -> Spread:
    return Spread(median=median, low=median - width, high=median + width)


def cost(
    sound: float, published: float, on_range: float | None = None, width: float = 0.01, **given: Any
) -> Cost:
    """A row of EUGkM on S1 with narrow spreads; by default, sound equals published on the range.

    The interval of the difference has ends at ``width`` from its median.
    """
    row: dict[str, Any] = {
        "method": "eugkm", "data": "s1", "title": "S1", "records": 5000, "score": "nicv_ratio",
        "epsilon": 0.5, "draws": 20, "settings": {},
    }  # fmt: skip
    return Cost(
        **row | given,
        sound=spread(sound),
        sound_on_range=spread(published if on_range is None else on_range),
        published=spread(published),
        difference=spread(sound - published, width),
    )


# -- the stored results ------------------------------------------------------------------


def test_every_method_with_two_variants_is_there_on_every_set_at_every_budget() -> None:
    expected = [
        (method, data, score, epsilon)
        for method, data, epsilon in measured.cells(COMPARED)
        for score in measured.SCORES[CARDS[method].family]
    ]
    assert [(row.method, row.data, row.score, row.epsilon) for row in costs()] == sorted(expected)
    sets = {method: {row.data for row in costs(method)} for method in COMPARED}
    assert sets["privthr"] == {"ds1", "ds2", "ds3"}
    assert sets["eugkm"] == {"ds1", "ds2", "ds3", "s1", "unbalance"}
    assert {row.epsilon for row in costs()} == {0.1, 0.5, 1.0}


def test_every_figure_is_possible() -> None:
    for row in costs():
        for one in (row.sound, row.sound_on_range, row.published):
            assert one.low <= one.median <= one.high, row
            assert row.difference.low <= row.difference.median <= row.difference.high, row
            # No clustering is better than the optimum without noise, and an F-measure is at most 1.
            assert one.low >= (1 if row.score == "nicv_ratio" else 0), row
            assert row.score != "f_measure" or one.high <= 1, row


def test_settings_are_those_of_today() -> None:
    """If a default changes, the results must be measured again."""
    for row in costs():
        setup = measured.SETUPS[row.data]
        assert row.draws == measured.DRAWS[CARDS[row.method].family]
        assert Domain.parse(row.settings["sound"]["domain"]) == setup.domain
        assert row.settings["published"]["domain"] == "data"
        if CARDS[row.method].family == "kmeans":
            assert row.settings == measured.settings(row.method, row.data)
            for variant in ("sound", "published"):
                assert defaults_of(row.method, variant).items() <= row.settings[variant].items()
        else:
            assert row.settings["sound"]["grid"] == setup.grid.sound
            # On both grids WaveCluster finds the number of clusters that the paper states.
            found = {row.settings[name]["true_clusters"] for name in ("sound", "published")}
            assert found == {setup.clusters}


@pytest.mark.parametrize("method", ["privqt", "privthr"])
def test_variants_that_are_one_mechanism_differ_by_the_domain_alone(method: str) -> None:
    for row in costs(method):
        assert row.sound_on_range == row.published
        assert row.mostly_box or row.sound == row.published


def test_sound_privgene_does_with_half_the_budget() -> None:
    """Sound PrivGene needs half the published noise; here, only the noise depends on epsilon."""
    rows = {(row.data, row.score, row.epsilon): row for row in costs("privgene")}
    for data, score in product(measured.SETUPS, ("nicv_ratio", "f_measure")):
        assert rows[data, score, 0.5].sound_on_range == rows[data, score, 1.0].published


@pytest.mark.daily("contour-s1-0.5")
@pytest.mark.parametrize(
    ("method", "data", "epsilon"),
    [
        ("baseline", "ds3", 0.5),
        ("privthr", "ds2", 0.5),
        ("privthrem", "ds1", 0.1),
        ("dplloyd", "ds3", 0.1),
        ("dpkmeansup", "unbalance", 0.5),
        ("contour", "s1", 0.5),
        ("mcmc", "s1", 0.1),
        ("hybrid", "s1", 1.0),
        ("gupt", "unbalance", 1.0),
        ("privgene", "s1", 0.5),
    ],
)
def test_reference_figures_come_out_again(method: str, data: str, epsilon: float) -> None:
    stored = [row for row in costs(method) if (row.data, row.epsilon) == (data, epsilon)]
    again = measured.measure(method, data, epsilon)
    assert sorted(again, key=lambda row: row.score) == stored


# -- verdicts and sentences ----------------------------------------------------------------


def test_costs_of_one_method_are_its_rows_of_all() -> None:
    for name in CARDS:
        assert costs(name) == tuple(row for row in costs() if row.method == name)
    assert costs("kmeans") == ()
    with pytest.raises(InputError, match='"nosuch" is unknown'):
        costs("nosuch")


@pytest.mark.parametrize("score", ["nicv_ratio", "dsg_c"])
def test_less_error_is_better(score: str) -> None:
    assert cost(1.0, 2.0, score=score).verdict == "better"
    assert cost(2.0, 1.0, score=score).verdict == "worse"


def test_more_f_measure_is_better() -> None:
    assert cost(0.9, 0.5, score="f_measure").verdict == "better"
    assert cost(0.5, 0.9, score="f_measure").verdict == "worse"


def test_a_verdict_needs_an_interval_that_is_beyond_a_fifth() -> None:
    assert cost(1.2, 1.0).verdict == "not clear"
    assert cost(1.22, 1.0).verdict == "worse"
    assert cost(0.78, 1.0).verdict == "better"
    assert cost(0.8, 1.0).verdict == "not clear"
    assert cost(0.0, 0.0).verdict == "not clear"
    # If the published median is 0, any difference is clear that the draws show.
    assert cost(0.11, 0.0).verdict == "worse"
    assert cost(0.11, 0.0, width=0.11).verdict == "not clear"


@given(st.floats(0.1, 9), st.floats(0.1, 9), st.floats(0, 3), st.floats(0, 3))
def test_a_wider_interval_is_never_clearer(
    sound: float, published: float, width: float, more: float
) -> None:
    narrow, wide = (cost(sound, published, width=one) for one in (width, width + more))
    assert wide.verdict in (narrow.verdict, "not clear")


def test_draws_are_compared_seed_by_seed() -> None:
    published = [float(seed) for seed in range(20)]
    found = measured.interval([one + 1 for one in published], published)
    assert found == Spread(median=1.0, low=1.0, high=1.0)
    shuffled = measured.interval(published[::-1], published)
    assert shuffled.low < 0 < shuffled.high


def test_the_larger_part_of_a_difference_is_the_mechanisms_or_the_boxs() -> None:
    assert cost(3.0, 1.0, on_range=1.9).mostly_box
    assert not cost(3.0, 1.0, on_range=2.1).mostly_box
    # The loss because of the box may be larger than the gain because of the mechanism.
    assert cost(3.0, 1.0, on_range=0.5).mostly_box
    assert not cost(1.0, 1.0).mostly_box


def test_frame_has_a_row_for_each_way_to_run_it() -> None:
    table = frame([cost(3.0, 1.0, on_range=2.0), cost(0.5, 0.9, score="f_measure", draws=10)])
    shared = {"method": "EUGkM", "data": "S1", "records": 5000, "epsilon": 0.5}
    expected = pd.DataFrame(
        [
            ("NICV ratio", "sound", "declared", 3.0, 2.9, 3.1, 20),
            ("NICV ratio", "sound", "range of the data", 2.0, 1.9, 2.1, 20),
            ("NICV ratio", "published", "range of the data", 1.0, 0.9, 1.1, 20),
            ("F-measure", "sound", "declared", 0.5, 0.4, 0.6, 10),
            ("F-measure", "sound", "range of the data", 0.9, 0.8, 1.0, 10),
            ("F-measure", "published", "range of the data", 0.9, 0.8, 1.0, 10),
        ],
        columns=["score", "variant", "domain", "median", "5%", "95%", "draws"],
    ).assign(**shared)
    columns = [*("method", "data", "records", "score", "epsilon", "variant", "domain")]
    columns += ["median", "5%", "95%", "draws"]
    pd.testing.assert_frame_equal(table, expected[columns])


def test_the_sentence_tells_medians_verdicts_and_whose_fault_it_is() -> None:
    rows = [
        cost(1.12, 2.105, on_range=1.1, title="S1"),
        cost(2331.0, 158.4, title="Unbalance"),
        cost(1.014, 1.002, title="DS1"),
        cost(5.0, 2.0, on_range=4.0, title="DS2"),
        cost(1.0, 2.0, title="DS3"),
        # Other scores and other budgets are not reported.
        cost(0.1, 0.9, score="f_measure", title="not this"),
        cost(9.0, 1.0, epsilon=1.0, title="nor this"),
    ]
    assert compared(rows) == (
        "Sound against published at ε 0.5, median NICV ratio (lower is better): 1.12 against 2.1 "
        "on S1, 2,331 against 158 on Unbalance, 1.01 against 1 on DS1, 5 against 2 on DS2 and 1 "
        "against 2 on DS3; clearly worse on DS2, worse mostly by the declared box on "
        "Unbalance, better on S1, better mostly by the declared box on DS3; worse on DS1, by an "
        "unclear amount."
    )


def test_the_sentence_of_one_set_without_a_difference() -> None:
    assert compared([cost(0.05, 0.05, score="dsg_c", title="DS1")]) == (
        "Sound against published at ε 0.5, median DSG_C (lower is better): 0.05 against 0.05 on "
        "DS1; 20 draws are too few to show a difference of more than 20% (99% confidence); there "
        "may be such a difference."
    )


def test_the_sentence_tells_differences_of_an_unclear_amount() -> None:
    rows = [
        cost(1.5, 1.0, width=0.4, title="DS3"),
        cost(0.5, 1.0, width=0.4, title="S1"),
        cost(1.0, 1.0, width=0.4, title="DS1"),
    ]
    assert compared(rows).endswith(
        "there may be such a difference; worse on DS3, by an unclear amount; better on S1, by an "
        "unclear amount."
    )


def test_the_sentence_needs_rows_to_tell_about() -> None:
    with pytest.raises(InputError, match=r"no median .* at epsilon = 0\.5"):
        compared([cost(0.5, 0.9, score="f_measure")])


def test_the_sentence_of_a_method_is_that_of_its_rows() -> None:
    for name in COMPARED:
        assert sentence(name) == compared(costs(name))
    nothing = "so there is nothing to compare."
    assert sentence("kmeans") == f"k-means (true) spends no budget, {nothing}"
    assert sentence("twostage") == f"Two-stage has only a sound variant, {nothing}"
    with pytest.raises(InputError, match="is unknown"):
        sentence("nosuch")
