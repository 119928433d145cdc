"""The app without a browser: numbers and messages. tests/browser has tests of how they look."""

import gzip
import io
import json
import math
import re
from itertools import product
from threading import Event

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from hypothesis import given
from hypothesis.strategies import integers, tuples
from streamlit.testing.v1 import AppTest

from dpviz.base.lru import LRUCache
from dpviz.data.samples import load_sample, sample, sample_names
from dpviz.experiments.prices import of_family, sentence, summary
from dpviz.families import trial_of
from dpviz.figures.marks import OVERLAY
from dpviz.figures.wavecluster import VIEWS, WITH_SUBBANDS
from dpviz.ui.explorer import settings
from dpviz.ui.explorer.wavecluster import _timed_agreement
from dpviz.ui.messages import plain_text
from dpviz.ui.session.state import Control, UrlState, format_value, sides
from dpviz.wavecluster.family import FAMILY
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth
from tests.conftest import reference_file
from tests.support import APP
from tests.support.controls import control
from tests.support.tiers import daily
from tests.wavecluster.test_reference import GRIDS, TRUE


@pytest.fixture
def app():
    def open_app(**link) -> AppTest:
        test = AppTest.from_file(APP, default_timeout=120)
        for name, value in link.items():
            test.query_params[name] = str(value)
        return checked(test.run())

    return open_app


def checked(test: AppTest) -> AppTest:
    assert not test.exception, test.exception
    return test


def cards(test: AppTest) -> dict[str, tuple[str, str]]:
    """Readouts by label: the value, and the text beside the value."""
    body = next(one.proto.body for one in test.get("html") if 'class="dpv-card' in one.proto.body)
    found = re.findall(
        r'data-name="(.*?)".*?<span class="dpv-value">(.*?)</span>'
        r'<span class="dpv-beside">(.*?)</span>',
        body,
    )
    return {label: (value, beside) for label, value, beside in found}


def cards_at_once(test: AppTest) -> dict[str, tuple[str, str]]:
    """The readouts that appear with the picture. OCM and 2CE appear later, when a job ends."""
    late = ("Points wrong", "Pairs wrong")
    return {label: value for label, value in cards(test).items() if label not in late}


def text(test: AppTest) -> str:
    return " ".join(one.proto.body for one in test.get("html"))


def axis_name(axis: dict) -> str:
    """Name of an axis; a short name is before the first number."""
    return axis["title"]["text"] or re.sub("<.*?>", "", axis["tickprefix"]).strip()


def figure_head(test: AppTest) -> dict:
    """JSON head of the figure's bytes, which has everything except the arrays."""
    for one in test.get("bidi_component"):
        if one.proto.component_name == "dpviz_live_figure":
            raw = one.proto.bytes
            return json.loads(raw[4 : 4 + int.from_bytes(raw[:4], "little")])
    raise AssertionError("there is no figure")


def title(test: AppTest) -> str:
    return figure_head(test)["figure"]["layout"]["title"]["text"]


def upload(test: AppTest, name: str, content: bytes) -> AppTest:
    control(test.selectbox, "wavecluster:data").set_value("own").run()
    test.file_uploader(key="own:file").set_value((name, content, "application/octet-stream"))
    return checked(test.run())


def test_opens_on_a_clustered_sample(app):
    test = app()
    assert not test.error
    assert not test.warning
    assert cards(test)["Clusters"][1] == "true 15"
    assert title(test) == (
        "Fifteen Gaussians · Two-stage · ε 0.02 · g 64 · p 0.58 · haar level 1 · seed 0"
    )


@pytest.mark.usefixtures("as_released")
def test_the_first_visit_shows_what_privacy_costs_and_a_link_means_what_it_did(app):
    """Without a link, clusters are lost; a link that gives no epsilon has the default epsilon."""
    first = app()
    assert "2 clusters invented, 1 grown: epsilon 0.02. " in text(first)
    assert "14 of 15 true clusters found" in text(first)
    assert "All 15 clusters are found:</b> <b>epsilon 1<" in text(app(seed=0))
    # After a reset, the page is as on the first visit.
    test = app(epsilon=1)
    reset = next(one for one in test.button if one.label == "Reset")
    assert "2 clusters invented, 1 grown: epsilon 0.02. " in text(checked(reset.click().run()))


GOOD = 'class="dpv-card dpv-good'


def test_a_grid_that_is_too_coarse_gets_no_good_mark(app):
    """On two cells a side, the data seem to be one cluster, which every run finds."""
    coarse = app(g=2, seed=0)
    assert "The grid is too coarse: 15 clusters look like 1:<" in text(coarse)
    assert cards(coarse)["Found"] == ("1 / 1", "")
    assert cards(coarse)["Overlap"][0] == "1.000"
    assert GOOD not in text(coarse)
    fine = app(g=64, seed=0)
    assert "too coarse" not in text(fine)
    assert GOOD in text(fine)


def test_a_run_that_lost_everything_gets_no_good_mark(app):
    lost = app(epsilon=0.001, method="privqt", seed=3, g=16)
    assert GOOD not in text(lost)


@pytest.mark.usefixtures("as_released")
def test_the_first_readouts_say_what_was_found_and_lost(app):
    assert cards(app())["Found"] == ("14 / 15", "2 invented")
    assert cards(app())["Area that differs"] == ("35.5%", "best 0")


def test_the_sentence_agrees_with_the_panel_below_it(app):
    """The sentence counts broken clusters by the same rule as the panel for each cluster."""
    test = app(epsilon=0.03)
    test.session_state["wavecluster:diagnosis"] = True
    checked(test.run())
    titles = control(test.selectbox, "wavecluster:diagnosis cluster").options
    broken = [title for title in titles if "broken" in title]
    assert f"{15 - len(broken)} of 15 true clusters found" in text(test)
    assert 0 < len(broken) < 15
    # The first broken cluster is shown until the user chooses.
    found = control(test.selectbox, "wavecluster:diagnosis cluster")
    assert found.options[found.index] == broken[0]
    test = checked(found.select_index(titles.index(broken[-1])).run())
    found = control(test.selectbox, "wavecluster:diagnosis cluster")
    assert found.options[found.index] == broken[-1]


def test_without_noise_there_is_no_epsilon_in_the_sentence(app):
    assert "All 15 clusters are found:</b> <b>no noise<" in text(app(method="wavecluster"))


# Every day, each method and each sample set occurs once.
@pytest.mark.parametrize(
    ("method", "name"),
    daily(
        product(WAVECLUSTER, sample_names()),
        lambda one: one[0] == FAMILY.first or one[1] == "shapes",
    ),
)
def test_every_method_on_every_sample(app, name, method):
    test = app(data=name, method=method)
    assert not test.error
    assert cards(test)["Clusters"][1] == f"true {sample(name).clusters}"
    spends = WAVECLUSTER[method].card.spends
    assert ("Budget: 1 of 1 spent" in text(test)) == spends
    assert sample(name).title in title(test)


@pytest.mark.parametrize("name", sample_names())
def test_classes_of_samples_are_scored_against(app, name):
    found, known, data = cards(app(data=name)), sample(name), load_sample(name)
    assert ("Classes found" in found) == (known.classes is not None)
    if known.classes:
        trial = trial_of(data, Config(method=FAMILY.first, grid=known.grid, density=known.density))
        private = trial.scores(trial.draw(0), 0, ("class_f",))["class_f"]
        expected = f"{private:.3f}", f"F · true {trial.true()['class_f']:.3f}"
        assert found["Classes found"] == expected


@pytest.mark.parametrize("method", WAVECLUSTER)
def test_the_threshold_is_explained_to_its_owner(app, method):
    test = app(view="threshold", data="tiny8", method=method, epsilon=0.5)
    assert not test.error
    # Brackets are escaped, because a caption is Markdown.
    captions = [one.value.replace("\\", "") for one in test.caption]
    (said,) = [text for text in captions if "True run:" in text]
    assert "k = ⌈(1 − 0.40) · 10⌉ = 6, and the value of rank 6 is d = 12." in said
    assert ("Run with no noise:" if method == "wavecluster" else "Run with noise:") in said
    assert ("is sampled from (0, " in said) == (method == "privthrem")
    assert ("Z′ = " in said) == (method == "privthr")
    assert said.partition(" True values")[0] in figure_head(test)["alt"]
    assert test.query_params["view"] == "threshold"
    assert not any("True run:" in one.value for one in app(data="tiny8").caption)


def test_nothing_found_is_said_and_means_are_called_so(app):
    test = app(data="tiny4", method="twostage", epsilon=0.1)
    assert not test.error
    made, true = cards(test)["Clusters"]
    assert (made, true != "true 0") == ("0", True)
    said = " ".join(one.value for one in test.caption)
    assert "Nothing found: the released counts do not differ clearly from noise." in said
    # The picture of the clusters shows no counts.
    assert "are means, given" not in said
    test = app(data="shapes", method="twostage", view="counts")
    found = " ".join(one.value for one in test.caption)
    assert "Nothing found" not in found
    assert "Private counts and coefficients are means, estimated from the released counts" in found
    published = app(data="shapes", method="privthr", view="counts")
    assert "are means, given" not in " ".join(one.value for one in published.caption)


def test_slow_held_out_scores_come_later(app, monkeypatch):
    gate, right = Event(), Truth.agreement

    def slow(self, *given):
        gate.wait(60)
        return right(self, *given)

    monkeypatch.setattr(Truth, "agreement", slow)
    monkeypatch.setattr("dpviz.ui.explorer.wavecluster._timed_agreement", _timed_agreement)
    monkeypatch.setattr("dpviz.ui.explorer.wavecluster.PATIENCE", 0.0)
    test = app(data="tiny8")
    assert cards(test)["Points wrong"][0] == "…"
    first = test.session_state["wavecluster:agreement job"]
    control(test.number_input, "wavecluster:seed").set_value(1).run()
    # The earlier draw is no longer needed.
    assert first.cancelled
    gate.set()
    assert test.session_state["wavecluster:agreement job"].wait(60)
    checked(test.run())
    labels = {"ocm": "Points wrong", "two_ce": "Pairs wrong"}
    found = {name: float(cards(test)[label][0]) for name, label in labels.items()}
    truth, config, seed = test.session_state["wavecluster:agreement job"].request
    expected = right(truth, config, seed)
    assert seed == 1
    assert found == pytest.approx(expected, abs=5e-4)
    # Another session has the same settings.
    drawn = []
    monkeypatch.setattr(Truth, "agreement", lambda *given: drawn.append(given))
    other = app(data="tiny8", seed=1)
    assert other.session_state["wavecluster:agreement job"].wait(60)
    checked(other.run())
    assert cards(other)["Points wrong"][0] == cards(test)["Points wrong"][0]
    assert not drawn


def test_a_method_of_our_own_has_one_variant_whatever_the_link_says(app):
    test = app(data="shapes", method="twostage", variant="published")
    assert not test.error
    assert "Two-stage has no published variant, because no paper has it; sound is" in (
        test.warning[0].value
    )
    assert test.query_params["variant"] == "sound"
    assert control(test.selectbox, "wavecluster:variant").disabled
    settings = app(data="shapes", method="twostage")
    assert not settings.warning
    assert cards(test)["Area that differs"] == cards(settings)["Area that differs"]
    # Methods of papers have two variants. Our own methods have one variant, which a change sets.
    method = lambda name: control(test.selectbox, "wavecluster:method").set_value(name)  # noqa: E731
    variant = lambda: control(test.selectbox, "wavecluster:variant")  # noqa: E731
    checked(method("privthr").run())
    assert (variant().disabled, variant().value) == (False, "sound")
    checked(variant().set_value("published").run())
    checked(method("twostage").run())
    assert (variant().disabled, variant().value) == (True, "sound")
    assert not test.warning


@pytest.mark.parametrize("method", ["twostage", "privthr"])
def test_the_card_stands_below_its_code_as_plain_text(app, method):
    test = app(data="shapes", method=method)
    test.session_state["wavecluster:behind"] = True
    card = WAVECLUSTER[method].card
    (said,) = (one.value for one in checked(test.run()).markdown if card.summary in one.value)
    assert ("(our own method, no paper)" in said) == (card.origin == "ours")
    assert ("Differs from the paper" in said) == (card.origin != "ours" and bool(card.deviations))
    # Stars and brackets of formulas are not Markdown.
    assert not re.search(r"(?<!\\)[*\[\]]", re.sub(r"(?m)^\* |\*\*", "", said))


def test_baseline_shows_its_synthetic_points_and_other_methods_say_that_they_have_none(app):
    test = app(view="synthetic", data="spirals", method="baseline", epsilon=1)
    head = figure_head(test)
    assert "synthetic points of the private run" in head["alt"]
    assert not head["pairs"]
    assert any("draws each point at a random place" in one.value for one in test.caption)
    checked(control(test.selectbox, "wavecluster:method").set_value("privqt").run())
    assert test.query_params["view"] == "clusters"
    assert "Clusters: " in figure_head(test)["alt"]
    assert any("only Baseline does" in one.value for one in test.caption)


def test_the_boxes_of_a_synopsis_count_in_the_size_of_a_cached_run(app, monkeypatch):
    store = LRUCache(2**21)
    stores = {"runs": store}
    monkeypatch.setattr(
        "dpviz.ui.session.cache._shared",
        lambda name, size: stores.setdefault(name, LRUCache(size)),
    )
    test = app(view="synthetic", data="spirals", method="baseline", synopsis="quadtree", epsilon=1)
    assert "4,096 boxes" in figure_head(test)["alt"]
    assert store._sum == 40 * 40 + 2 * 4096


@pytest.mark.parametrize(
    "view", [v for v in VIEWS if v not in ("threshold", "synthetic", "epsilons")]
)
def test_every_view_has_true_beside_private_and_words(app, view):
    test = app(view=view, data="spirals")
    head = figure_head(test)
    assert "Three spirals" in head["alt"]
    assert head["pairs"]
    traces = head["figure"]["data"]
    for true, private in head["pairs"]:
        assert traces[true]["xaxis"] != traces[private]["xaxis"]
        assert traces[true].get("coloraxis") == traces[private].get("coloraxis")
    axes = [name for name in head["figure"]["layout"] if re.fullmatch(r"xaxis\d+", name)]
    linked = {name: head["figure"]["layout"][name].get("matches") for name in axes}
    if view == "overview":  # the two mosaics are linked
        assert (linked.pop("xaxis2"), linked.pop("xaxis7")) == (None, "x2")
    assert set(linked.values()) == {"x"}
    told = any("LH (H) averages along x" in one.value for one in test.caption)
    assert told == (view in WITH_SUBBANDS)


def test_all_controls_stand_in_the_link_and_come_back(app):
    link = {
        "data": "spirals", "method": "privthrem", "variant": "published", "epsilon": "0.25",
        "alpha": "0.6", "g": "48", "p": "0.2", "wavelet": "db2", "level": "2", "seed": "7",
        "view": "average", "domain": "0.0,500000.0;0.0,1000000.0", "outside": "drop",
    }  # fmt: skip
    test = app(**link)
    again = app(**test.query_params)
    for one in (test, again):
        assert not one.warning
        assert {name: one.query_params[name] for name in link} == link
        assert "PrivTHREM · ε 0.25 · α 0.60 · g 48 · p 0.20 · db2 level 2 · seed 7" in title(one)
    assert cards_at_once(test) == cards_at_once(again)


def test_a_link_with_the_data_alone_takes_its_good_grid(app):
    assert "g 40 · p 0.10" in title(app(data="spirals"))
    assert "g 80 · p 0.10" in title(app(data="spirals", g=80))


BAD_LINKS = {
    "epsilon": ("-1", "0", "nan", "inf", "abc", ""),
    "alpha": ("0", "1", "nan"),
    "g": ("1", "0", "-5", "100000", "2.5", "x", "64,1", "64,", "64,32,16", "64x32", "400,32"),
    "p": ("0", "1", "58"),
    "wavelet": ("mexh", "nope"),
    "level": ("0", "99"),
    "method": ("magic",),
    "variant": ("best",),
    "data": ("nothing",),
    "domain": ("5,1;0,1", "here", "nan,1;0,1", "0,1"),
    "outside": ("keep",),
    "seed": ("-1", "x"),
    "view": ("nowhere",),
}


# Every day, the first value of each control is enough: one function refuses all bad numbers.
@pytest.mark.parametrize(
    ("name", "value"),
    daily(
        [(name, value) for name, values in BAD_LINKS.items() for value in values],
        lambda one: one[1] == BAD_LINKS[one[0]][0],
    ),
)
def test_a_bad_link_is_corrected_and_said(app, name, value):
    test = app(**{name: value})
    assert cards(test)["Clusters"][1].startswith("true ")
    if value:
        said = [one.value for one in (*test.warning, *test.error)]
        assert len(said) == 1
        assert name in said[0].lower() or f"{name} =" in said[0]


@pytest.mark.parametrize("g", [63, 2, 256])
def test_odd_and_extreme_grids_run(app, g):
    test = app(g=g)
    assert not test.error
    assert any("padded" in one.value for one in test.caption) == (g == 63)


@pytest.mark.parametrize(
    ("name", "value", "used"),
    [("epsilon", 50, "ε 10 "), ("g", 300, "g 256"), ("p", 0.999, "p 0.99")],
)
def test_a_value_beyond_a_slider_is_brought_back_and_said(app, name, value, used):
    test = app(**{name: value})
    assert used in title(test)
    assert f"{name} = {value}" in test.warning[0].value


# -- one number of cells per column ------------------------------------------------------


whole_numbers = integers(2, 256)


def live_sliders(test):
    drawn = [
        json.loads(one.proto.json)[0]
        for one in test.get("bidi_component")
        if one.proto.component_name == "dpviz_live_slider"
    ]
    return {one["spec"]["label"]: one["value"] for one in drawn}


def switch(test):
    return control(test.toggle, "wavecluster:g:each")


def test_a_link_gives_each_column_its_own_number_of_cells(app):
    test = app(g="33,20", data="spirals", level=2)
    assert "g 33 x 20 " in title(test)
    sliders = live_sliders(test)
    assert (sliders["Grid g · x"], sliders["Grid g · y"]) == (33, 20)
    assert "Grid g" not in sliders
    assert switch(test).value
    assert test.query_params["g"] == "33,20"
    assert any("to 36 cells" in one.value for one in test.caption)
    source = Source.build(load_sample("spirals"), (33, 20))
    truth = Truth(source, Config(density=0.1, level=2))
    assert cards(test)["Clusters"][1] == f"true {truth.stages.n_clusters}"
    # The last blocks end at the end of the domain.
    (heat,) = (
        one
        for one in figure_head(app(g="33,20", level=2, view="average"))["arrays"]
        if one["path"] == ["data", 0, "x"]
    )
    assert heat["shape"] == [10]


@given(whole_numbers | tuples(whole_numbers, whole_numbers))
def test_a_grid_in_a_link_is_read_back(grid):
    assert sides("g", 2, 256)(format_value(grid)) == grid
    used = FAMILY.by_name["grid"].value(grid)
    assert np.array_equal(np.broadcast_to(used, 2), np.broadcast_to(grid, 2))
    assert isinstance(used, int) == (len(set(np.ravel(grid))) == 1)


def test_the_switch_keeps_the_grid_and_the_sliders_move_it(app):
    test = app(data="spirals")
    assert not switch(test).value
    checked(switch(test).set_value(True).run())
    assert "g 40 · " in title(test)
    assert test.query_params["g"] == "40,40"
    test.session_state["wavecluster:g:1"] = 21
    checked(test.run())
    assert "g 40 x 21 · " in title(test)
    assert test.query_params["g"] == "40,21"
    checked(switch(test).set_value(False).run())
    assert "g 40 · " in title(test)
    assert live_sliders(test)["Grid g"] == 40
    # The values that the sliders had before do not return.
    checked(switch(test).set_value(True).run())
    assert "g 40 · " in title(test)
    assert live_sliders(test)["Grid g · y"] == 40


def test_other_data_and_reset_bring_one_number_back(app):
    test = app(data="spirals", g="33,20")
    checked(control(test.selectbox, "wavecluster:data").set_value("gaussians").run())
    assert "g 64 · " in title(test)
    assert not switch(test).value
    checked(switch(test).set_value(True).run())
    checked(next(one for one in test.button if one.label == "Reset").click().run())
    assert live_sliders(test)["Grid g"] == 64


def test_every_panel_works_with_one_number_per_column(app):
    test = app(g="33,20", data="spirals")
    for panel in ("diagnosis", "draws", "goal", "behind"):
        test.session_state[f"wavecluster:{panel}"] = True
    checked(test.run())
    assert not test.error
    code = " ".join(one.value for one in test.code)
    assert "grid=(33, 20)" in code
    assert "--grid 33,20" in code
    link = next(one.proto for one in test.get("page_link") if "Release" in one.proto.label)
    assert "g=33%2C20" in link.query_string


def test_the_figures_of_the_paper_are_one_click_away(app):
    def figures(**settings):
        links = [one.proto for one in app(**settings).get("page_link")]
        return [one for one in links if one.label.startswith("Figures of ")]

    (one,) = figures(data="spirals", method="privthr")
    assert (one.label, one.query_string) == ("Figures of Chen, Yu, Chirkova 2015", "preset=000-5")
    assert not figures(data="spirals", method="twostage")


def test_fewer_records_than_cells_is_said(app):
    assert any("fewer records (800) than cells" in one.value for one in app(data="incomes").caption)
    assert not any("fewer records" in one.value for one in app(data="spirals").caption)


def test_a_domain_that_holds_no_point_is_one_sentence(app):
    test = app(data="spirals", domain="-9,-8;-9,-8")
    (said,) = [one.value for one in test.error]
    assert "holds none of the 31,200 points" in said
    assert "declare bounds" in said


def test_points_outside_are_counted_and_can_be_left_out(app):
    for outside, records in (("clip", 31_200), ("drop", 14_282)):
        test = app(data="spirals", domain="0,500000;0,1000000", outside=outside)
        assert any("16,918 points lie outside the domain" in one.value for one in test.caption)
        test.session_state["wavecluster:behind"] = True
        assert checked(test.run()).dataframe[0].value["true"]["records"] == records


def test_a_level_that_does_not_fit_is_one_sentence(app):
    test = app(g=16, level=6)
    assert [one.value for one in test.error] == [
        "level = 6 does not fit a grid with 16 cells on its shortest side: choose a whole "
        "number from 1 to 4."
    ]


def test_redraw_changes_the_noise_and_reset_brings_all_back(app):
    test = app(epsilon=0.1, method="privthr", alpha=0.5)
    before = cards(test)
    redraw = next(one for one in test.button if one.label == "Redraw")
    checked(redraw.click().run())
    assert cards(test) != before
    assert "seed 1" in title(test)
    reset = next(one for one in test.button if one.label == "Reset")
    checked(reset.click().run())
    assert "Two-stage · ε 0.02 · g 64" in title(test)
    assert "seed 0" in title(test)
    # The share of a method that is not chosen also returns to its default.
    checked(control(test.selectbox, "wavecluster:method").set_value("privthr").run())
    assert "ε 0.02 · α 0.90" in title(test)


def test_changing_the_method_takes_its_alpha(app):
    test = app(method="privthr")
    checked(control(test.selectbox, "wavecluster:method").set_value("privthrem").run())
    assert "α 0.70" in title(test)


def test_another_sample_takes_its_grid(app):
    test = app(g=100)
    checked(control(test.selectbox, "wavecluster:data").set_value("shapes").run())
    assert "g 36 · p 0.23" in title(test)


def test_the_promise_follows_variant_and_domain(app):
    assert "dpv-card dpv-yes" in text(app())
    published = {"method": "privthr", "variant": "published"}
    assert "dpv-card dpv-no" in text(app(**published))
    assert "dpv-card dpv-yes" in text(app(**published, domain="declared"))
    modified = app(**published, domain="declared", neighbours="replace_one")
    assert "dpv-card dpv-no" in text(modified)
    assert "changes two counts, and the noise hides only one" in text(modified)
    assert "dpv-card dpv-yes" in text(app(neighbours="replace_one"))
    assert "dpv-card dpv-no" in text(app(domain="data"))
    assert "declare a domain" in text(app(domain="data"))
    assert "dpv-card dpv-no" in text(app(method="wavecluster"))
    assert "at most 2.72 times as likely" in text(app(epsilon=1))
    for link in (published, {"domain": "data"}, {"method": "wavecluster"}):
        assert "times as likely" not in text(app(**link))


def test_bounds_follow_the_variant_until_a_person_chooses(app):
    test = app(data="incomes", method="privthr")
    kind = lambda: next(one for one in test.radio if one.label == "Bounds of the grid")  # noqa: E731
    variant = lambda name: control(test.selectbox, "wavecluster:variant").set_value(name)  # noqa: E731
    assert kind().value == "declared"
    assert "domain" not in test.query_params
    test.session_state["wavecluster:behind"] = True
    checked(variant("published").run())
    assert kind().value == "data"
    assert any("domain from the data" in one.value for one in test.caption)
    assert "not private" in cards(test)["Method"][0]
    assert "The domain spans the data" in text(test)
    assert "domain" not in test.query_params
    lines, shell = (one.value for one in test.code)
    assert "domain='data'" in lines
    assert "--domain data" in shell
    # The user's choice stays, and is in the link.
    checked(kind().set_value("declared").run())
    assert test.query_params["domain"] == "declared"
    assert cards(test)["Method"][0].startswith("at most")
    checked(variant("sound").run())
    checked(kind().set_value("data").run())
    checked(variant("published").run())
    checked(variant("sound").run())
    assert (kind().value, test.query_params["domain"]) == ("data", "data")


def box(test, column):
    return next(one for one in test.text_input if one.label == f"{column}: from, to")


def test_own_bounds_count_as_declared_only_once_all_are_typed(app):
    test = upload(app(p=0.3), "own.csv", b"a,b\n" + b"1,2\n3,5\n7,4\n" * 40)
    assert "dpv-card dpv-no" in text(test)
    kind = next(one for one in test.radio if one.label == "Bounds of the grid")
    checked(kind.set_value("declared").run())
    assert box(test, "a").value == ""  # no proposal from the data
    assert "dpv-card dpv-no" in text(test)
    checked(box(test, "a").set_value("0, 10").run())
    assert "dpv-card dpv-no" in text(test)
    checked(box(test, "b").set_value("0, 8").run())
    assert "dpv-card dpv-yes" in text(test)
    assert test.query_params["domain"] == "0.0,10.0;0.0,8.0"
    # Bounds stay with their columns.
    checked(test.selectbox(key=one_key(test, "own:x")).set_value("b").run())
    checked(test.selectbox(key=one_key(test, "own:y")).set_value("a").run())
    assert "dpv-card dpv-yes" in text(test)
    assert test.query_params["domain"] == "0.0,8.0;0.0,10.0"


def one_key(test, prefix):
    return next(one.key for one in test.selectbox if str(one.key).startswith(prefix))


@pytest.mark.parametrize(
    ("typed", "fragment"), [("abc", "the lower one first"), ("5, 1", "first bound must be less")]
)
def test_wrong_bounds_name_their_box_and_change_nothing(app, typed, fragment):
    test = app(data="spirals")
    before = cards_at_once(test)
    checked(box(test, "x").set_value(typed).run())
    (said,) = [one.value for one in test.error]
    assert " is no pair of bounds for " in said
    assert fragment in said
    assert cards_at_once(test) == before
    checked(control(test.selectbox, "wavecluster:data").set_value("shapes").run())
    assert not test.error


def test_reset_empties_typed_bounds(app):
    test = app(data="gaussians")
    checked(box(test, "x").set_value("0, 500000").run())
    assert test.query_params["domain"] == "0.0,500000.0;0.0,1000000.0"
    checked(next(one for one in test.button if one.label == "Reset").click().run())
    assert box(test, "x").value == "0, 1000000"
    assert "domain" not in test.query_params


def test_choices_of_one_file_do_not_stick_to_the_next(app):
    test = upload(app(), "single.csv", b"a\n1\n2\n")
    assert "at least two are needed" in test.error[0].value
    test.file_uploader(key="own:file").set_value(
        ("good.csv", b"a,b\n" + b"1,2\n3,4\n" * 9, "text/csv")
    )
    checked(test.run())
    assert not test.error
    assert "good.csv" in title(test)


def test_an_error_goes_with_its_file(app):
    test = upload(app(), "good.csv", b"a,b\n" + b"1,2\n3,4\n5,7\n" * 50)
    test.file_uploader(key="own:file").set_value(("bad.csv", b"", "text/csv"))
    assert checked(test.run()).error
    test.file_uploader(key="own:file").set_value(None)
    assert not checked(test.run()).error


def test_privthrem_starts_with_its_own_alpha_by_link_too(app):
    assert "α 0.70" in title(app(method="privthrem"))
    assert "α 0.60" in title(app(method="privthrem", alpha=0.6))


@pytest.mark.parametrize("name", TRUE)
def test_the_papers_numbers_on_the_screen(app, name):
    _, positive, nonpositive, k, d, sizes, noise = TRUE[name]
    grid, density = GRIDS[name]
    test = app(data="own", g=grid, p=density, method="privthr")
    upload(test, f"{name}.csv", reference_file(f"{name}.csv").read_bytes())
    found = cards(test)
    assert found["Clusters"][1] == f"true {len(sizes)}"
    rank, beside = found["Cut at rank"]
    assert beside == f"k′ · true {k}, off by {abs(int(rank) - k) / k:.0%}"
    assert found["Noise points"][1] == f"true {noise:,}"
    test.session_state["wavecluster:behind"] = True
    checked(test.run())
    figures, cells = test.dataframe[0].value["true"], test.dataframe[1].value["true cells"]
    assert figures["d (threshold)"] == d
    assert figures["L (positive coefficients)"] == positive
    assert figures["Z (non-positive)"] == nonpositive
    assert cells.dropna().tolist() == sizes
    # The help of k' and the table of numbers contain the theorem on the chosen method.
    theorem = test.dataframe[2].value["Theorem 5"]
    assert theorem["k′ min"] < k < theorem["k′ max"]
    assert "Theorem 5: " in text(test)
    # The promise is (1 - 0.05)^3, as printed, not "surely".
    assert "found in 86% or more: W above" in theorem


@pytest.mark.parametrize("method", ["privthr", "privthrem", "twostage"])
def test_the_rank_of_the_cut_and_the_number_of_significant_cells_are_told_apart(app, method):
    test = app(data="spirals", method=method)
    (cells,) = {*re.findall(r"Here ([\d,]+) cells are significant\.", text(test))}
    test.session_state["wavecluster:behind"] = True
    figures = checked(test.run()).dataframe[0].value
    assert int(figures["private"]["significant cells"]) == int(cells)


def test_a_result_without_any_cluster_is_never_graded_better_than_poor(app):
    test = app(data="noise", method="twostage", epsilon=0.3)
    made, true = cards(test)["Clusters"]
    assert (made, true != "true 0") == ("0", True)
    assert {"Points wrong", "Overlap"} < {*cards(test)}
    assert "dpv-poor" in text(test)
    assert not re.findall(r'class="dpv-card dpv-(?:good|fair)', text(test))


def test_own_tables_in_every_format(app):
    points = np.random.default_rng(0).normal(0.5, 0.1, (500, 2))
    rows = "\n".join(f"{x!r},{y!r}" for x, y in points.tolist())
    npy = io.BytesIO()
    np.save(npy, points)
    seen = set()
    for name, content in (
        ("a.csv", f"u,v\n{rows}".encode()),
        ("b.tsv", rows.replace(",", "\t").encode()),
        ("c.csv.gz", gzip.compress(rows.encode())),
        ("d.npy", npy.getvalue()),
    ):
        test = upload(app(), name, content)
        assert not test.error
        assert name in title(test)
        seen.add(cards(test)["Clusters"])
    assert len(seen) == 1


BAD_FILES = {
    "empty.csv": (b"", "empty"),
    "header.csv": (b"a,b\n", "header"),
    "one.csv": (b"a\n1\n2\n", "column"),
    "text.csv": (b"a,b\n1,2\n3,n/a?\n", "row 3"),
    "binary.csv": (bytes(range(256)) * 20, "text"),
    "nul.csv": (b"a,b\n1,2\n\x003,4\n", "NUL"),
    "pickle.npy": (b"\x93NUMPY\x01\x00junk", "npy"),
    "broken.parquet": (b"PAR1junk", "Parquet"),
}


@pytest.mark.daily("empty.csv", "nul.csv", "pickle.npy")
@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_one_sentence_and_the_last_good_one_stays(app, name):
    content, fragment = BAD_FILES[name]
    test = upload(app(), "good.csv", b"a,b\n" + b"1,2\n3,4\n5,7\n" * 50)
    test.file_uploader(key="own:file").set_value((name, content, "text/csv"))
    checked(test.run())
    said = [one.value for one in test.error]
    assert len(said) == 1
    assert fragment.lower() in said[0].lower()
    assert "good.csv" in said[0]
    assert "good.csv" in title(test)


def test_a_file_without_a_good_one_before_asks_for_another(app):
    test = upload(app(), "empty.csv", b"")
    assert "empty" in test.error[0].value
    assert "choose a sample set" in test.info[0].value


def test_missing_values_and_equal_points_are_said(app):
    test = upload(app(), "gaps.csv", b"a,b\n1,2\nnan,3\ninf,4\n" + b"1,2\n" * 30)
    assert any("2 rows were left out" in one.value for one in test.caption)
    assert cards(test)["Clusters"][1] == "true 1"


def test_a_grid_of_counts_is_taken_as_it_is(app):
    test = app(p=0.1)
    control(test.selectbox, "wavecluster:data").set_value("own").run()
    control(test.toggle, "own:counts").set_value(True).run()
    counts = np.zeros((16, 16), dtype=int)
    counts[2:6, 2:6], counts[10:14, 10:14] = 9, 7
    content = "\n".join(",".join(map(str, row)) for row in counts.tolist()).encode()
    test.file_uploader(key="own:file").set_value(("counts.csv", content, "text/csv"))
    checked(test.run())
    assert cards(test)["Clusters"][1] == "true 2"
    assert "g 16 " in title(test)
    test.file_uploader(key="own:file").set_value(("line.csv", b"5\n6\n7\n", "text/csv"))
    checked(test.run())
    assert "a grid with one axis, but the screen shows two" in test.error[0].value
    assert "g 16 " in title(test)


def test_two_columns_are_chosen_from_more(app):
    rows = b"id,a,b\n" + b"".join(b"%d,%d,%d\n" % (i, i % 7, i % 5) for i in range(200))
    test = upload(app(), "three.csv", rows)
    checked(test.selectbox(key=one_key(test, "own:x")).set_value("b").run())
    checked(test.selectbox(key=one_key(test, "own:y")).set_value("a").run())
    axis = figure_head(test)["figure"]["layout"]["xaxis"]
    assert axis_name(axis) == "b"


class Link(dict):
    def to_dict(self) -> dict[str, str]:
        return dict(self)

    def from_dict(self, texts: dict[str, str]) -> None:
        self.clear()
        self.update(texts)


@pytest.mark.parametrize(("columns", "declared"), [("z,y", True), ("q,y", False)])
def test_columns_of_a_link_wait_for_their_table(app, columns, declared):
    rows = b"x,y,z\n" + b"".join(b"%d,%d,%d\n" % (i % 90, i % 70, i % 50) for i in range(200))
    test = app(data="own", g=16, columns=columns, domain="0,50;0,70")
    test.file_uploader(key="own:file").set_value(("three.csv", rows, "text/csv"))
    checked(test.run())
    assert test.query_params["columns"] == ("z,y" if declared else "x,y")
    # Bounds are valid only for the columns of the same link.
    assert test.query_params.get("domain") == ("0.0,50.0;0.0,70.0" if declared else None)


@pytest.fixture
def state(monkeypatch):
    """Controls p and q of a page; each call is a run of the page, without a server."""
    monkeypatch.setattr("streamlit.session_state", {})
    monkeypatch.setattr("streamlit.query_params", Link(p="2"))

    def run() -> UrlState:
        page = UrlState("page", {"p": Control(1, int), "q": Control("a", str)})
        page.write()
        return page

    return run


def test_what_a_hand_chose_stays_with_its_widget(state):
    first = state().widget("p")
    assert first["value"] == 2
    for chosen in (3, 2, 5):
        st.session_state[first["key"]] = chosen
        assert state().widget("p") == {"key": first["key"], "value": chosen}
    # When the user leaves the page, Streamlit forgets the widget, but the value stays.
    del st.session_state[first["key"]]
    assert state().widget("p", "default") == {"key": first["key"], "default": 5}
    assert state().get("q") == "a"


def test_a_value_from_the_program_comes_with_a_widget_that_never_had_another(state):
    page = state()
    known = {page.widget("p")["key"]}
    st.session_state[page.widget("p")["key"]] = 3
    for step, value in enumerate((7, 3, 7)):
        # The value is set by a callback, or from outside through the session state.
        if step == 1:
            st.session_state["page:p"] = value
        else:
            page.set("p", value)
        drawn = page.widget("p")
        assert drawn["value"] == value == page.get("p")
        assert drawn["key"] not in known
        known.add(drawn["key"])
        # A late message of the earlier widget is ignored.
        st.session_state[min(known)] = 99
        assert page.get("p") == value
    # If the program sets the same value again, the widget stays the same and keeps its focus.
    page.set("p", 7)
    assert page.widget("p") == drawn


def test_a_click_that_still_sends_the_replaced_link_changes_nothing_else(state, monkeypatch):
    first = dict(st.query_params)
    for value in (3, 4):
        st.session_state[state().widget("p")["key"]] = value
        state()
    now = dict(st.query_params)
    assert now == {"p": "4", "q": "a"}
    for late in (first, {"p": "3", "q": "a"}):
        st.query_params.from_dict(late)
        assert state().get("p") == 4
        assert st.query_params == now
    # Any other link is new. An old link is also new if the user reached it by Back.
    st.query_params.from_dict({"p": "6"})
    assert state().get("p") == 6
    monkeypatch.setattr("dpviz.ui.session.state._moved_in_history", lambda: True)
    st.query_params.from_dict(first)
    assert state().get("p") == 2
    assert st.query_params == {"p": "2", "q": "a"}


def test_the_program_wins_over_a_choice_that_came_with_the_same_run(state):
    page = state()
    widget = page.widget("p")
    st.session_state[widget["key"]] = 9
    page.reset()  # its defaults, 1 and a
    assert page.get("p") == 1
    st.session_state[page.widget("p")["key"]] = 9
    page.set("p", 1)
    assert page.get("p") == 1


def test_how_a_file_is_read_follows_to_other_pages_and_can_be_changed_there(app):
    test = upload(app(), "plain.csv", b"1,2\n3,4\n5,6\n5,7\n")
    control(test.button_group, "own:header").set_value("data")
    assert "4 records" in " ".join(one.value for one in checked(test.run()).caption)
    test.switch_page("pages/kmeans.py").run()
    control(test.selectbox, "kmeans:data").set_value("own")
    checked(test.run())
    assert control(test.button_group, "own:header").value == "data"
    assert "4 records" in " ".join(one.value for one in test.caption)
    control(test.button_group, "own:header").set_value("names")
    assert "3 records" in " ".join(one.value for one in checked(test.run()).caption)


def test_a_release_asks_for_the_header_of_a_file_that_was_chosen_before(app):
    test = upload(app(), "plain.csv", b"1,2\n3,4\n5,6\n5,7\n")
    control(test.button_group, "own:header").set_value("data")
    checked(test.run())
    test.switch_page("pages/release.py").run()
    control(test.button_group, "release:kind").set_value("own")
    checked(test.run())
    test.text_input(key="own:line").set_value("x,y")
    assert "4 records" in " ".join(one.value for one in checked(test.run()).caption)


@pytest.mark.parametrize("first", [b"GIF8", b"%PDF", b"{\\rtf", b"1"])
def test_no_first_record_stops_a_release_with_a_header_of_its_own(app, first):
    test = app()
    test.switch_page("pages/release.py").run()
    control(test.button_group, "release:kind").set_value("own")
    content = first + b",2\n3,4\n5,6\n5,7\n"
    test.run().file_uploader(key="own:file").set_value(("plain.csv", content, "text/csv"))
    control(test.run().button_group, "own:header").set_value("data")
    test.run()
    test.text_input(key="own:line").set_value("x,y")
    test.run()
    said = " ".join(one.value for one in test.caption)
    assert f"{3 + (first == b'1')} records" in said, (said, test.error)


# -- g and p chosen privately --------------------------------------------------------------


@pytest.mark.parametrize("method", ["privthr", "twostage"])
def test_g_and_p_are_chosen_privately(app, method):
    test = app(data="incomes", method=method, g="64", p="0.5", choose="private")
    data = load_sample("incomes")
    config = Config(method=method, density=0.5, choose="private")
    trial = trial_of(data, config, data.domain)
    found = trial.draw(0)
    assert found.config.grid != (64, 64)
    assert any(found.decision in one.value for one in test.caption)
    # The true side has the same g and p, and the title shows neither of these values.
    truth = trial.beside(found).truth
    assert cards(test)["Clusters"][0] == f"{found.stages.n_clusters:,}"
    assert cards(test)["Clusters"][1] == f"true {truth.stages.n_clusters:,}"
    assert " g 64" not in title(test)
    assert test.query_params["choose"] == "private"
    # The panel says how p was chosen, and the price: the row of the chosen p has the score of the
    # shown run.
    test.session_state["wavecluster:choice"] = True
    test = checked(test.run())
    rows = next(one.value for one in test.dataframe if "p" in one.value)
    assert list(rows["p"]) == list(found.worth)
    best = rows["worth by noisy counts"].idxmax()
    assert rows["p"][best] == found.config.density
    assert len(rows) == 19
    (said,) = (one.value for one in test.markdown if one.value.startswith("Chosen privately"))
    assert f"**p = {found.config.density:g}**" in said
    rows = of_family("wavecluster")
    (measured,) = (one.value for one in test.dataframe if "sets" in one.value.columns)
    pd.testing.assert_frame_equal(measured, summary(rows), check_dtype=False)
    assert plain_text(sentence(rows)) in [one.value for one in test.caption]
    # Chosen by the user again.
    control(test.selectbox, "wavecluster:choose").set_value("given")
    test = checked(test.run())
    assert " g 64" in title(test)
    assert not any("was chosen" in one.value for one in test.caption)


def test_many_draws_may_choose_different_grids(app):
    test = app(data="incomes", method="privthr", choose="private", epsilon="0.5")
    # With few records, seeds 0 to 7 choose two different grids; panels must work with both grids.
    for panel in ("draws", "diagnosis", "goal", "choice"):
        test.session_state[f"wavecluster:{panel}"] = True
    test = checked(test.run())
    assert any("Best" in one.value for one in test.markdown)


def test_a_link_to_a_technique_that_cannot_choose_ignores_it(app):
    test = app(data="incomes", method="baseline", choose="private", g="20")
    assert " g 20" in title(test)


@pytest.mark.parametrize("method", ["privthr", "privthrem", "twostage"])
def test_under_private_stands_what_a_release_would_tell(app, method):
    test = app(data="spirals", method=method)
    test.session_state["wavecluster:behind"] = True
    found = checked(test.run()).dataframe[0].value
    assert list(found) == ["true", "private", "private, by true data"]
    known = ["k (rank of the threshold)", "d (threshold)", "L (positive coefficients)",
             "Z (non-positive)", "significant cells", "clusters"]  # fmt: skip
    assert set(found.index[found["private"].notna()]) <= set(known)
    # The rank, which is secret in a release, is shown beside the true rank.
    rank = found.loc["k (rank of the threshold)"]
    assert math.isnan(rank["private"]) == (method == "privthrem")
    assert math.isnan(rank["private, by true data"]) == (method != "privthrem")
    assert found.loc["records", "true"] == 31_200
    assert found.loc["records"].isna().sum() == 2


@pytest.mark.parametrize("view", ["clusters", "overview"])
def test_the_private_side_has_the_cells_of_a_release_and_points_only_when_asked_for(app, view):
    drawn = [figure_head(app(data="spirals", method="privthr", view=view, points=one))["figure"]
             for one in ("hidden", "shown")]  # fmt: skip
    names = [[one.get("name") for one in figure["data"]].count(OVERLAY) for figure in drawn]
    assert names == [0, 1]
    said = [str(figure["layout"]["annotations"]).count(OVERLAY) for figure in drawn]
    assert said == [0, 1]
    for figure in drawn:
        assert (
            "May be published: shows made-up data" in figure["layout"]["title"]["subtitle"]["text"]
        )


@pytest.mark.usefixtures("as_released")
def test_a_moving_slider_shows_a_sketch_of_a_large_grid_by_its_name(app, monkeypatch):
    link = {"data": "gaussians", "g": 256, "method": "twostage"}
    whole = app(**link)
    assert "sketch" not in figure_head(whole)["figure"]["layout"]["title"]["subtitle"]["text"]
    slider = settings.slider

    def moving(*given, **more):
        return slider(*given, **more) and False

    monkeypatch.setattr(settings, "slider", moving)
    test = app(**link)
    line = figure_head(test)["figure"]["layout"]["title"]["subtitle"]["text"]
    assert "sketch from 24 of 244 sweeps, all follow" in line
    values = {label: value for label, (value, _) in cards(test).items()}
    assert values["DSG_C" if "DSG_C" in values else "Wrong cells per true cell"].startswith("~")
    test.session_state["wavecluster:behind"] = True
    checked(test.run())
    assert "Tables and code appear after the whole run." in {one.value for one in test.caption}
    # On a small grid the run is always whole.
    few = figure_head(app(data="gaussians", g=64, method="twostage"))
    assert "sketch" not in few["figure"]["layout"]["title"]["subtitle"]["text"]
    # Of wavelets other than Haar, single cells are sampled, which are four times as many.
    cells = figure_head(app(data="gaussians", g=64, method="twostage", wavelet="db2"))
    line = cells["figure"]["layout"]["title"]["subtitle"]["text"]
    assert "sketch from 97 of 300 sweeps" in line
    monkeypatch.setattr(settings, "slider", slider)
    checked(test.run())
    assert {label: value for label, (value, _) in cards(test).items()} == {
        label: value for label, (value, _) in cards(whole).items()
    }
