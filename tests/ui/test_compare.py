"""The compare page without a browser: plans, kept runs, messages and links."""

import json
import math
import re
import shlex
import threading
import time
from dataclasses import replace
from functools import partial
from threading import Event
from urllib.parse import parse_qsl

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from dpviz.base.errors import InputError
from dpviz.base.latex import escaped
from dpviz.base.numbers import readable
from dpviz.commands.command_line import main
from dpviz.commands.commands import columns_of, columns_option
from dpviz.data.reading.read import read_counts, read_table
from dpviz.data.samples import load_sample, sample
from dpviz.data.units import cap_records
from dpviz.experiments import sweep
from dpviz.experiments.illustrations import FIGURES
from dpviz.experiments.presets import PRESETS
from dpviz.experiments.sweep import (
    COLUMNS,
    Plan,
    Subject,
    SweepCancelled,
    run_sweep,
    subject_of_sample,
    summary,
)
from dpviz.experiments.worker_times import worker_times
from dpviz.families import CARDS, FAMILIES, PARAMETERS, family_of, trial_of
from dpviz.figures.compare import Chart, curves
from dpviz.grid.domain import Domain
from dpviz.papers import EVIDENCE, ROWS
from dpviz.privacy.ledger import Neighbours
from dpviz.ui.compare import runs as compare_runs
from dpviz.ui.compare import view
from dpviz.ui.compare.controls import budgets, parse_epsilons
from dpviz.ui.compare.latex import latex_figure_of, latex_table_of
from dpviz.ui.compare.links import command_lines, explorer_link, python_lines
from dpviz.ui.compare.runs import Found, SweepRequest, fitting, offered
from dpviz.ui.data.state import DataState
from dpviz.ui.messages import plain_text
from dpviz.wavecluster.parameters import Config
from tests.conftest import reference_file
from tests.support import APP
from tests.support.controls import control
from tests.support.tiers import examples
from tests.ui.test_kmeans import visit
from tests.ui.test_wavecluster import cards, checked

PATIENCE = 60
JOB, FOUND = "compare:job", "compare:found"
SMALL = {"low": 0.5, "high": 2, "points": 2, "draws": 2}


@pytest.fixture(autouse=True)
def no_job_left():
    """No thread may outlive its test."""
    yield
    for thread in threading.enumerate():
        if thread.name == "dpviz job":
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.fixture
def app():
    def open_app(**link) -> AppTest:
        test = AppTest.from_file(APP, default_timeout=120)
        for name, value in link.items():
            test.query_params[name] = str(value)
        test.switch_page("pages/compare.py")
        return finish(checked(test.run()))

    return open_app


@pytest.fixture
def swept(monkeypatch) -> list[Plan]:
    """The plans that are run after this call."""
    plans: list[Plan] = []

    def note(plan, **more):
        plans.append(plan)
        return run_sweep(plan, **more)

    monkeypatch.setattr(compare_runs, "run_sweep", note)
    return plans


def finish(test: AppTest) -> AppTest:
    if JOB in test.session_state:
        assert test.session_state[JOB].wait(PATIENCE)
    return checked(test.run())


def figure(test: AppTest) -> dict:
    """The head of the figure, which has everything except the arrays."""
    for one in test.get("bidi_component"):
        if one.proto.component_name == "dpviz_live_figure":
            raw = one.proto.bytes
            return json.loads(raw[4 : 4 + int.from_bytes(raw[:4], "little")])
    raise AssertionError("there is no figure")


def title(test: AppTest) -> str:
    return figure(test)["figure"]["layout"]["title"]["text"]


def headings(test: AppTest) -> list[str]:
    return [one["text"] for one in figure(test)["figure"]["layout"]["annotations"]]


def table(test: AppTest) -> pd.DataFrame:
    return next(one.value for one in test.dataframe if "median" in one.value.columns)


def bars(test: AppTest) -> list[str]:
    return [one.proto.text for one in test.get("progress")]


def labels(test: AppTest) -> list[str]:
    return [one.label for one in test.button]


def press(test: AppTest, label: str) -> AppTest:
    (button,) = (one for one in test.button if one.label.startswith(label))
    return checked(button.click().run())


def choose(test: AppTest, **values) -> AppTest:
    for name, value in values.items():
        widget = test.multiselect if isinstance(value, list) else test.selectbox
        checked(control(widget, f"compare:{name}").set_value(value).run())
    return finish(test)


def draws(plans: list[Plan]) -> dict[str, int]:
    found: dict[str, int] = {}
    for plan in plans:
        (method,) = plan.methods
        runs = len(plan.subjects) * len(plan.epsilons) * len(plan.seeds)
        found[method] = found.get(method, 0) + runs
    return found


# ---- runs


def test_opens_with_curves_of_four_techniques(app):
    test = app()
    assert not test.error
    assert not test.warning
    assert title(test) == "DSG_C over ε · median and band of 5% to 95% of draws, 20 draws · sound"
    assert headings(test) == ["<b>Fifteen Gaussians</b>"]
    assert not bars(test)  # all runs are there
    shown = figure(test)["figure"]["data"]
    named = [trace["name"] for trace in shown if trace.get("showlegend")]
    assert named == ["PrivQT", "PrivTHR", "PrivTHREM", "Two-stage"]
    assert figure(test)["base_name"] == "dpviz exploration compare dsg_c"
    assert "Fifteen Gaussians: PrivQT from" in figure(test)["alt"]
    assert len(table(test)) == 32
    # There is one sentence, which is the same as the sentence of the picture.
    assert "May be published: shows made-up data" in figure(test)["alt"]
    assert any("These curves may be published" in one.value for one in test.caption)
    assert not any("owner only" in one.value for one in test.caption)


def test_the_numbers_are_those_of_the_sweep(app):
    test = app(**SMALL, methods="privqt,privthr", data="spirals")
    plan = Plan(
        subjects=(subject_of_sample("spirals"),),
        methods=("privqt", "privthr"),
        epsilons=(0.5, 2.0),
        seeds=(0, 1),
    )
    expected = summary(run_sweep(plan), "dsg_c")
    found = table(test)
    assert list(found["method"]) == ["PrivQT", "PrivQT", "PrivTHR", "PrivTHR"]
    for name in ("epsilon", "draws", "mean", "median", "low", "high"):
        np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.exhaustive(reason="tests/figures/test_compare.py draws panels daily")
def test_panels_by_data_set_and_by_score(app):
    test = app(**SMALL, data="gaussians,spirals")
    assert headings(test) == ["<b>Fifteen Gaussians</b>", "<b>Three spirals</b>"]
    test.session_state["compare:view"] = "scores"
    choose(checked(test.run()), of="spirals")
    assert title(test).startswith("Three spirals over ε")
    family = FAMILIES["wavecluster"]
    shown = [name for name in offered((family,), classed=True) if name in family.quick]
    assert len(headings(test)) == len(shown) > 3
    assert headings(test)[0] == "<b>Wrong cells per true cell (DSG_C), 0 is equal</b>"
    assert set(table(test)["data"]) == {"Three spirals"}
    # Scores that need only one result are also shown for the true result.
    true = [one for one in figure(test)["figure"]["data"] if one.get("legendgroup") == "true"]
    assert len(true) == sum(name in (*view._COUNTED, "class_f") for name in shown)


def test_only_shared_scores_are_offered(app):
    test = app(**SMALL)
    assert "Wrong cells per true cell (DSG_C)" in control(test.selectbox, "compare:score").options
    choose(test, methods=["privthr", "eugkm"])
    assert control(test.selectbox, "compare:score").options == [
        "Overlap (F-measure)",
        "Classes found: F (classes)",
        "Clusters broken",
        "Pairs agree (ARI) (slower)",
        "Shared information (AMI) (slower)",
        "Pairs agree: ARI (classes) (slower)",
        "Shared information: AMI (classes) (slower)",
    ]
    assert title(test).startswith("F-measure over ε")
    assert set(table(test)["method"]) == {"PrivTHR", "EUGkM"}
    choose(test, methods=["eugkm"])
    assert "Times the error (NICV / true)" in control(test.selectbox, "compare:score").options


def test_slower_scores_are_drawn_when_asked_for(app):
    test = choose(app(**SMALL, methods="privqt"), score="two_ce")
    plan = Plan(
        subjects=(subject_of_sample("gaussians"),),
        methods=("privqt",),
        epsilons=(0.5, 2.0),
        seeds=(0, 1),
        scores=("two_ce",),
    )
    expected = summary(run_sweep(plan), "two_ce")
    np.testing.assert_array_equal(table(test)["median"], expected["median"])


def test_k_stands_beside_the_true_one(app):
    test = choose(app(**SMALL, methods="privthr"), score="k")
    (ranks,) = (one.value for one in test.dataframe if "inside" in one.value.columns)
    assert list(ranks["k"]) == [212, 212]
    assert list(ranks["mean"]) == list(table(test)["mean"])
    # The paper gives no value, so there is no column for it; instead a line gives the reason.
    assert "printed" not in ranks
    assert any("only for its own set DS2" in one.value for one in test.caption)
    # Theorem 5 is shown beside the draws: in the table, and as a band of the chart.
    assert ranks["promised"].tolist() == pytest.approx([0.85, 0.85])
    assert ranks["inside"].between(0, 1).all()
    assert (ranks["theorem low"] < ranks["k"]).all()
    assert (ranks["k"] < ranks["theorem high"]).all()
    assert any("Bounds of theorems 4, 5 and 6" in one.value for one in test.caption)
    names = [trace.get("name") for trace in figure(test)["figure"]["data"]]
    assert names.count("dotted edges: theorem's bounds") == 1


def test_methods_without_a_theorem_have_no_bounds(app):
    test = choose(app(**SMALL, methods="baseline"), score="k")
    assert any("None of these methods has a theorem" in one.value for one in test.caption)
    names = [trace.get("name") for trace in figure(test)["figure"]["data"]]
    assert "dotted edges: theorem's bounds" not in names


# ---- another axis


ALPHA = {"methods": "privthr", "axis": "alpha", "values": "0.2, 0.9", "draws": 2}


def test_alpha_runs_along_the_axis_with_a_panel_for_each_budget(app, swept):
    test = app(**ALPHA, epsilons="0.5, 1")
    assert not test.warning
    assert test.query_params["axis"] == "alpha"
    assert test.query_params["values"] == "0.2, 0.9"
    assert title(test).startswith("DSG_C over α · ")
    assert headings(test) == ["<b>Fifteen Gaussians · ε 0.5</b>", "<b>Fifteen Gaussians · ε 1</b>"]
    layout = figure(test)["figure"]["layout"]
    assert layout["xaxis"]["title"]["text"] == "counts' share α"
    assert "type" not in layout["xaxis"]
    found = table(test)
    assert found[["epsilon", "alpha"]].to_numpy().tolist() == [
        [0.5, 0.2], [0.5, 0.9], [1, 0.2], [1, 0.9]
    ]  # fmt: skip
    (drawn,) = swept
    expected = summary(run_sweep(drawn), "dsg_c", "alpha")
    assert found["mean"].tolist() == expected["mean"].tolist()
    # Another value of alpha needs only its own runs, and these runs open with their alpha.
    swept.clear()
    finish(test)
    checked(control(test.text_input, "compare:values").set_value("0.2, 0.5, 0.9").run())
    finish(test)
    assert [one.values for one in swept] == [(0.5,)]
    assert "--axis alpha --values 0.2,0.5,0.9" in test.code[-1].value


def test_an_axis_that_not_all_methods_have_is_corrected(app):
    test = app(**{**SMALL, **ALPHA, "methods": "privthr,privqt"})
    (said,) = [one.value for one in test.warning]
    assert "axis = alpha does not suit the methods; epsilon is used" in said.replace("\\", "")
    assert title(test).startswith("DSG_C over ε")
    test = app(**{**SMALL, **ALPHA, "values": "0.2,2"})
    (said,) = [one.value for one in test.warning]
    assert "the usual values are used" in said
    assert len(table(test)) == 2 * 11


def test_a_click_on_a_curve_over_alpha_opens_that_alpha(monkeypatch):
    plan = replace(
        plan_of(methods=("privthr",)), epsilons=(0.3, 1.0), seeds=(0, 1, 2), scores=("dsg_c",),
        axis="alpha", values=(0.3, 0.8),
    )  # fmt: skip
    rows = run_sweep(plan)
    opened = []
    monkeypatch.setattr(
        "streamlit.switch_page", lambda page, query_params: opened.append(query_params)
    )
    clicked = {"x": 0.79, "y": 0.0, "meta": ["gaussians", "privthr", "dsg_c", 0.3]}
    request = SweepRequest(plans={"gaussians": plan})
    view._follow_click(clicked, request, {"gaussians": rows})
    (link,) = opened
    assert (link["alpha"], link["epsilon"]) == ("0.8", "0.3")
    best = rows[(rows["alpha"] == 0.8) & (rows["epsilon"] == 0.3)].set_index("seed")["dsg_c"]
    assert int(link["seed"]) == best.idxmin()


# ---- figures that are not sweeps


@pytest.mark.exhaustive(reason="other figures of papers are opened in tests of this file")
def test_the_noise_itself_is_a_figure(app):
    test = app(preset="004-1")
    assert not test.error
    found = test.dataframe[0].value
    pd.testing.assert_frame_equal(found, FIGURES["004-1"].table())
    assert any(FIGURES["004-1"].caption in one.value for one in test.caption)
    law = next(one for one in figure(test)["figure"]["data"] if one["name"].startswith("expected"))
    assert law["name"] == "expected: sensitivity / ε"
    # From here, the user can choose another figure, or return to their own choices.
    test = choose(test, preset="none")
    assert title(test).startswith("DSG_C over ε")


@pytest.mark.exhaustive
def test_times_on_workers_say_what_was_measured_and_what_an_hour_costs(app):
    test = app(preset="004-5", price="0.5")
    assert not test.error
    names = [one["name"] for one in figure(test)["figure"]["data"]]
    assert {"measured", "extrapolated by the model"} <= set(names)
    hours, times, printed = (one.value for one in test.dataframe)
    assert printed["the paper says"].all()
    assert hours["cost of an hour"].tolist() == [0.5 * one for one in hours["workers"]]
    pd.testing.assert_frame_equal(times, FIGURES["004-5"].table())
    said = " ".join(one.value for one in test.markdown)
    for sentence in FIGURES["004-5"].sentences(worker_times()):
        assert plain_text(sentence) in said
    assert any("2 cores" in one.value for one in test.caption)
    assert "".join(test.query_params["price"]) == "0.5"
    # If no price is typed, the link has no price, and no cost is shown.
    test.number_input[0].set_value(0.0).run()
    assert "price" not in test.query_params
    assert "cost of an hour" not in test.dataframe[0].value
    for name, words in (("004-6", "passes"), ("004-7", "two plain loops")):
        test = choose(test, preset=name)
        assert not test.error
        hovers = [one.get("hovertemplate", "") for one in figure(test)["figure"]["data"]]
        assert any(words in one for one in hovers)
        assert any(FIGURES[name].caption in one.value for one in test.caption)
    test = choose(test, preset="none")
    assert title(test).startswith("DSG_C over ε")


def test_times_on_workers_are_shown_of_either_variant(app, monkeypatch):
    read, sound = "dpviz.ui.compare.illustrations.worker_times", worker_times("sound")

    def shown(test: AppTest) -> str:
        return figure(test)["figure"]["data"][0]["name"].rpartition(", ")[2]

    monkeypatch.setattr(read, lambda variant: sound)  # only this one is measured
    test = app(preset="004-6")
    assert shown(test) == "sound"
    assert not test.segmented_control
    monkeypatch.setattr(read, lambda variant: replace(sound, variant=variant))
    test = app(preset="004-6")
    assert shown(test) == "published"
    checked(control(test.segmented_control, "compare:variant").set_value("sound").run())
    assert shown(test) == "sound"
    assert shown(app(preset="004-6", variant="sound")) == "sound"


def test_the_picture_of_merged_clusters_opens_in_its_explorer(app):
    test = app(preset="000-2")
    assert not test.error
    picture = FIGURES["000-2"]
    assert any(picture.caption in one.value for one in test.caption)
    assert test.dataframe[0].value["fate"].tolist().count("joined") == 2
    explorer = AppTest.from_file(APP, default_timeout=120)
    for name, value in picture.link.items():
        explorer.query_params[name] = value
    explorer.switch_page("pages/wavecluster.py")
    checked(explorer.run())
    assert not explorer.warning
    assert cards(explorer)["Clusters"] == ("14", "true 15")


# ---- kept runs


def test_another_method_draws_only_its_own_rows(app, swept):
    test = app(**SMALL, methods="privqt,privthr", data="gaussians,shapes")
    assert draws(swept) == {"privqt": 8, "privthr": 8}
    swept.clear()
    choose(test, methods=["privqt", "privthr", "privthrem"])
    assert draws(swept) == {"privthrem": 8}
    swept.clear()
    choose(test, methods=["privthrem", "privqt"], data=["shapes"])
    assert swept == []
    assert not bars(test)


def test_more_draws_or_budgets_draw_only_what_is_new(app, swept):
    test = app(**SMALL, methods="privqt")
    swept.clear()
    checked(control(test.number_input, "compare:draws").set_value(5).run())
    finish(test)
    (plan,) = swept
    assert plan.seeds == (2, 3, 4)
    swept.clear()
    checked(control(test.text_input, "compare:epsilons").set_value("2, 1").run())
    finish(test)
    (plan,) = swept
    assert (plan.epsilons, plan.seeds) == ((1.0,), (0, 1, 2, 3, 4))
    assert list(table(test)["epsilon"]) == [1.0, 2.0]


def test_a_method_with_k_means_reuses_the_rows_of_wavecluster(app, swept):
    test = app(**SMALL, methods="privqt", score="f_measure")
    swept.clear()
    choose(test, methods=["privqt", "eugkm"])
    assert draws(swept) == {"eugkm": 4}


def test_found_keeps_the_newest_rows(monkeypatch):
    plan = Plan(
        subjects=(subject_of_sample("gaussians"),),
        methods=("privqt",),
        epsilons=(1.0,),
        seeds=(0, 1, 2),
    )
    found = Found()
    assert found.rows(plan).empty
    assert [piece.seeds for piece in found.missing(plan)] == [(0, 1, 2)]
    monkeypatch.setattr(compare_runs, "_MOST_ROWS", 2)
    found.add(run_sweep(plan))
    assert list(found.rows(plan)["seed"]) == [1, 2]
    found.add(found.rows(plan))
    assert list(found.rows(plan)["seed"]) == [1, 2]
    (piece,) = found.missing(plan)
    assert (piece.methods, piece.epsilons, piece.seeds) == (("privqt",), (1.0,), (0,))


# ---- long work


@pytest.fixture
def slow(monkeypatch):
    """Work that waits before its second method until the test lets it continue or stops it."""
    begun, go, plans = Event(), Event(), []

    def wait(plan, *, progress, cancelled):
        plans.append(plan)
        if len(plans) > 1:
            begun.set()
            while not go.is_set():
                if cancelled():
                    raise SweepCancelled("stopped")
                time.sleep(0.001)
        return run_sweep(plan, progress=progress, cancelled=cancelled)

    monkeypatch.setattr(compare_runs, "run_sweep", wait)
    monkeypatch.setattr(compare_runs, "_WAIT", 0.0)
    return begun, go, plans


def open_slow() -> AppTest:
    test = AppTest.from_file(APP, default_timeout=120)
    for name, value in {**SMALL, "methods": "privqt,privthr"}.items():
        test.query_params[name] = str(value)
    test.switch_page("pages/compare.py")
    return checked(test.run())


def test_cancel_keeps_what_is_finished_and_the_button_goes_on(slow):
    begun, go, plans = slow
    test = open_slow()
    assert begun.wait(PATIENCE)
    checked(test.run())
    # Curves appear as soon as they are computed; meanwhile the user can use the page.
    assert set(table(test)["method"]) == {"PrivQT"}
    press(test, "Cancel")
    finish(test)
    assert bars(test) == ["Stopped after 4 of 8 runs"]
    assert "Run 4 (1 s)" in labels(test)
    assert len(plans) == 2
    go.set()
    press(test, "Run 4")
    finish(test)
    assert [plan.methods for plan in plans] == [("privqt",), ("privthr",), ("privthr",)]
    assert set(table(test)["method"]) == {"PrivQT", "PrivTHR"}
    assert not any(label.startswith("Run") for label in labels(test))


def test_another_request_takes_the_place_of_a_running_one(slow):
    begun, go, plans = slow
    test = open_slow()
    assert begun.wait(PATIENCE)
    first = test.session_state[JOB]
    go.set()
    choose(test, data=["shapes"])
    assert first.wait(PATIENCE)
    assert test.session_state[JOB] is not first
    assert plans[-1].subjects[0].name == "shapes"
    assert headings(test) == ["<b>Five shapes</b>"]


@pytest.mark.exhaustive(reason="tests below draw the rest of a comparison on request")
def test_long_work_begins_with_the_draws_that_are_fast(app, swept, monkeypatch):
    """A link always shows a result; the rest says how long it takes, and starts by one click."""
    per_draw = family_of("dplloyd").seconds("dplloyd", 30_000, ())
    link = {**SMALL, "draws": 20, "methods": "dplloyd,eugkm"}
    monkeypatch.setattr(compare_runs, "_EAGER", 6 * 4 * per_draw)
    test = app(**link)
    assert draws(swept) == {"dplloyd": 10, "eugkm": 10}
    assert set(table(test)["draws"]) == {5}
    assert "band of all 5 draws" in title(test)
    assert bars(test) == ["Some runs are missing"]
    # Without a click nothing more is drawn, also if the page runs again.
    checked(test.run())
    assert draws(swept) == {"dplloyd": 10, "eugkm": 10}
    finish(press(test, f"Run 60 ({60 * per_draw:.0f} s)"))
    assert set(table(test)["draws"]) == {20}
    assert "band of 5% to 95% of draws, 20 draws" in title(test)
    # The link opens the same picture: first the fast draws, then all of them.
    again = app(**test.query_params)
    assert set(table(again)["draws"]) <= {5, 20}  # some of the others may be ready
    finish(finish(again))
    assert table(again).equals(table(test))
    assert bars(again) == []


def test_a_link_draws_all_that_a_session_draws_step_by_step(app, swept, monkeypatch):
    """After a restart of the server the page is opened by its link."""
    per_draw = family_of("dplloyd").seconds("dplloyd", 30_000, ())
    monkeypatch.setattr(compare_runs, "_EAGER", 2 * 5 * per_draw)
    link = {**SMALL, "draws": 5, "methods": "dplloyd"}
    test = finish(app(**link))
    finish(checked(control(test.number_input, "compare:draws").set_value(8).run()))
    assert set(table(test)["draws"]) == {8}
    again = finish(finish(app(**test.query_params)))
    assert bars(again) == []
    assert table(again).equals(table(test))
    assert draws(swept) == {"dplloyd": 2 * 2 * 8}


def test_all_draws_are_asked_for_one_request_alone(app, swept, monkeypatch):
    """A press on Run says nothing about the runs of later choices."""
    monkeypatch.setattr(compare_runs, "_EAGER", 0.0)
    test = app(**SMALL, methods="privthr")
    finish(press(test, "Run 4 (1 s)"))
    assert test.query_params["asked"] == "all"
    # Another quick score needs no other runs.
    finish(choose(test, score="f_measure"))
    assert test.query_params["asked"] == "all"
    finish(choose(test, methods=["privqt"]))
    assert test.query_params["asked"] == "fast"
    assert draws(swept) == {"privthr": 4}
    # The first request is back with all its runs, so a link has to open all of them.
    finish(choose(test, methods=["privthr"]))
    assert test.query_params["asked"] == "all"
    assert draws(swept) == {"privthr": 4}


def test_a_link_whose_own_data_are_missing_starts_no_later_choices(app, swept, monkeypatch):
    monkeypatch.setattr(compare_runs, "_EAGER", 0.0)
    test = finish(app(**{**SMALL, "data": "gaussians,own"}, methods="privthr", asked="all"))
    assert draws(swept) == {"privthr": 4}
    for method in ("privqt", "baseline"):
        finish(choose(test, methods=[method]))
        assert test.query_params["asked"] == "fast"
    assert draws(swept) == {"privthr": 4}


def test_a_link_starts_all_draws_although_one_draw_is_slow(app, swept, monkeypatch):
    monkeypatch.setattr(compare_runs, "_EAGER", 0.0)
    test = app(**SMALL, methods="privthr", asked="all")
    assert draws(swept) == {"privthr": 4}
    assert len(table(test)) == 2
    assert test.query_params["asked"] == "all"
    monkeypatch.setattr(compare_runs, "_ASKED", 0.0)
    app(**SMALL, methods="privqt", asked="all")
    assert draws(swept) == {"privthr": 4}


def test_unequal_numbers_of_draws_are_named(app, monkeypatch):
    app_with = app(**{**SMALL, "draws": 20, "methods": "privthr,privqt"})
    rows = app_with.session_state[FOUND]
    kept = rows._table[(rows._table["method"] == "privthr") | (rows._table["seed"] < 3)]
    rows._table = kept
    monkeypatch.setattr(compare_runs, "_EAGER", -1.0)
    test = checked(app_with.run())
    assert {*table(test)["draws"]} == {3, 20}
    assert "3 to 20 draws" in title(test)
    assert any("The rows have 3 to 20 draws" in one.value for one in test.caption)


def test_long_work_waits_for_a_press(app, swept, monkeypatch):
    monkeypatch.setattr(compare_runs, "_EAGER", 0.0)
    test = app(**SMALL, methods="privthr")
    assert swept == []
    assert bars(test) == ["Some runs are missing"]
    assert headings(test) == ["<b>Fifteen Gaussians</b>", "no runs yet"]
    finish(press(test, "Run 4 (1 s)"))
    assert draws(swept) == {"privthr": 4}
    assert len(table(test)) == 2


@pytest.mark.parametrize(
    ("fault", "words"),
    [(InputError("grid = 3: too few."), "grid = 3: too few."), (RuntimeError("secret"), "fault")],
)
def test_a_failure_is_one_sentence(app, monkeypatch, fault, words):
    def fail(*_, **__):
        raise fault

    monkeypatch.setattr(compare_runs, "run_sweep", fail)
    test = app(**SMALL)
    (said,) = [one.value for one in test.error]
    assert words in said
    assert "secret" not in said
    assert any(label.startswith("Run 16") for label in labels(test))


def test_what_does_not_fit_a_data_set_is_said_once(app, monkeypatch):
    real = run_sweep

    def refuse(plan, **more):
        found = real(plan, **more).iloc[:0]
        found.attrs["notes"] = ["gaussians, privqt: it does not fit."]
        return found

    monkeypatch.setattr(compare_runs, "run_sweep", refuse)
    test = app(**SMALL, methods="privqt")
    assert [one.value for one in test.caption].count("gaussians, privqt: it does not fit.") == 1
    assert labels(test) == ["next", "back", "Reset"]


# ---- the link


LINK = {
    "asked": "fast",
    "preset": "none", "data": "spirals,shapes", "methods": "privthr,dplloyd",
    "variant": "published", "neighbours": "replace_one", "draws": "3", "low": "0.5", "high": "4",
    "points": "2",
    "epsilons": "0.5, 3", "score": "f_measure", "view": "scores", "line": "both", "of": "shapes",
}  # fmt: skip


def test_all_choices_stand_in_the_link_and_come_back(app):
    test = app(**LINK)
    assert not test.warning
    assert dict(test.query_params) == LINK
    assert control(test.multiselect, "compare:methods").value == ["privthr", "dplloyd"]
    assert control(test.text_input, "compare:epsilons").value == "0.5, 3"
    # The curves are still there after a visit to another page.
    visit(test, "audit")
    finish(visit(test, "compare"))
    assert dict(test.query_params) == LINK
    assert title(test).startswith("Five shapes over ε")


BAD_LINKS = {
    "preset": ("000-4",),
    "data": ("nowhere", ",", "gaussians,nowhere"),
    "methods": ("wavecluster", "magic", "privthr,magic"),
    "variant": ("best",),
    "neighbours": ("both",),
    "draws": ("0", "101", "x"),
    "low": ("0", "-1", "nan", "50"),
    "high": ("inf", "x"),
    "points": ("0", "25", "1.5"),
    "epsilons": ("x", "0.1,,y", "100", "-1", "nan"),
    "axis": ("level", "alpha", "iterations"),
    "score": ("magic", "nicv_ratio"),
    "view": ("none",),
    "line": ("mode",),
    "of": ("nowhere", "shapes"),
}


@pytest.mark.some(2)
@pytest.mark.daily(
    "methods-magic",
    "methods-privthr,magic",
    "draws-0",
    "draws-101",
    "draws-x",
    "epsilons-x",
    "epsilons-0.1,,y",
    "epsilons-100",
    "epsilons--1",
    "epsilons-nan",
    "score-magic",
)
@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in BAD_LINKS.items() for v in vs])
def test_a_bad_link_is_corrected_and_said(app, name, value):
    test = AppTest.from_file(APP, default_timeout=120)
    for key, text in {"draws": "1", "methods": "privqt", name: value}.items():
        test.query_params[key] = text
    test.switch_page("pages/compare.py")
    checked(test.run())
    (said,) = [one.value for one in test.warning]
    assert name.rstrip("s") in said
    assert " is used" in said
    assert "; is used" not in said
    assert not test.error
    assert test.query_params.get(name) != value


def test_a_range_that_is_empty_becomes_one_budget(app):
    test = app(low=5, draws=1, methods="privqt")
    (said,) = [one.value for one in test.warning]
    assert said.endswith("high = 2 is less than low = 5; 5 is used for both.")
    assert list(table(test)["epsilon"]) == [5.0]


def test_nothing_chosen_is_said(app):
    test = app(**SMALL)
    checked(control(test.multiselect, "compare:methods").set_value([]).run())
    assert [one.value for one in test.error] == [f"Choose at least one method {DataState.place}."]
    checked(control(test.multiselect, "compare:methods").set_value(["privqt"]).run())
    assert not test.error
    checked(control(test.multiselect, "compare:data").set_value([]).run())
    assert [one.value for one in test.error] == [f"Choose at least one data set {DataState.place}."]


def test_a_wrong_list_of_budgets_is_said_and_mended(app):
    test = app(**SMALL)
    checked(control(test.text_input, "compare:epsilons").set_value("0.1; 2").run())
    (said,) = [one.value for one in test.error]
    assert 'epsilons has "0.1; 2", which is not a number' in said
    checked(control(test.text_input, "compare:epsilons").set_value("").run())
    assert not finish(test).error
    checked(control(test.number_input, "compare:low").set_value(4.0).run())
    (said,) = [one.value for one in test.error]
    assert "ε from 4 to 2 is empty" in said


@pytest.mark.exhaustive
def test_reset_goes_back_to_the_start(app):
    test = app(**LINK)
    finish(press(test, "Reset"))
    assert title(test).startswith("DSG_C over ε · median and band of 5% to 95% of draws, 20 draws")
    assert test.query_params["methods"] == "privqt,privthr,privthrem,twostage"


def test_budgets_are_spread_evenly_and_read_in_order():
    found = budgets(0.1, 2.0, 8)
    assert found == (0.1, 0.153, 0.235, 0.361, 0.554, 0.85, 1.3, 2.0)
    assert budgets(0.1, 2.0, 1) == budgets(0.1, 0.1, 5) == (0.1,)
    assert budgets(0.1234, 0.1234, 8) == (0.1234,)
    assert parse_epsilons(" 2, 0.5,0.5, ,1 ") == (0.5, 1.0, 2.0)
    assert parse_epsilons("") == ()
    with pytest.raises(InputError, match="25 values: give at most 24"):
        parse_epsilons(",".join(str(1 + number / 10) for number in range(25)))


# ---- figures of papers


@pytest.mark.some(2)
@pytest.mark.parametrize("name", PRESETS)
def test_a_figure_fills_in_all_controls(app, monkeypatch, name):
    monkeypatch.setattr(compare_runs, "_EAGER", -1.0)
    preset = PRESETS[name]
    test = choose(app(**SMALL), preset=name)
    assert not test.error
    assert control(test.multiselect, "compare:data").value == list(preset.samples)
    assert control(test.multiselect, "compare:methods").value == list(preset.methods)
    assert control(test.selectbox, "compare:variant").value == preset.variant
    assert control(test.number_input, "compare:draws").value == preset.repeats
    assert parse_epsilons(control(test.text_input, "compare:epsilons").value) == preset.epsilons
    assert control(test.selectbox, "compare:score").value == next(iter(preset.scores))
    assert any(preset.caption in one.value for one in test.caption)
    settings = len(preset.epsilons) * max(len(preset.values), 1)
    runs = len(preset.samples) * len(preset.methods) * settings * preset.repeats
    axis = [one.value for one in test.selectbox if "compare:axis" in (one.key or "")]
    assert axis == ([preset.axis] if preset.values else axis[:1])
    assert any(label.startswith(f"Run {runs:,} (") for label in labels(test))


def test_a_figure_brings_its_parameters(app, swept):
    link = {"preset": "003-1", "draws": 1, "epsilons": "1", "data": "incomes"}
    test = app(**link)
    preset = PRESETS["003-1"]
    assert {plan.methods[0] for plan in swept} == set(preset.methods)
    for plan in swept:
        chosen = plan.parameters(plan.subjects[0], plan.methods[0])
        assert chosen["geometry"] == "cube"
        assert chosen["iterations"] == 2
        assert chosen.get("start") == ("records" if plan.methods == ("dplloyd",) else None)
        assert plan.variant == "published"
    swept.clear()
    # Only those options of the figure remain that belong to the chosen methods.
    choose(test, methods=["eugkm"])
    assert [plan.options for plan in swept] == [{}]
    # If no figure is chosen, the methods have their own defaults again.
    swept.clear()
    choose(test, methods=["dplloyd"], preset="none")
    assert [plan.options for plan in swept] == [{}]


# ---- the papers' own data

FEW = {"draws": 1, "epsilons": "1", "methods": "privthr"}


def path_of(test: AppTest, name: str, path: object) -> AppTest:
    return finish(checked(control(test.text_input, f"compare:path of {name}").input(path).run()))


def spirals_file(folder, records: int = 31_200):
    """A file that has the number of records of DS2, but not the records of DS2."""
    path = folder / "mine.csv"
    points = np.random.default_rng(1).uniform(0, 1e6, (records, 2))
    path.write_text("\n".join(f"{x:.0f},{y:.0f}" for x, y in points), encoding="utf-8")
    return path


def said(test: AppTest) -> str:
    return "\n".join(one.value for one in test.caption)


def test_a_stand_in_is_named_in_the_title_the_panel_the_table_and_the_file(app):
    test = app(preset="000-6", data="spirals,noise", **FEW)
    assert title(test).endswith("· published steps, not private · on stand-ins")
    stand_in = "stand-in: Three spirals for DS2"
    assert headings(test) == [
        f"<b>{stand_in}</b> · not private",
        "<b>Nothing but noise</b> · not private",
    ]
    assert set(table(test)["data"]) == {stand_in, "Nothing but noise"}
    assert "Not the paper's own data: Three spirals for DS2." in said(test)
    assert "DS2: replaced by Three spirals. Available from github.com" in said(test)
    # The paper gives no mean of k' there, so there is no column for the paper's number.
    assert "printed" not in table(test)
    # What the text says about the figure stands beside what comes out.
    rows = next(one.value for one in test.dataframe if "the paper says" in one.value)
    about = [one for one in ROWS if one.link and one.link.query.get("preset") == "000-6"]
    # Results of the paper come first.
    about.sort(key=lambda one: list(EVIDENCE).index(one.evidence))
    assert about[0].evidence == "result"
    assert rows["what"].tolist() == [one.what for one in about]
    assert rows["comes out"].tolist() == [one.outcome for one in about]
    # The caption has the whole name of the figure, because the box cuts the name off.
    assert "Chen, Yu, Chirkova 2015, figure 6: DSG_C" in said(test)
    assert title(app(**FEW)).endswith("sound")


@pytest.mark.parametrize(("axis", "values"), [("grid", (8, 16)), ("density", (0.2, 0.5))])
def test_runs_along_any_axis_are_known_once_they_are_there(axis, values):
    plan = Plan(
        subjects=(subject_of_sample("incomes"),), methods=("privqt",), epsilons=(1.0,),
        seeds=(0, 1), scores=("dsg_c",), axis=axis, values=values,
    )  # fmt: skip
    found = compare_runs.Found()
    assert found.missing(plan)
    found.add(run_sweep(plan))
    assert found.missing(plan) == []


def test_figures_of_papers_have_means_and_others_medians(app):
    own, printed = app(**FEW), app(preset="000-6", data="spirals", **FEW)
    assert "· median and band of" in title(own)
    assert "· mean and band of" in title(printed)
    both = app(line="both", **FEW)
    assert dict(both.query_params)["line"] == "both"
    assert "· median, mean and band of" in title(both)
    names = [one.get("name") for one in figure(both)["figure"]["data"]]
    assert names.count("thin lines: means") >= 1
    for test, column in ((own, "median"), (printed, "mean"), (both, "median")):
        assert figure(test)["alt"].startswith(f"{column.capitalize()} of DSG_C")
        assert readable(table(test)[column].iloc[0]) in figure(test)["alt"]


def test_a_path_brings_the_paper_s_own_data(app, swept, tmp_path):
    test = app(preset="000-6", data="spirals", **FEW)
    swept.clear()
    test = path_of(test, "ds2", str(spirals_file(tmp_path)))
    assert headings(test) == ["<b>DS2</b> · not private"]
    assert "stand-in" not in title(test) + said(test)
    assert "✓ DS2: mine.csv, 31,200 records." in said(test)
    assert [plan.subjects[0].name for plan in swept] == ["DS2"]
    assert swept[0].subjects[0].settings == {"grid": 40, "density": 0.10, "clusters": 3}
    (command,) = (one.value for one in test.code if one.language == "shell")
    assert command.startswith("python -m dpviz sweep mine.csv ")
    assert "--grid 40" in command
    assert "--columns" in command
    # No link contains the file, and one press removes the file.
    assert "ds2" not in str(dict(test.query_params)).lower()
    test = finish(press(test, "Back to the stand-ins"))
    assert headings(test) == ["<b>stand-in: Three spirals for DS2</b> · not private"]


def test_a_run_on_the_paper_s_own_data_opens_as_own_data(app, tmp_path):
    test = app(preset="000-6", data="spirals", **FEW)
    test = path_of(test, "ds2", str(spirals_file(tmp_path)))
    test = press(test, "Open in its explorer")
    assert test.query_params["data"] == "own"
    assert not test.error
    assert test.query_params["g"] == "40"
    assert any("mine.csv" in one.value for one in test.caption)


@pytest.mark.parametrize(
    ("records", "said_then"),
    [(None, r"^DS2: there is no file "), (7, r"^DS2: mine\.csv has 7 rows and 2 columns")],
)
def test_a_file_that_is_not_the_set_is_refused_in_one_sentence(app, tmp_path, records, said_then):
    test = app(preset="000-6", data="spirals", **FEW)
    path = tmp_path / "none.csv" if records is None else spirals_file(tmp_path, records)
    test = path_of(test, "ds2", str(path))
    (error,) = test.error
    assert re.match(said_then, error.value.replace("\\", ""))
    assert headings(test) == ["<b>stand-in: Three spirals for DS2</b> · not private"]


def test_no_path_is_read_for_visitors_of_another_computer(app, monkeypatch):
    monkeypatch.setattr("dpviz.ui.compare.paper_sets.on_this_machine", lambda: False)
    test = app(preset="000-6", data="spirals", **FEW)
    assert not [one for one in test.text_input if "path" in (one.key or "")]


def test_a_comparison_without_any_draw_yet_has_no_ranks(app, monkeypatch):
    rows = Found.rows
    monkeypatch.setattr(Found, "rows", lambda self, plan: rows(self, plan).iloc[:0])
    test = app(preset="000-5", data="spirals", draws=1, epsilons="1")
    assert not test.exception
    assert not [one for one in test.dataframe if "inside" in one.value]


def test_on_ds2_the_printed_numbers_stand_beside_ours(app):
    file = reference_file("ds2.csv")
    test = app(preset="000-5", data="spirals", draws=2, epsilons="0.5, 1")
    assert "printed" not in table(test)
    test = path_of(test, "ds2", str(file))
    for shown in (table(test), next(one.value for one in test.dataframe if "inside" in one.value)):
        printed = shown.set_index(["epsilon", "method"])["printed"]
        assert printed[1.0, "PrivTHR"] == 141.0
        assert printed[1.0, "Baseline"] == 284.0
        assert printed[0.5].isna().all()


def test_options_go_with_methods_that_have_them():
    options = {"alpha": 0.5, "synopsis": "quadtree", "privthr.alpha": 0.9, "level": 1}
    assert fitting(options, ("privqt",)) == {"level": 1}
    assert fitting(options, ("privthrem", "baseline")) == {
        "alpha": 0.5,
        "synopsis": "quadtree",
        "level": 1,
    }
    assert fitting(options, ("privthr",)) == {"alpha": 0.5, "privthr.alpha": 0.9, "level": 1}


# ---- the note on pictures, tables and captions


@pytest.mark.parametrize("axis", ["epsilon", "grid", "iterations"])
@pytest.mark.parametrize(
    "methods", [("privthr", "baseline"), ("dplloyd", "privgene"), ("eugkm",), ("privthr", "mcmc")]
)
def test_the_note_names_what_the_compared_methods_use_and_nothing_else(methods, axis):
    if axis not in [one.name for one in sweep.axes(methods)]:
        axis = "epsilon"
    values = {"epsilon": (), "grid": (16, 32), "iterations": (1, 2)}[axis]
    sets = ("gaussians", "incomes")
    plans = {name: plan_of(name, methods, axis=axis, values=values) for name in sets}
    line = SweepRequest(plans=plans, unit="who").stamp.line
    facts = re.split(" · |, |: ", line)
    for one in sweep.OWN:
        used = [method for method in methods if CARDS[method].parameter(one.name)]
        named = [word for word in facts if re.match(rf"{one.sign or one.name} [^ ]", word)]
        assert bool(named) == (bool(used) and one.name != axis and one.titled != "no"), one.name
        if named:
            for name, plan in plans.items():
                for method in used:
                    value = one.text(plan.choices(plan.subjects[0], method)[one.name])
                    assert any(value in word for word in named), (name, method)
    assert "declared domain 0 to 1,000,000" in line
    assert "Incomes and one person: columns monthly_income, monthly_living_expenses" in line
    assert "neighbours: one more or less, each person has up to 1 records" in line
    (alone,) = [replace(plans["gaussians"], neighbours=Neighbours(relation="replace_one"))]
    assert "neighbours: one exchanged" in SweepRequest(plans={"gaussians": alone}).stamp.line


# ---- links to the explorers, and command lines


def plan_of(data="gaussians", methods=("privthr",), **more) -> Plan:
    return Plan(
        subjects=(subject_of_sample(data),),
        methods=methods,
        epsilons=(0.5,),
        seeds=(3,),
        scores=tuple(dict.fromkeys(score for m in methods for score in family_of(m).quick)),
        **more,
    )


@pytest.mark.parametrize(
    ("plan", "score", "card"),
    [
        (
            plan_of(methods=("privthr",), options={"privthr.alpha": 0.6}),
            "dsg_c",
            "Wrong cells per true cell",
        ),
        (
            plan_of("shapes", ("baseline",), variant="published"),
            "dsg_c",
            "Wrong cells per true cell",
        ),
        (
            plan_of("spirals", ("privthrem",), options={"grid": (33, 20)}),
            "dsg_c",
            "Wrong cells per true cell",
        ),
        (
            plan_of("incomes", ("dplloyd",), options={"iterations": 3}),
            "nicv_ratio",
            "Times the error",
        ),
        (plan_of("spirals", ("hybrid",), variant="published"), "nicv_ratio", "Times the error"),
    ],
    ids=lambda one: one.methods[0] if isinstance(one, Plan) else "",
)
def test_a_run_is_the_same_in_its_explorer(plan, score, card):
    (method,) = plan.methods
    found = run_sweep(plan)[score].iloc[0]
    test = AppTest.from_file(APP, default_timeout=120)
    for name, value in explorer_link(plan, plan.subjects[0].name, method, 0.5, 3, None).items():
        test.query_params[name] = value
    test.switch_page(f"pages/{CARDS[method].family}.py")
    checked(test.run())
    assert not test.warning
    assert cards(test)[card][0] == f"{found:.3f}"


def test_a_click_opens_the_run_nearest_to_the_median_of_its_own_panel(monkeypatch):
    plan = plan_of(methods=("privqt",))
    plan = replace(plan, epsilons=(0.3,), seeds=tuple(range(25)), scores=("dsg_c", "f_measure"))
    table = run_sweep(plan)
    opened = []
    monkeypatch.setattr(
        "streamlit.switch_page", lambda page, query_params: opened.append((page, query_params))
    )
    charts = [
        Chart(heading="", score=name, table=summary(table, name), true=None, data="gaussians")
        for name in plan.scores
    ]
    figure = curves(
        charts, methods=plan.methods, values=plan.epsilons, title="", shared=False, mode="light"
    )
    lines = [trace for trace in figure.spec()["data"] if trace.get("meta")]
    assert len(lines) == len(plan.scores) == 2
    seeds = set()
    for line, score in zip(lines, plan.scores, strict=True):
        clicked = {"x": line["x"][0], "y": line["y"][0], "meta": line["meta"]}
        view._follow_click(clicked, SweepRequest(plans={"gaussians": plan}), {"gaussians": table})
        page, link = opened.pop()
        assert page == "pages/wavecluster.py"
        values = table.set_index("seed")[score]
        nearest = (values - values.median()).abs().min()
        assert abs(values[int(link["seed"])] - values.median()) == nearest
        seeds.add(link["seed"])
    assert len(seeds) == 2


@pytest.mark.exhaustive(reason="another test of this file opens a chosen run")
def test_draws_to_open_are_told_with_their_own_numbers(app):
    test = app(**SMALL, methods="privqt,privthr", data="gaussians,spirals")
    seen = set()
    for data, method, seed in (
        ("gaussians", "privqt", 0),
        ("gaussians", "privthr", 1),
        ("spirals", "privthr", 1),
    ):
        for name, value in (("data", data), ("method", method)):
            checked(control(test.selectbox, f"compare:open {name}").set_value(value).run())
        box = control(test.selectbox, "compare:open seed")
        # New labels are in a new widget, because the browser would keep the old labels.
        assert box.key not in seen
        seen.add(box.key)
        rows = test.session_state[FOUND]._table
        rows = rows[(rows["data"] == data) & (rows["method"] == method) & (rows["epsilon"] == 0.5)]
        assert box.options == [
            f"seed {one.seed}: {one.dsg_c:.4g}" for one in rows.sort_values("seed").itertuples()
        ]
        checked(box.set_value(seed).run())
    # The chosen values are kept.
    assert control(test.selectbox, "compare:open seed").value == 1


def test_the_page_links_to_the_chosen_run(app):
    test = app(**SMALL, methods="privqt,privthr", data="gaussians,spirals")
    for name, value in {"data": "spirals", "method": "privthr", "epsilon": 2.0, "seed": 1}.items():
        checked(control(test.selectbox, f"compare:open {name}").set_value(value).run())
    (link,) = (
        one.proto for one in test.get("page_link") if one.proto.label == "Open in its explorer"
    )
    assert link.page == "wavecluster" or link.page == ""
    assert (
        "data=spirals&method=privthr&variant=sound&neighbours=add_remove&epsilon=2&seed=1"
        in link.query_string
    )
    assert "g=40&p=0.1" in link.query_string


@pytest.mark.parametrize(
    ("methods", "options", "n_lines"),
    [
        (("privqt", "privthr"), {"level": 1, "privthr.alpha": 0.9}, 1),
        (("privqt", "privthr"), {"privthr.alpha": 0.6}, 2),
        (("dplloyd", "dpkmeanspp"), {"iterations": 3, "dplloyd.start": "random"}, 2),
    ],
)
def test_the_command_lines_make_the_same_rows(tmp_path, monkeypatch, methods, options, n_lines):
    monkeypatch.chdir(tmp_path)
    plan = plan_of("incomes", methods, options=options)
    plan = Plan(**{**vars(plan), "seeds": (0, 1)})
    request = SweepRequest(plans={"incomes": plan})
    python: dict[str, pd.DataFrame] = {}
    exec(python_lines(request), python)
    pd.testing.assert_frame_equal(python["table"], run_sweep(plan))
    lines = command_lines(request)
    assert all("--seed 0 " in line for line in lines)
    assert len(lines) == n_lines
    rows = set()
    for line in lines:
        words = shlex.split(line)
        assert words[:3] == ["python", "-m", "dpviz"]
        assert main(words[3:]) == 0
        rows |= set(pd.read_csv(words[words.index("--out") + 1])["run"])
    assert rows == set(run_sweep(plan)["run"])
    assert all(path.name.startswith("dpviz-exploration-incomes") for path in tmp_path.iterdir())


# ---- own data


def own_csv(names=("east", "north")) -> bytes:
    rng = np.random.default_rng(0)
    places = np.array([[20, 30], [70, 25], [50, 80]])[rng.integers(3, size=900)]
    points = np.clip(places + rng.normal(0, 4, (900, 2)), 0, 100)
    rows = "".join(f"{x:.2f},{y:.2f}\n" for x, y in points)
    return f"{','.join(names)}\n{rows}".encode()


PERSONS = b"east,north,height,who\n" + b"".join(
    b"%d,%d,%d,p%d\n" % (20 + 50 * (i % 2) + i % 7, 30 + 40 * (i % 2) + i % 5, i % 11, i % 60)
    for i in range(240)
)


@pytest.mark.parametrize(("g", "cells"), [("16", 16), ("17,12", "17x12")])
def test_own_data_comes_from_the_explorer(tmp_path, monkeypatch, g, cells):
    test = AppTest.from_file(APP, default_timeout=120)
    checked(test.run())
    checked(control(test.selectbox, "wavecluster:data").set_value("own").run())
    test.file_uploader(key="own:file").set_value(("visits.csv", own_csv(), "text/csv"))
    checked(test.run())
    test.query_params.clear()
    test.switch_page("pages/compare.py")
    for name, value in SMALL.items():
        test.query_params[name] = str(value)
    test.query_params.update({"data": "own,incomes", "methods": "privqt", "g": g, "k": "3"})
    finish(checked(test.run()))
    assert not test.error
    assert headings(test) == ["<b>visits.csv</b> · not private", "<b>Incomes and one person</b>"]
    assert test.query_params["g"] == g
    east = [box.value for box in test.number_input if box.label == "Grid g · east"]
    assert east == ([17] if "," in g else [])
    # The command line of the page gives the same rows for the same file.
    (tmp_path / "visits.csv").write_bytes(own_csv())
    monkeypatch.chdir(tmp_path)
    (code,) = (one.value for one in test.code if one.language == "shell")
    words = shlex.split(code.splitlines()[0])
    assert main(words[3:]) == 0
    written = pd.read_csv(words[words.index("--out") + 1])
    kept = test.session_state[FOUND]._table
    assert set(written["run"]) == set(kept.loc[kept["data"] == "visits.csv", "run"])
    assert set(written["grid"]) == {cells}
    (link,) = (
        one.proto for one in test.get("page_link") if one.proto.label == "Open in its explorer"
    )
    assert "data=own" in link.query_string
    assert "domain=data" in link.query_string
    assert f"g={g.replace(',', '%2C')}" in link.query_string


@pytest.mark.parametrize("kind", ["counts", "persons"])
def test_counts_and_persons_come_back_on_the_command_line(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    if kind == "counts":
        np.save("grid.npy", rng.poisson(3, (16, 16)))
        dataset, neighbours, unit = read_counts("grid.npy"), Neighbours(), None
    else:
        rows = [f"{x:.3f},{y:.3f},p{i % 50}" for i, (x, y) in enumerate(rng.random((200, 2)))]
        (tmp_path / "visits.csv").write_text("east,north,person\n" + "\n".join(rows))
        whole = read_table("visits.csv").select(["east", "north"], unit="person")
        dataset, neighbours, unit = cap_records(whole, 2), Neighbours(cap=2), "person"
    subject = Subject(
        name=dataset.name,
        title=dataset.name,
        dataset=dataset,
        domain=Domain(((0, 1), (0, 1))),
        outside="drop",
        settings={"grid": 16, "density": 0.4, "clusters": 3},
    )
    plan = Plan(
        subjects=(subject,),
        methods=("privqt", "eugkm"),
        epsilons=(1.0,),
        seeds=(0,),
        neighbours=neighbours,
        scores=("f_measure",),
    )
    (line,) = command_lines(SweepRequest(plans={"own": plan}, unit=unit))
    words = shlex.split(line)
    assert main(words[3:]) == 0
    written = pd.read_csv(words[words.index("--out") + 1])
    assert list(written["run"]) == list(run_sweep(plan)["run"])
    assert len(written) == 2


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_the_domain_of_a_sample_set_is_the_variants_on_the_command_line_and_in_links(
    tmp_path, monkeypatch, variant
):
    monkeypatch.chdir(tmp_path)
    plan = Plan(
        subjects=(subject_of_sample("incomes"),),
        methods=("privqt", "eugkm"),
        epsilons=(1.0,),
        seeds=(0,),
        variant=variant,
        scores=("f_measure",),
    )
    rows = run_sweep(plan)
    data = load_sample("incomes")
    (bounds,) = set(rows["domain"])
    spanning = f"range of the data, not private: {Domain.from_data(data.points)}"
    assert bounds == (str(data.domain) if variant == "sound" else spanning)
    (line,) = command_lines(SweepRequest(plans={"incomes": plan}))
    words = shlex.split(line)
    assert main(words[3:]) == 0
    written = pd.read_csv(words[words.index("--out") + 1])
    assert list(written["run"]) == list(rows["run"])
    link = explorer_link(plan, "incomes", "privqt", 1.0, 0, None)
    assert link["variant"] == variant
    assert "domain" not in link


def test_own_data_that_is_not_there_is_asked_for(app):
    test = app(**SMALL, data="own")
    assert [one.value for one in test.error] == [f"Load a file {DataState.place}."]
    test = app(**SMALL, data="own,incomes")
    assert not test.error
    assert headings(test) == ["<b>Incomes and one person</b>"]


@pytest.mark.exhaustive(reason="another test of this file takes own data from an explorer")
def test_own_data_is_loaded_on_the_page_itself(app):
    test = app(**SMALL, data="own,incomes", methods="eugkm", neighbours="replace_one")
    test.file_uploader(key="own:file").set_value(("visits.csv", PERSONS, "text/csv"))
    finish(checked(test.run()))
    assert headings(test) == ["<b>visits.csv</b> · not private", "<b>Incomes and one person</b>"]
    checked(control(test.selectbox, "own:unit").select("a person: column who").run())
    finish(checked(control(test.number_input, "own:cap").set_value(2).run()))
    assert not test.error
    rows = test.session_state[FOUND]._table.set_index("data")
    # The relation applies to all data; the cap applies only to data with persons.
    assert set(rows["neighbours"]) == {"replace_one"}
    assert set(rows.loc["visits.csv", "cap"]) == {1, 2}
    assert set(rows.loc["incomes", "cap"]) == {1}
    assert (
        "The Python lines repeat the runs of the sample sets. The commands repeat all runs: run "
        "them in the folder of visits.csv, or write its path instead."
        in [one.value for one in test.caption]
    )
    first, second = test.code[-1].value.splitlines()
    assert "--unit who --cap 2" in first
    assert "--cap" not in second
    assert "--neighbours replace_one" in first
    assert "--neighbours replace_one" in second


def test_scores_against_classes_need_classes_in_all_data(app):
    test = finish(app(**SMALL, data="incomes", methods="privqt"))
    titles = control(test.selectbox, "compare:score").options
    assert "Classes found: F (classes)" in titles
    assert "Pairs agree: ARI (classes) (slower)" in titles
    finish(choose(test, score="class_f"))
    assert not test.error
    known = sample("incomes")
    trial = trial_of(
        load_sample("incomes"), Config(method="privqt", grid=known.grid, density=known.density)
    )
    (shown,) = (one.value for one in test.dataframe if "without noise" in str(one.proto))
    assert shown["true"].unique() == pytest.approx(trial.true()["class_f"])
    assert "class_f" in test.code[-1].value
    finish(choose(test, data=["incomes", "noise"]))
    assert not any("(classes)" in one for one in control(test.selectbox, "compare:score").options)
    assert control(test.selectbox, "compare:score").value == "dsg_c"
    assert "class_f" not in " ".join(one.value for one in test.code)


@pytest.mark.exhaustive(reason="test_kmeans.py scores against a column of classes")
def test_a_class_column_of_own_data_goes_into_links_and_commands(app):
    test = app(**SMALL, data="own", methods="eugkm")
    test.file_uploader(key="own:file").set_value(("visits.csv", PERSONS, "text/csv"))
    finish(checked(test.run()))
    assert "(classes)" not in " ".join(control(test.selectbox, "compare:score").options)
    finish(checked(control(test.selectbox, "own:classes").select("who").run()))
    assert not test.error
    assert "Classes found: F (classes)" in control(test.selectbox, "compare:score").options
    assert "--classes who" in test.code[-1].value
    (link,) = (
        one.proto for one in test.get("page_link") if one.proto.label == "Open in its explorer"
    )
    assert "classes=who" in link.query_string


@pytest.mark.exhaustive(reason="another test of this file takes own data from an explorer")
def test_a_wavecluster_technique_takes_two_columns_of_own_data(app):
    test = app(**SMALL, data="own", methods="eugkm")
    test.file_uploader(key="own:file").set_value(("visits.csv", PERSONS, "text/csv"))
    finish(checked(test.run()))
    (every,) = (one for one in test.button_group if (one.key or "").startswith("own:every"))
    finish(checked(every.set_value("all").run()))
    assert "--columns east,north,height" in test.code[-1].value
    finish(choose(test, methods=["eugkm", "privqt"]))
    assert not test.error
    assert "--columns east,north " in test.code[-1].value
    # The link has these two columns, although the explorer had three columns.
    for name, value in {"method": "eugkm", "epsilon": 2.0, "seed": 1}.items():
        checked(control(test.selectbox, f"compare:open {name}").set_value(value).run())
    (link,) = (
        one.proto for one in test.get("page_link") if one.proto.label == "Open in its explorer"
    )
    said = control(test.selectbox, "compare:open seed").options[1]
    test.query_params.clear()
    test.query_params.update(dict(parse_qsl(link.query_string)))
    test.switch_page("pages/kmeans.py")
    checked(test.run())
    assert test.query_params["columns"] == "east,north"
    assert said.startswith("seed 1: ")
    assert float(cards(test)["Overlap"][0]) == pytest.approx(float(said[8:]), abs=6e-4)


def test_names_of_columns_with_commas_come_back_on_the_command_line(capsys, tmp_path):
    table = tmp_path / "odd.csv"
    rows = "".join(f"{i * 7 % 10},{i * 3 % 10},{i}\n" for i in range(60))
    table.write_text(f'a,"c a,1","say ""so"""\n{rows}')
    names = ("c a,1", 'say "so"')
    assert columns_of(columns_option(names)) == list(names)
    given = ["run", table, "--method", "wavecluster", "--grid", 8]
    assert main([*map(str, given), "--columns", columns_option(names)]) == 0
    assert "odd.csv" in capsys.readouterr().out
    assert main([*map(str, given), "--columns", "a\nb"]) == 2


def test_rows_have_all_columns_of_a_sweep(app):
    test = app(**SMALL, methods="privqt")
    kept = test.session_state[FOUND]._table
    assert list(kept.columns[: len(COLUMNS)]) == list(COLUMNS)
    assert kept["run"].is_unique


def test_a_plan_that_is_cancelled_keeps_the_runs_that_are_finished(monkeypatch):
    monkeypatch.setattr(sweep, "MOST_SEEDS", 2)
    plan = plan_of(methods=("privqt",))
    plan = Plan(**{**vars(plan), "seeds": tuple(range(8))})
    kept, told = Found(), []
    with pytest.raises(SweepCancelled):
        compare_runs.draw_all(
            [plan], "request", kept, lambda *one: told.append(one), lambda: len(told) == 2
        )
    assert told == [(2, 8), (4, 8)]
    pd.testing.assert_frame_equal(kept.rows(plan), run_sweep(plan)[:4], check_exact=True)
    (left,) = kept.missing(plan)
    assert left.seeds == (4, 5, 6, 7)
    # If the job is stopped before its first run, there are no rows to keep.
    with pytest.raises(SweepCancelled):
        compare_runs.draw_all([left], "request", kept, lambda *_: None, lambda: True)
    assert len(kept.rows(plan)) == 4


def cells_of(text: str) -> list[list[str]]:
    """Cells of the rows of a LaTeX table; fails if LaTeX would not read it."""
    lines = text.splitlines()
    assert text.count("{") == text.count("}")
    for name in ("table", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 1
    (columns,) = re.findall(r"\\begin\{tabular\}\{(lr*)\}", text)
    rows = [line.strip().removesuffix(r" \\") for line in lines if line.endswith(r" \\")]
    cells = [re.split(r"(?<!\\)&", row) for row in rows]
    assert {len(row) for row in cells} == {len(columns)}
    plain = [[cell.strip().replace(r"\ensuremath{-}", "-") for cell in row] for row in cells]
    assert not re.search(r"(?<!\\)[#$%_~]|(?<!\\ensuremath\{)\^", "".join(map("".join, plain)))
    return plain


MINUS = r"\ensuremath{-}"
ERRORS = st.floats(1e-4, 1e3)


@examples(40)
@given(st.lists(st.tuples(st.floats(-1e4, 1e4), ERRORS, st.integers(0, 1)), min_size=1, max_size=6))
@example([(1234.567891, 30.0, 0), (-0.00001, 30.0, 0), (0.123456, 0.001, 1)])
def test_decimals_of_a_latex_table_follow_the_standard_error(rows):
    table = pd.DataFrame(
        {
            "data": "gaussians", "method": "privthr", "variant": "sound", "epsilon": 1.0,
            "draws": 10, "mean": mean, "standard_error": error, "median": mean - error,
            "low": mean - 2 * error, "high": mean + 2 * error, "score": score,
        }
        for mean, error, score in rows
    )  # fmt: skip
    charts = [
        Chart(heading="", score=name, table=part.drop(columns="score"))
        for name, (_, part) in zip(("dsg_c", "nicv_ratio"), table.groupby("score"), strict=False)
    ]
    words = {"caption": "c", "label": "t", "cited": ""}
    (_, *cells) = cells_of(latex_table_of(charts, PARAMETERS["epsilon"], (), **words))
    shown = iter(cells)
    for _, part in table.groupby("score"):
        texts = [next(shown)[-5:] for _ in range(len(part))]
        error = part["standard_error"].median()
        last = 10.0 ** (math.floor(math.log10(error)) - 1)  # the second digit of the error
        for column, name in enumerate(("mean", "standard_error", "median", "low", "high")):
            is_coarse = [abs(round(one / last) * last - one) > 0.1 * abs(one) for one in part[name]]
            places = {
                len(text[column].partition(".")[2])
                for text, coarse in zip(texts, is_coarse, strict=True)
                if not coarse
            }
            assert len(places) <= 1
            assert name != "mean" or places <= {max(-round(math.log10(last)), 0)}
            for text, value, coarse in zip(texts, part[name], is_coarse, strict=True):
                if coarse:
                    assert text[column] == escaped(readable(value, 4)).replace(MINUS, "-")
                    continue
                assert re.fullmatch(r"-?\d{1,3}(,\d{3})*(\.\d+)?", text[column])
                assert float(text[column].replace(",", "")) == pytest.approx(value, abs=last)
                assert not re.fullmatch(r"-0\.?0*", text[column])


def test_a_latex_table_of_several_sets_has_no_false_zeros():
    rows = [
        ("gaussians", 0.01325, 0.002), ("gaussians", 1200.0, 900.0), ("gaussians", 7000.0, 40.0),
        ("incomes", 3.2e6, 1e5), ("incomes", 2.9e6, 2e5),
        ("tiny8", 561.0, 12.0), ("tiny8", 2917.0, 30.0),
    ]  # fmt: skip
    table = pd.DataFrame(
        {
            "data": data, "method": "dplloyd", "variant": "sound", "epsilon": 1.0, "draws": 10,
            "mean": mean, "standard_error": error, "median": mean, "low": mean, "high": mean,
        }
        for data, mean, error in rows
    )  # fmt: skip
    charts = [
        Chart(heading="", score="wcss", data=data, table=part)
        for data, part in table.groupby("data")
    ]
    words = {"caption": "c", "label": "t", "cited": ""}
    (_, *cells) = cells_of(latex_table_of(charts, PARAMETERS["epsilon"], (), **words))
    assert [row[5] for row in cells] == [
        "0.01325", "1,200", "7,000", "3,200,000", "2,900,000", "561", "2,917",
    ]  # fmt: skip


def test_differences_name_the_first_method_and_what_many_rows_mean(app):
    small = SMALL | {"draws": 8, "data": "incomes"}
    test = app(**small, methods="privthr,dplloyd,eugkm")
    (table,) = (one.value for one in test.dataframe if "first" in one.value)
    assert {*table["first"]} == {"PrivTHR"}
    assert {*table["method"]} == {"DPLloyd", "EUGkM"}
    assert any("of 100 such rows without any difference" in one.value for one in test.caption)


def test_table_and_figure_are_there_for_latex(app):
    test = app(**SMALL, methods="privthr,privqt")
    names = ("This table (LaTeX)", "This figure (LaTeX)", "What to cite (BibTeX)")
    assert set(names) <= {one.proto.label for one in test.get("download_button")}
    plan = replace(plan_of(methods=("privthr", "privqt")), scores=("dsg_c",), seeds=(0, 1, 2))
    chart = Chart(
        heading="ε 1, 50%",
        score="dsg_c",
        table=summary(run_sweep(plan), "dsg_c"),
        data="gaussians",
        failing=("privqt",),
    )
    words = {"caption": "DSG_C over ε", "label": "t", "cited": "dpviz"}
    text = latex_table_of([chart], PARAMETERS["epsilon"], plan.subjects, **words)
    assert text.count(r" \\") == 1 + len(chart.table)
    assert "Fifteen Gaussians & DSG\\_C & PrivTHR & " in text
    assert "PrivQT, not private & " in text
    (_, *rows), head = cells_of(text), ["mean", "s.e.", "median", "lowest", "highest"]
    assert cells_of(text)[0][-5:] == head
    for row, cells in zip(chart.table.to_dict("records"), rows, strict=True):
        for name, cell in zip(
            ("mean", "median", "low", "high"), (cells[-5], *cells[-3:]), strict=True
        ):
            assert float(cell) == pytest.approx(row[name], rel=1e-2)
        assert float(cells[-4]) == pytest.approx(row["standard_error"], rel=0.1)
    for line, column in (("median", "median"), ("both", "median"), ("mean", "mean")):
        drawn = latex_figure_of([chart], PARAMETERS["epsilon"], line, **words)
        for row in chart.table.to_dict("records"):
            assert f"({row['epsilon']:g}, {row[column]:.6g}) += " in drawn
        assert r"\addlegendentry{PrivQT, not private}" in drawn
        # Each number that the caption names is drawn.
        thin = re.findall(r"forget plot.*? coordinates \{(.*)\};", drawn)
        means = [
            " ".join(f"({row['epsilon']:g}, {row['mean']:.6g})" for row in rows.to_dict("records"))
            for _, rows in chart.table.groupby("method", sort=False)
        ]
        assert thin == (means if line == "both" else [])
        assert ("Thin lines: means." in drawn) == (line == "both")
    assert "( )" not in text + drawn


@pytest.mark.parametrize(
    ("methods", "named"), [("privthr,twostage", ["PrivTHR"]), ("twostage", [])]
)
def test_the_caption_for_latex_names_methods_that_differ_from_their_papers(
    app, monkeypatch, methods, named
):
    captions = []

    def recorded(function, *given, **words):
        if function is latex_table_of:
            captions.append(words["caption"])
        return partial(function, *given, **words)

    monkeypatch.setattr(view, "partial", recorded)
    finish(app(**SMALL, methods=methods))
    assert captions
    for caption in captions:
        _, said, names = caption.partition(" As run by dpviz, with differences from the papers: ")
        assert bool(said) == bool(named)
        assert names == "".join(f"{one}." for one in named)


def test_a_large_score_does_not_round_the_others_away(app):
    """The format of large numbers had two digits for 11.87 beside a large WCSS."""
    test = finish(app(**SMALL, data="incomes", methods="eugkm", score="nicv_ratio", view="scores"))
    found = next(one for one in test.dataframe if "median" in one.value.columns)
    assert found.value["median"].max() > 1e7
    assert found.value["median"].min() < 100
    columns = json.loads(found.proto.columns)
    for name in ("median", "mean", "low", "high"):
        assert columns[name]["type_config"]["format"] == "%.4g"


@pytest.mark.parametrize(("data", "equal"), [("incomes", False), ("gaussians", True)])
def test_equal_scores_are_named_once(app, data, equal):
    test = finish(
        app(**SMALL, data=data, of=data, methods="eugkm", score="nicv_ratio", view="scores")
    )
    said = [one.value for one in test.caption if "are equal in all rows" in one.value]
    assert len(said) == equal
    assert all("NICV / true" in one and "WCSS / least" in one for one in said)
