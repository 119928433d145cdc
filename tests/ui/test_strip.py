"""The strip: the stages of a method, their views, what is missing, and links to views."""

import json
import re
from dataclasses import replace
from itertools import product

import pytest
from streamlit.testing.v1 import AppTest

from dpviz.data.samples import load_sample
from dpviz.families import trial_of
from dpviz.figures import kmeans, wavecluster
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from tests.support import APP
from tests.support.tiers import daily

STAGES = {"wavecluster": wavecluster.STAGES, "kmeans": kmeans.STAGES}
VIEWS = {"wavecluster": wavecluster.VIEWS, "kmeans": kmeans.VIEWS}
METHODS = {"wavecluster": WAVECLUSTER, "kmeans": KMEANS}
SMALL = {"wavecluster": {"data": "tiny8"}, "kmeans": {"data": "incomes", "k": 2, "t": 3}}


def opened(page: str, **link: object) -> AppTest:
    test = AppTest.from_file(APP, default_timeout=120)
    test.switch_page(f"pages/{page}.py")
    for name, value in {**SMALL[page], **link}.items():
        test.query_params[name] = str(value)
    return checked(test.run())


def checked(test: AppTest) -> AppTest:
    assert not test.exception, test.exception
    return test


def strip_of(test: AppTest) -> dict:
    (one,) = (
        one for one in test.get("bidi_component") if one.proto.component_name == "dpviz_strip"
    )
    return json.loads(one.proto.json)[0]


def shown(test: AppTest) -> list[str]:
    return [card["name"] for card in strip_of(test)["cards"] if card["shown"]]


def titles(test: AppTest) -> dict[str, bool]:
    """Choices at the end of the strip, and whether each is pressed."""
    return {one["title"]: one.get("on") for one in strip_of(test)["choices"]}


@pytest.mark.parametrize(
    ("page", "method", "missing", "other"),
    [
        ("wavecluster", "wavecluster", {"noise": "none is added"}, "PrivTHR"),
        ("wavecluster", "privqt", {}, ""),
        (
            "kmeans",
            "dprefine",
            {"start": "made from the grid", "iterations": "one residual step"},
            "DPLloyd",
        ),
        (
            "kmeans",
            "eugkm",
            {"start": "made from the grid", "iterations": "made from the grid"},
            "DPLloyd",
        ),
        (
            "kmeans",
            "kmeans",
            {"start": "the best of many", "iterations": "the best of many"},
            "DPLloyd",
        ),
        ("kmeans", "gupt", {"start": "none: one shot", "iterations": "none: one shot"}, "DPLloyd"),
        ("kmeans", "dplloyd", {}, ""),
    ],
)
def test_a_missing_stage_says_why_and_offers_a_method(page, method, missing, other):
    cards = strip_of(opened(page, method=method))["cards"]
    found = {card["name"]: card["fact"] for card in cards if card["missing"]}
    assert found == {name: f"{why} · use {other}" for name, why in missing.items()}
    for card in cards:
        assert bool(card["pictures"]) != card["missing"]
        assert len(card["fact"].partition(" · ")[0].split()) <= 5


@pytest.mark.parametrize(
    ("page", "method"), [(page, one) for page, known in METHODS.items() for one in known]
)
def test_no_hint_or_button_proposes_the_method_that_is_chosen(page, method):
    test = opened(page, method=method)
    said = [one.proto.body for one in test.get("html")] + [one.label for one in test.button]
    said += strip_of(test)["cards"] + strip_of(test)["choices"]
    title = METHODS[page][method].card.title
    assert not re.search(rf"\b(try|use) {re.escape(title)}(?![\w+-])", str(said), re.IGNORECASE)
    # Without noise, no slider breaks anything.
    assert ("Drag ε" in str(said)) <= METHODS[page][method].card.spends


def test_without_details_the_subbands_offer_another_method():
    two_stage = opened("wavecluster", method="twostage", epsilon=1, view="details")
    assert titles(two_stage)["Use PrivTHR"] is None
    (card,) = (one for one in strip_of(two_stage)["cards"] if one["name"] == "wavelet")
    assert card["fact"] == "all details are 0"
    assert "Use PrivTHR" not in titles(opened("wavecluster", method="privthr", view="details"))
    # Other wavelets have details, in any method.
    other = opened("wavecluster", method="twostage", epsilon=1, view="details", wavelet="db2")
    assert "Use PrivTHR" not in titles(other)


@pytest.mark.parametrize(
    ("page", "link", "first"),
    [
        ("wavecluster", {"method": "privthr", "view": "average"}, "wavelet"),
        ("wavecluster", {"method": "privthr", "view": "details"}, ""),
        ("kmeans", {"method": "dplloyd"}, "centres"),
        ("kmeans", {"method": "dplloyd", "i": 0}, "start"),
        ("kmeans", {"method": "dplloyd", "i": 1}, ""),
        ("kmeans", {"method": "dplloyd", "view": "noise"}, ""),
    ],
)
def test_a_click_leads_to_the_side_bar_only_from_the_first_view_of_a_stage(page, link, first):
    cards = strip_of(opened(page, **link))["cards"]
    assert [one["name"] for one in cards if one["first"]] == [first] * bool(first)


def test_a_stage_has_its_controls_and_tells_their_values():
    test = opened("wavecluster", method="privthr", epsilon=0.5, alpha=0.7, p=0.3, level=1)
    cards = {one["name"]: one for one in strip_of(test)["cards"]}
    assert cards["noise"]["controls"] == ["wavecluster-epsilon", "wavecluster-alpha"]
    assert ", ε 0.5, α 0.70" in cards["noise"]["label"]
    assert (cards["cut"]["controls"], "p 0.30" in cards["cut"]["label"]) == (
        ["wavecluster-p"],
        True,
    )
    assert cards["wavelet"]["controls"] == ["wavecluster-wavelet", "wavecluster-level"]
    assert ", wavelet haar, level 1 (in the side bar)" in cards["wavelet"]["label"]
    # A method without a parameter does not name it.
    other = {one["name"]: one for one in strip_of(opened("wavecluster", method="privqt"))["cards"]}
    assert other["noise"]["controls"] == ["wavecluster-epsilon"]
    start, iterations = strip_of(opened("kmeans", method="dplloyd", t=3))["cards"][1:3]
    assert start["controls"] == ["kmeans-k", "kmeans-start"]
    assert "T 3" in iterations["label"]


def test_alpha_has_its_place_in_every_private_method():
    for method, one in WAVECLUSTER.items():
        if not one.card.spends or one.card.parameter("alpha"):
            assert not one.card.splits
            continue
        test = opened("wavecluster", method=method, epsilon=0.7)
        words = " ".join(part.proto.body for part in test.get("html"))
        assert f"<b>Counts' share α</b>{one.card.splits}</p>" in words
        assert one.card.splits.startswith(one.card.title)
        (button,) = (part for part in test.button if part.label == "Use PrivTHR")
        checked(button.click().run())
        assert test.query_params["method"] == "privthr"
        assert test.query_params["epsilon"] == "0.7"
        assert test.query_params["alpha"] == "0.9"
        assert not [part for part in test.button if part.label == "Use PrivTHR"]


def test_the_stage_that_broke_the_selected_cluster_is_marked():
    """With the panel closed nothing is marked; a kept cluster has no mark."""
    link = {"data": "gaussians", "method": "baseline", "epsilon": 0.2, "g": 64, "p": 0.58}
    test = opened("wavecluster", **link, wavelet="db2")
    assert not any(card["mark"] for card in strip_of(test)["cards"])
    test.session_state["wavecluster:diagnosis"] = True
    checked(test.run())
    (box,) = (one for one in test.selectbox if one.label == "True cluster")
    words = {
        "One cell is the cause": "clusters", "The grid is too coarse": "counts",
        "It is so small": "counts", "The noise in the counts": "noise",
        "Noise from other cells": "wavelet", "The threshold is the cause": "cut",
    }  # fmt: skip
    seen = set()
    for cluster in (1, 2, 3, 5, 7):
        checked(box.set_value(cluster).run())
        (box,) = (one for one in test.selectbox if one.label == "True cluster")
        (said,) = (
            one.value for one in test.markdown if one.value.startswith(f"Cluster {cluster} ")
        )
        marked = {card["name"]: card for card in strip_of(test)["cards"] if card["mark"]}
        stages = [stage for start, stage in words.items() if start in said.split(". ")[1]]
        assert list(marked) == stages[:1], said
        for card in marked.values():
            assert card["mark"] == f"✗ {cluster}"
            assert f"cluster {cluster} first differs here" in card["label"]
        seen |= {*marked}
    assert len(seen) >= 3


@pytest.mark.parametrize("method", ["dplloyd", "mcmc"])
def test_scores_are_those_of_the_iteration_that_is_shown(method):
    link = {"method": method, "epsilon": 0.3, "t": 3, "seed": 2}
    known = {}
    for step in (0, 1, 2, None):
        test = opened("kmeans", **link, **({} if step is None else {"i": step}))
        board = " ".join(one.proto.body for one in test.get("html"))
        value, beside = re.search(
            r'Times the error.*?dpv-value">(.*?)</span><span class="dpv-beside">(.*?)</span>', board
        ).groups()
        moved = re.search(r'Centres moved.*?dpv-value">(.*?)%<', board)[1]
        known[step] = float(value), float(moved)
        when = {None: "best 1", 0: "start"}.get(step, f"iteration {step}")
        assert beside == f"NICV / true · {when}"
        # The last step of MCMC is its post-processing.
        marked = re.search(r"<b>(Start|Iteration \d of 3): ", board)
        assert bool(marked) == (step is not None)
        if step:
            assert marked[1] == f"Iteration {step} of 3"
    dataset = load_sample("incomes")
    config = KMeansConfig(method=method, clusters=2, epsilon=0.3, iterations=3)
    trial = trial_of(dataset, config)
    run = trial.draw(2)
    path = run.path if run.before is None else [*run.path, run.centers]
    for step, (value, moved) in known.items():
        centers = run.centers if step is None else path[step]
        one = replace(run, centers=centers)
        expected = trial.truth.scores(one, ("nicv_ratio", "displacement"))
        assert value == pytest.approx(expected["nicv_ratio"], rel=5e-3)
        assert moved == pytest.approx(100 * expected["displacement"], abs=0.006)


@pytest.mark.parametrize(("step", "stage"), [(0, "start"), (1, "iterations"), (3, "centres")])
def test_the_player_moves_along_the_stages(step, stage):
    test = opened("kmeans", method="dplloyd", t=3, i=step)
    assert shown(test) == [stage]
    assert strip_of(test)["cards"][2]["fact"] == ("1 of 3" if step == 1 else "3 iterations")


@pytest.mark.parametrize(
    ("page", "method", "view"),
    daily(
        [
            (page, method, view)
            for page in VIEWS
            for method, view in product(METHODS[page], VIEWS[page])
        ],
        lambda one: (
            one[1] in ("baseline", "mcmc")
            or (one[1] in ("wavecluster", "gupt") and one[2] in ("added", "iterations"))
        ),
    ),
)
def test_a_link_opens_its_view_at_its_stage(page, method, view):
    test = opened(page, method=method, view=view)
    assert not test.error
    cards, choices = strip_of(test)["cards"], titles(test)
    assert [card["name"] for card in cards] == list(STAGES[page])
    now = test.query_params["view"]
    stage = next((name for name, views in STAGES[page].items() if now in views), None)
    assert shown(test) == [stage] * (stage is not None)
    # The views of the stage are choices if there are several, and the shown view is pressed.
    here = [VIEWS[page][one] for one in STAGES[page].get(stage, ()) if VIEWS[page][one] in choices]
    assert len(here) != 1
    assert [title for title in here if choices[title]] == ([VIEWS[page][now]] if here else [])
    if page == "wavecluster":
        assert choices["All stages"] == (now == "overview")
    # Every card of the strip opens something, or offers another method.
    for card in cards:
        assert card["pick"] == "use " * card["missing"] + card["name"]
        assert card["label"].endswith(", shown") == (card["name"] in shown(test))
