"""Figures of the compare page show exactly the summary."""

import json
import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from dpviz.base.numbers import readable
from dpviz.families import CARDS, FAMILIES, PARAMETERS, SCORES, score_of
from dpviz.figures.compare import Chart, _log_axis, curves, summary_frame
from dpviz.figures.looks import METHODS, look_of
from dpviz.ui.widgets.live_figure import encode
from tests.test_numbers import number_of

MODES = ("light", "dark")
EPSILONS = (0.1, 0.5, 2.0)
TWO = ("privqt", "privthr")


def table(methods=TWO, epsilons=EPSILONS, data="blobs", scale=1.0) -> pd.DataFrame:
    rows = [
        {
            "data": data,
            "method": method,
            "variant": "sound",
            "epsilon": epsilon,
            "draws": 10,
            "mean": scale * (number + 1) * epsilon * 1.5,
            "standard_error": scale * (number + 1) * epsilon * 0.1,
            "median": scale * (number + 1) * epsilon,
            "low": scale * (number + 1) * epsilon * 0.8,
            "high": scale * (number + 1) * epsilon * 1.3,
        }
        for number, method in enumerate(methods)
        for epsilon in epsilons
    ]
    names = ["data", "method", "variant", "epsilon", "draws", "mean", "standard_error"]
    names += ["median", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def chart(score="dsg_c", heading="Blobs", true=None, **more) -> Chart:
    return Chart(heading=heading, score=score, table=table(**more), true=true)


def draw(*charts, methods=TWO, epsilons=EPSILONS, shared=True, mode="light", line="median"):
    return curves(
        charts,
        methods=methods,
        values=epsilons,
        title="a title",
        shared=shared,
        mode=mode,
        line=line,
    )


def lines(panels) -> list[dict]:
    return [trace for trace in panels.data if "markers" in trace["mode"]]


def bands(panels) -> list[dict]:
    return [trace for trace in panels.data if trace.get("fill") == "toself"]


def test_medians_and_bands_are_those_of_the_table():
    panels = draw(chart())
    for number, (line, band) in enumerate(zip(lines(panels), bands(panels), strict=True)):
        median = (number + 1) * np.array(EPSILONS)
        assert line["name"] == CARDS[TWO[number]].title
        assert line["x"] == pytest.approx(EPSILONS)
        assert line["y"] == pytest.approx(median)
        assert line["text"][0].startswith(f"median {readable(median[0])}<br>all 10 draws: ")
        assert band["x"] == pytest.approx([*EPSILONS, *reversed(EPSILONS)])
        assert band["y"] == pytest.approx([*(1.3 * median), *(0.8 * median[::-1])])


def test_means_replace_the_medians_or_stand_beside_them():
    panels = draw(chart(), line="mean")
    for number, line in enumerate(lines(panels)):
        mean = 1.5 * (number + 1) * np.array(EPSILONS)
        assert line["y"] == pytest.approx(mean)
        assert line["text"][0].startswith(f"mean {readable(mean[0])}<br>")
    assert panels.alt.startswith("Mean of DSG_C")
    panels = draw(chart(), line="both")
    thin = [one for one in panels.data if one.get("legendgroup") == "means"]
    assert [one["showlegend"] for one in thin] == [True, False]
    for number, (line, means) in enumerate(zip(lines(panels), thin, strict=True)):
        assert line["y"] == pytest.approx((number + 1) * np.array(EPSILONS))
        assert means["y"] == pytest.approx(1.5 * line["y"])
    # A few bad draws put a mean above the band; the axis shows it all the same.
    assert panels.layout["yaxis"]["range"][1] > 1.5 * 2 * max(EPSILONS)


def test_bands_of_few_draws_are_called_what_they_are():
    shown = chart()
    few = draw(shown)
    assert "%{text}" in lines(few)[0]["hovertemplate"]
    assert all("<br>all 10 draws: " in text for text in lines(few)[0]["text"])
    assert "with a band of all 10 draws." in few.alt
    shown.table["draws"] = 19
    assert "with a band of 5% to 95% of draws." in draw(shown).alt
    # During a run, some points have fewer draws.
    shown.table.loc[1, "draws"] = 18
    mixed = draw(shown)
    nineteen = "5% to 95% of draws"
    names = (nineteen, "all 18 draws", nineteen)
    for text, name in zip(lines(mixed)[0]["text"], names, strict=True):
        assert f"<br>{name}: " in text
    assert f"{nineteen}, and of all draws if there are fewer than 19 draws." in mixed.alt


def test_rows_may_come_in_any_order():
    shuffled = Chart(heading="Blobs", score="dsg_c", table=table().sample(frac=1, random_state=3))
    for ordered, line in zip(lines(draw(chart())), lines(draw(shuffled)), strict=True):
        assert line["x"] == pytest.approx(ordered["x"])
        assert line["y"] == pytest.approx(ordered["y"])


@pytest.mark.parametrize("mode", MODES)
def test_every_method_has_looks_of_its_own_whatever_else_is_shown(mode):
    looks = {method: look_of(method, mode) for method in METHODS}
    assert set(looks) == {name for name, card in CARDS.items() if card.spends}
    for one, other in combinations(looks.values(), 2):
        assert one != other
    # If two methods have the same colour, both symbol and dash differ.
    for one, other in combinations(looks.values(), 2):
        if one.colour == other.colour:
            assert one.symbol != other.symbol
            assert one.dash != other.dash
    for methods in (("privthrem",), ("privthr", "privthrem", "gupt")):
        line = next(
            one
            for one in lines(draw(chart(methods=methods), methods=methods, mode=mode))
            if one["name"] == "PrivTHREM"
        )
        look = looks["privthrem"]
        assert line["line"]["color"] == line["marker"]["color"] == look.colour
        assert (line["marker"]["symbol"], line["line"]["dash"]) == (look.symbol, look.dash)


def test_the_legend_names_each_method_once_and_moves_it_in_all_panels():
    panels = draw(chart(heading="A", true=7.0), chart(heading="B", true=9.0))
    named = [trace["name"] for trace in panels.data if trace["showlegend"]]
    assert sorted(named) == ["PrivQT", "PrivTHR", "true, without noise"]
    assert {trace["legendgroup"] for trace in panels.data} == {*TWO, "true"}
    assert [trace["y"] for trace in panels.data if trace["legendgroup"] == "true"] == [
        [7.0, 7.0],
        [9.0, 9.0],
    ]


@pytest.mark.parametrize("n", range(1, 8))
def test_panels_stand_side_by_side_without_overlap(n):
    panels = draw(*(chart(heading=f"data {number}") for number in range(n)))
    areas = []
    for number in range(n):
        suffix = "" if number == 0 else str(number + 1)
        across, up = panels.layout[f"xaxis{suffix}"], panels.layout[f"yaxis{suffix}"]
        areas.append((*across["domain"], *up["domain"]))
        below = any(
            other["domain"][1] < up["domain"][0]
            and panels.layout[f"xaxis{name[5:]}"]["domain"] == across["domain"]
            for name, other in panels.layout.items()
            if name.startswith("yaxis")
        )
        # Only the lowest panel of each column has labels for the budgets.
        assert across["showticklabels"] == ("title" in across) == (not below)
        assert across.get("matches") == (None if number == 0 else "x")
        assert up.get("matches") == (None if number == 0 else "y")
    for one, other in combinations(areas, 2):
        assert one[1] < other[0] or other[1] < one[0] or one[3] < other[2] or other[3] < one[2]
    assert len({area[:2] for area in areas}) <= 3
    headings = [one["text"] for one in panels.layout["annotations"]]
    assert headings == [f"<b>data {number}</b>" for number in range(n)]


def test_epsilon_is_on_a_log_scale_from_the_first_to_the_last():
    across = draw(chart()).layout["xaxis"]
    low, high = (10**end for end in across["range"])
    assert across["type"] == "log"
    assert 0.08 < low < 0.1
    assert 2.0 < high < 2.5
    assert across["ticktext"] == ["0.1", "0.2", "0.5", "1", "2"]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.95, 1.02, ["0.95", "0.984", "1.02"]),
        (0.9, 2.1, ["1", "1.2", "1.5", "2"]),
        (0.9, 5.5, ["1", "1.5", "2", "3", "5"]),
        (0.9, 25.0, ["1", "2", "5", "10", "20"]),
        (0.5, 2e4, ["1", "10", "100", "1,000", "10,000"]),
        (1e12, 4e12, ["1 × 10¹²", "1.5 × 10¹²", "2 × 10¹²", "3 × 10¹²"]),
    ],
)
def test_log_scales_have_round_ticks(low, high, ticks):
    axis = _log_axis(low, high)
    assert axis["ticktext"] == ticks
    found = [number_of(text) for text in ticks]
    assert found == pytest.approx(axis["tickvals"], rel=1e-2)


def test_one_vertical_axis_holds_all_bands_of_all_panels():
    panels = draw(chart(heading="A"), chart(heading="B", scale=3.0), chart(heading="C", true=40.0))
    for name in ("yaxis", "yaxis2", "yaxis3"):
        low, high = panels.layout[name]["range"]
        assert low < 0 < 40 < high < 44
    alone = draw(chart(heading="A"), chart(heading="B", scale=3.0), shared=False)
    assert alone.layout["yaxis"]["range"][1] < 6 < alone.layout["yaxis2"]["range"][1]
    assert "matches" not in alone.layout["yaxis2"]
    assert alone.layout["yaxis2"]["showticklabels"]


def test_ratios_are_on_a_log_scale():
    panels = draw(chart(score="nicv_ratio"))
    axis = panels.layout["yaxis"]
    assert axis["type"] == "log"
    low, high = (10**end for end in axis["range"])
    assert 0.05 < low < 0.08
    assert 5.2 < high < 7
    assert axis["title"]["text"] == "Times the error (NICV / true), 1 is equal"
    assert "type" not in draw(chart(score="dsg_c")).layout["yaxis"]


def test_negative_scores_have_room_below_zero():
    shown = chart(score="ari")
    shown.table.loc[0, "low"] = -0.2
    assert draw(shown).layout["yaxis"]["range"][0] < -0.2


def test_what_is_infinite_is_a_gap():
    shown = chart(score="nicv_ratio")
    shown.table.loc[0, ["median", "high"]] = math.inf
    shown.table.loc[1, "high"] = math.inf
    panels = draw(shown)
    assert lines(panels)[0]["x"] == pytest.approx(EPSILONS[1:])
    assert bands(panels)[0]["x"] == pytest.approx([2.0, 2.0])
    assert all(math.isfinite(end) for end in panels.layout["yaxis"]["range"])


def test_one_budget_has_whiskers_instead_of_an_area():
    panels = draw(chart(epsilons=(1.0,)), epsilons=(1.0,))
    assert bands(panels) == []
    for number, line in enumerate(lines(panels), start=1):
        assert line["error_y"]["array"] == pytest.approx([0.3 * number])
        assert line["error_y"]["arrayminus"] == pytest.approx([0.2 * number])
    low, high = panels.layout["xaxis"]["range"]
    assert low < 0 < high


def test_bounds_of_theorems_lie_behind_the_curves():
    bounds = pd.DataFrame({
        "method": ["privthr"] * 3, "epsilon": EPSILONS,
        "theorem low": [1.0, 2.0, 3.0], "theorem high": [40.0, 20.0, 10.0],
    })  # fmt: skip
    panels = draw(Chart(heading="Blobs", score="k", table=table(), bounds=bounds))
    first, *rest = bands(panels)
    assert panels.data[0] is first
    assert first["legendgroup"] == "theorems"
    assert first["line"]["color"] == look_of("privthr", "light").colour
    assert first["x"] == pytest.approx([*EPSILONS, *reversed(EPSILONS), EPSILONS[0]])
    assert first["y"] == pytest.approx([40, 20, 10, 3, 2, 1, 40])
    assert len(rest) == 2
    assert panels.layout["yaxis"]["range"][1] > 40
    # With a single budget, the band covers the whole panel.
    one = Chart(heading="", score="k", table=table(epsilons=(0.5,)), bounds=bounds[1:2])
    (shown,) = bands(draw(one, epsilons=(0.5,)))
    assert np.ptp(shown["x"]) > 0
    assert set(shown["y"]) == {2.0, 20.0}


def test_another_parameter_runs_along_a_linear_axis():
    rows = table(methods=("privthr",)).rename(columns={"epsilon": "alpha"})
    rows["alpha"] = [0.1, 0.5, 0.9]
    rows.insert(3, "epsilon", 0.5)
    shown = Chart(heading="Blobs", score="dsg_c", table=rows, data="blobs", epsilon=0.5)
    panels = curves(
        [shown], methods=("privthr",), values=(0.1, 0.5, 0.9), title="", shared=True,
        mode="light", axis=PARAMETERS["alpha"],
    )  # fmt: skip
    (line,) = lines(panels)
    assert line["x"] == pytest.approx([0.1, 0.5, 0.9])
    assert "at α %{x" in line["hovertemplate"]
    assert line["meta"] == ["blobs", "privthr", "dsg_c", 0.5]
    axis = panels.layout["xaxis"]
    assert axis["title"]["text"] == "counts' share α"
    assert axis["range"] == pytest.approx([0.076, 0.924])
    assert "Median of DSG_C over the counts' share, with a band" in panels.alt
    assert summary_frame([shown], PARAMETERS["alpha"])["alpha"].tolist() == [0.1, 0.5, 0.9]


def test_an_empty_panel_says_so():
    empty = Chart(heading="Later", score="dsg_c", table=table(methods=()))
    panels = draw(chart(), empty)
    assert [one["text"] for one in panels.layout["annotations"]] == [
        "<b>Blobs</b>",
        "<b>Later</b>",
        "no runs yet",
    ]
    assert "Later: nothing run yet" in panels.alt
    assert draw(empty).layout["yaxis"]["range"] == [0.0, 1.0]


def test_the_picture_in_words():
    alt = draw(chart(true=7.0)).alt
    assert "Median of DSG_C over the privacy budget" in alt
    assert "Blobs: PrivQT from 0.1 at ε 0.1 to 2 at ε 2, PrivTHR from 0.2 at ε 0.1 to 4" in alt
    assert alt.endswith("; true 7.")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("score", ["dsg_c", "nicv_ratio"])
def test_browser_and_plotly_can_read_the_figure(mode, score):
    shown = [chart(score=score, heading="A"), Chart(heading="B", score=score, table=table(()))]
    panels = draw(*shown, mode=mode)

    def refuse(name):
        raise AssertionError(name)

    raw = encode(panels.spec(), {})
    json.loads(raw[4 : 4 + int.from_bytes(raw[:4], "little")], parse_constant=refuse)
    assert len(panels.figure().data) == len(panels.data)


def test_every_score_has_a_name():
    for family in FAMILIES.values():
        for name, score in family.scores.items():
            # If two families use one score name, the name has the same meaning in both families.
            shown = SCORES[name]
            assert (score.name, score.axis) == (name, shown.axis)
            assert (score.better, score.log) == (shown.better, shown.log)
    assert len({score.title for score in SCORES.values()}) == len(SCORES)
    assert score_of("new one").axis == "new one"


def test_the_table_behind_names_each_score():
    found = summary_frame([chart(), chart(score="f_measure", true=3.0)])
    assert len(found) == 12
    assert list(found["score"]) == ["dsg_c"] * 6 + ["f_measure"] * 6
    assert found["true"].isna().sum() == 6
    assert list(found["median"][:6]) == list(table()["median"])
    assert summary_frame([]).empty
