"""Figures of the audit page show exactly the results."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpviz.audit import AuditResult, audit, scenarios
from dpviz.audit.histogram import MOST_VALUES, Histogram
from dpviz.audit.membership import MembershipExperiment, membership_experiment
from dpviz.figures.audit.claims import bounds_bars, bounds_frame, floored, score_bars, score_frame
from dpviz.figures.audit.person import (
    joining_frame,
    joining_maps,
    membership_bars,
    membership_frame,
)
from dpviz.ui.audit.person import person_joining
from tests.support.travelling import travels_plainly

MODES = ("light", "dark")


@pytest.fixture(scope="module")
def joining():
    return person_joining.__wrapped__()


@pytest.fixture(scope="module")
def story() -> MembershipExperiment:
    return membership_experiment("privthr", 1.0, draws=300)


#: Events of scores with few values, with many values and with integers; and an event on the other
#: side of its threshold.
AUDITS = (
    ("privqt", "published", "far-point", 400),
    ("privthrem", "published", "largest-cell", 400),
    ("dpkmeanspp", "published", "stopping", 300),
    ("eugkm", "published", "true-size", 60),
    ("privqt", "sound", "half-noise", 400),
    ("privqt", "sound", "moved-unknown", 400),
)


@pytest.fixture(scope="module", params=AUDITS, ids=lambda row: f"{row[0]}-{row[2]}")
def result(request) -> AuditResult:
    method, variant, scenario, runs = request.param
    return audit(method, variant, scenario=scenario, runs=runs)


def of(values_without, values_joined, sign: str, threshold: float) -> AuditResult:
    parts = [np.array(values, dtype=float) for values in (values_without, values_joined)]
    return AuditResult(
        method="privqt",
        variant="sound",
        scenario="far-point",
        planted=False,
        description="",
        claim=1.0,
        epsilon_lower=0.0,
        confidence=0.99,
        runs=2 * len(parts[0]),
        event=f"size {sign} {threshold:g}: ...",
        sign=sign,
        threshold=threshold,
        sides=("without", "with the person"),
        without=0.0,
        joined=0.0,
        violated=False,
        histogram=Histogram.of("size", *parts, threshold),
    )


def drawn_share(panels, side: int) -> float:
    """Share of a data set's runs whose bars are on a shaded background."""
    shaded = [one for one in panels.layout["shapes"] if one["type"] == "rect"]
    trace = panels.data[side]
    return sum(
        share
        for place, share in zip(trace["x"], trace["y"], strict=True)
        if any(one["x0"] < place < one["x1"] for one in shaded)
    )


@pytest.mark.parametrize(("bound", "said"), [(0, "0.00"), (6.789, "6.78"), (1.005, "1.00")])
def test_a_lower_bound_is_never_rounded_up(bound, said):
    assert floored(bound) == said


# ---- one person


@pytest.mark.parametrize("mode", MODES)
def test_maps_show_both_clusterings_and_the_person(joining, mode):
    panels = joining_maps(joining, mode)
    headings = [one["text"] for one in panels.layout["annotations"]]
    assert headings == ["<b>without</b> · 2 clusters", "<b>with the person</b> · 1 cluster"]
    assert "2 clusters without and 1 cluster with the person" in panels.alt
    for number, axis in enumerate(("x", "x2")):
        cells, points, numbers, person = (one for one in panels.data if one["xaxis"] == axis)
        labels = joining.stages[number].labels
        np.testing.assert_array_equal(cells["z"].T > 0, labels > 0)
        assert len(np.unique(cells["z"][cells["z"] > 0])) == joining.stages[number].n_clusters
        assert len(points["x"]) == 799 + number
        assert numbers["text"] == [f"<b>{one + 1}</b>" for one in range(labels.max())]
        assert [*person["x"], *person["y"]] == list(joining.person)
        assert ("this person" in person["text"][0]) == (number == 1)
    panels.figure()


def test_table_of_the_maps_holds_every_cell(joining):
    table = joining_frame(joining)
    for number, side in enumerate(("without", "with the person")):
        labels = joining.stages[number].labels
        np.testing.assert_array_equal(table[f"cluster {side}"], labels.ravel())
    changed = table[(table["cluster without"] > 0) != (table["cluster with the person"] > 0)]
    width = joining.width
    # Only the person's own cell becomes significant.
    assert len(changed) == 1
    assert (np.abs(changed[list(joining.columns)].to_numpy() - joining.person) <= width / 2).all()


@pytest.mark.parametrize("mode", MODES)
def test_bars_and_band_are_those_of_the_story(story, mode):
    panels = membership_bars(story, mode)
    band, without, joined = panels.data
    for counts, trace in ((story.without, without), (story.joined, joined)):
        np.testing.assert_allclose(trace["y"], 100 * np.array(counts) / story.draws)
        np.testing.assert_array_equal(np.round(trace["x"]), story.numbers)
    low, high = np.array(story.limits).T
    np.testing.assert_allclose(band["base"], 100 * low)
    np.testing.assert_allclose(band["base"] + band["y"], 100 * high)
    # Each bar with the person is inside the band of its own number; bars don't overlap.
    half = (band["width"] - joined["width"]) / 2
    assert (np.abs(joined["x"] - band["x"]) <= half + 1e-9).all()
    assert (without["x"] + without["width"] / 2 <= joined["x"] - joined["width"] / 2).all()
    assert "pattern" in joined["marker"]
    assert "pattern" not in without["marker"]
    assert "2.72 times" in band["name"]
    assert "2.72 times" in panels.alt
    assert panels.layout["yaxis"]["range"][1] > max(*without["y"], *joined["y"])
    panels.figure()


def test_table_of_the_story_adds_up(story):
    table = membership_frame(story)
    assert table["draws without"].sum() == table["draws with the person"].sum() == story.draws
    assert table["number of clusters"].is_monotonic_increasing
    ratio = table["largest share allowed"] / table["least share allowed"]
    seen = (table["share without"] > 0) & (table["largest share allowed"] < 1)
    np.testing.assert_allclose(ratio[seen], math.e**2)


# ---- the telling score


@pytest.mark.parametrize("mode", MODES)
def test_the_shaded_bars_are_the_event(result, mode):
    panels = score_bars(result, mode)
    assert drawn_share(panels, 0) == pytest.approx(100 * result.without)
    assert drawn_share(panels, 1) == pytest.approx(100 * result.joined)
    assert all(sum(trace["y"]) == pytest.approx(100) for trace in panels.data)
    assert f"{result.threshold:,.6g}" in panels.layout["annotations"][0]["text"]
    assert panels.layout["annotations"][0]["text"].startswith("shaded: the event, ")
    assert result.event in panels.alt
    assert panels.layout["xaxis"]["title"]["text"] == result.histogram.score
    panels.figure()


def test_table_of_the_score_counts_every_deciding_run(result):
    table = score_frame(result)
    assert (table.filter(like="runs ").sum() == result.runs - result.runs // 2).all()
    assert (table["to"].dropna() > table["from"].dropna()).all()


def test_sides_have_the_names_of_the_scenario():
    found = audit("privqt", "sound", scenario="moved-record", runs=40)
    assert [one["name"] for one in score_bars(found, "light").data] == ["before", "after the move"]
    assert list(score_frame(found))[2:] == ["runs before", "runs after the move"]


def test_few_values_stand_side_by_side_under_their_names():
    found = of([0, 0, 5, 1200], [5, 1200, 1200, 1200], "==", 5)
    panels = score_bars(found, "light")
    assert panels.layout["xaxis"]["ticktext"] == ["0", "5", "1,200"]
    assert panels.layout["xaxis"]["tickvals"] == [0, 1, 2]
    assert panels.data[0]["y"] == [50, 25, 25]
    assert drawn_share(panels, 1) == 25


def test_many_values_keep_their_scale():
    values = np.linspace(0, 1, 500)
    found = of(values, values + 0.2, ">=", 0.7)
    panels = score_bars(found, "light")
    assert len(panels.data[0]["y"]) == MOST_VALUES + 1
    assert "tickvals" not in panels.layout["xaxis"]
    (line,) = (one for one in panels.layout["shapes"] if one["type"] == "line")
    assert line["x0"] == line["x1"] == pytest.approx(0.7)


@pytest.mark.parametrize(("sign", "share"), [("==", 75), ("!=", 25)])
def test_runs_without_such_a_number_have_a_bar_of_their_own(sign, share):
    found = of([1, 2, 3, 4], [1, math.nan, math.nan, math.nan], sign, math.inf)
    panels = score_bars(found, "light")
    assert panels.data[1]["y"] == [25, 0, 0, 0, 75]
    assert panels.data[1]["text"][-1] == "none"
    assert drawn_share(panels, 1) == share


# ---- claimed against measured


@pytest.fixture(scope="module")
def rows():
    refuted = of([1], [1], ">=", 1)
    found = {
        2: replace(refuted, epsilon_lower=6.789, violated=True),
        5: replace(refuted, epsilon_lower=0.301),
    }
    return [(one, found.get(number)) for number, one in enumerate(scenarios())]


@pytest.mark.parametrize("mode", MODES)
def test_bars_of_the_bounds_against_the_claim(rows, mode):
    panels = bounds_bars(rows, 2.0, mode)
    refuted, standing = panels.data
    assert refuted["x"] == [6.789]
    assert refuted["text"] == ["refuted: ≥ 6.78"]
    assert standing["x"] == [0.301]
    assert standing["text"] == ["≥ 0.30"]
    assert refuted["marker"] != standing["marker"]
    names = panels.layout["yaxis"]["categoryarray"]
    assert names == [*refuted["y"], *standing["y"]]
    assert names[0] == "PrivQT published · far-point"
    (line,) = panels.layout["shapes"]
    assert line["x0"] == line["x1"] == 2
    assert panels.layout["annotations"][0]["text"] == "claimed ε = 2"
    assert "1 refuted, 1 not refuted" in panels.alt
    assert panels.layout["xaxis"]["range"][1] > 6.789
    panels.figure()


def test_the_height_follows_the_number_of_bars(rows):
    every = [(one, rows[2][1]) for one, _ in rows]
    panels = bounds_bars(every, 1.0, "light")
    assert panels.height > 20 * len(every)
    assert len(set(panels.layout["yaxis"]["categoryarray"])) == len(every)


def test_table_of_the_bounds_has_a_row_for_every_scenario(rows):
    table = bounds_frame(rows, 2.0)
    assert len(table) == len(scenarios())
    assert list(table["verdict"][[2, 5, 0]]) == ["refuted", "not refuted", ""]
    assert table["measured ε, at least"].count() == table["runs"].count() == 2
    assert (table["claimed ε"] == 2).all()
    said = table.drop_duplicates(["variant", "scenario"])
    said = said.set_index(["variant", "scenario"])["said to be"]
    assert said["published", "largest-cell"] == "not private"
    assert said["sound", "half-noise"] == "planted mistake"
    assert said["sound", "moved-record"] == "private"


@pytest.mark.parametrize("mode", MODES)
def test_all_figures_travel_as_plain_numbers_in_the_colours_of_the_theme(
    joining, story, result, rows, mode
):
    for panels in (
        joining_maps(joining, mode),
        membership_bars(story, mode),
        score_bars(result, mode),
        bounds_bars(rows, 1.0, mode),
    ):
        travels_plainly(panels, mode)
