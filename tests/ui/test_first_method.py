"""The sentence on why a default method is the default, and the counts in the sentence."""

from __future__ import annotations

import pandas as pd
import pytest

from dpviz.experiments.benchmark import Benchmark, Lead, SetFacts, benchmark, lead, leads
from dpviz.families import FAMILIES
from dpviz.ui.widgets.first_method import reason
from tests.support.benchmark import leads_of, summarised
from tests.support.links import opened

#: Error of each method on each set. The set "seen" was used in development; on "far", DP-Refine was
#: not run.
ERRORS = {
    ("dprefine", "sound"): {"a": 1.1, "b": 1.3, "c": 1.2, "d": 1.0, "seen": 1.0},
    ("dplloyd", "sound"): {"a": 1.5, "b": 1.4, "c": 1.2, "d": 1.2, "seen": 2.0, "far": 1.0},
    # These are not rivals, because they are not private, or because they read no data.
    ("dpkmeanspp", "published"): {"a": 1.0, "b": 1.0, "c": 1.0},
    ("kmeans", "sound"): {"a": 1.0, "b": 1.0, "c": 1.0},
    ("nodata", "sound"): {"a": 1.05},
    ("google", "sound"): {"b": 1.2, "c": 1.3, "d": 1.4},
}


@pytest.fixture
def found():
    rows = [
        {"data": data, "method": method, "variant": variant, "epsilon": 0.5, "nicv_ratio": value}
        for (method, variant), values in ERRORS.items()
        for data, value in values.items()
    ]
    names = {name for values in ERRORS.values() for name in values}
    sets = {
        name: SetFacts(
            name=name, title=name, kind="mixture", seen=name == "seen", records=10, columns=2,
            families=("kmeans",), credit="ours",
        )
        for name in names
    }  # fmt: skip
    return Benchmark(sets=sets, cells=summarised(pd.DataFrame(rows)))


def test_cases_are_those_of_unseen_sets_against_all_that_is_private(found):
    # On a, a peer has no result. On b, DP-Refine is worse than the peer. On c, it is as good as
    # another method. It is first only on d.
    assert lead(found, "kmeans", "dprefine") == Lead(
        method="dprefine", best={"nicv_ratio": 1}, cases=3, left_out=1, sets=3, draws=(1, 1)
    )
    assert lead(found, "wavecluster", "twostage") is None
    assert lead(Benchmark(sets={}, cells=found.cells[:0]), "kmeans", "dprefine") is None


def test_the_stored_leads_are_those_of_the_results():
    assert [*leads().values()] == leads_of(benchmark())


def test_without_figures_there_is_no_number(found):
    said, counted = reason("DP-Refine", None)
    assert counted is None
    assert not any(sign.isdigit() for sign in said)
    measured, counted = reason("DP-Refine", lead(found, "kmeans", "dprefine"))
    # The best F-measure is the highest, so the words must hold for both directions.
    assert ": best median NICV / true at equal ε in 1 of 3 cases; 1 more case left out." in measured
    assert "A case is left out if one of them has no result there" in counted
    assert "No test says whether a best median is chance" in counted
    assert "3 sets on which no constant was chosen" in counted
    for both in (said, measured):
        assert both.count(". ") == 1
        assert both.endswith("The papers' methods are one click away.")


@pytest.mark.parametrize("page", [*FAMILIES, "release"])
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_the_default_alone_says_why(page, family):
    if page not in ("release", family.name):
        pytest.skip("the explorer of the other family")
    for method in (family.first, "privthr" if family.name == "wavecluster" else "eugkm"):
        said = [one.value for one in opened(page, {"method": method}).caption]
        title = family.methods[method].card.title
        first = [one for one in said if one.startswith(f"Our own {title} is the default")]
        assert len(first) == (method == family.first)
