"""The strip: the stages of a method, their views, what is missing, and links to views."""

import json
from itertools import product

import pytest
from streamlit.testing.v1 import AppTest

from dpviz.figures import kmeans, wavecluster
from dpviz.kmeans.methods import METHODS as KMEANS
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
    return json.loads(one.proto.json)


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
            {"start": "none: one shot", "iterations": "none: one shot"},
            "DPLloyd",
        ),
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


def test_without_details_the_subbands_offer_another_method():
    two_stage = opened("wavecluster", method="twostage", epsilon=1, view="details")
    assert titles(two_stage)["Use PrivTHR"] is None
    (card,) = (one for one in strip_of(two_stage)["cards"] if one["name"] == "wavelet")
    assert card["fact"] == "all details are 0"
    assert "Use PrivTHR" not in titles(opened("wavecluster", method="privthr", view="details"))
    # Other wavelets have details, in any method.
    other = opened("wavecluster", method="twostage", epsilon=1, view="details", wavelet="db2")
    assert "Use PrivTHR" not in titles(other)


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
    # A method without a parameter does not name it.
    other = {one["name"]: one for one in strip_of(opened("wavecluster", method="privqt"))["cards"]}
    assert other["noise"]["controls"] == ["wavecluster-epsilon"]
    start, iterations = strip_of(opened("kmeans", method="dplloyd", t=3))["cards"][1:3]
    assert start["controls"] == ["kmeans-k", "kmeans-start"]
    assert "T 3" in iterations["label"]


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
        assert (card["pick"] == "offer") == card["missing"]
        assert card["label"].endswith(", shown") == (card["name"] in shown(test))
