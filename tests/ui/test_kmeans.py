"""The k-means explorer without a browser: numbers, messages, and values that are kept."""

import json
import re
import threading
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpviz.base.errors import InputError
from dpviz.base.numbers import readable
from dpviz.base.work import Cancelled
from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample, sample, sample_names
from dpviz.experiments.ablations import parts, sentence
from dpviz.experiments.prices import of_family, summary
from dpviz.family.run_domain import run_domain
from dpviz.family.score import OF_CLASSES
from dpviz.grid.domain import Domain
from dpviz.kmeans.choice_price import choice_price
from dpviz.kmeans.family import FAMILY
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.parameters import KMeansConfig, defaults_of
from dpviz.kmeans.records import Records
from dpviz.kmeans.scores import OF_CENTERS, SCORES
from dpviz.kmeans.sketch import Sketch
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.noise_source import SeededNoise, Silenced
from dpviz.privacy.steps import group_epsilon, grouped
from dpviz.ui.explorer import kmeans as kmeans_page
from tests.support import APP
from tests.support.controls import control
from tests.support.tiers import daily
from tests.test_numbers import number_of
from tests.ui.test_wavecluster import (
    BAD_FILES,
    axis_name,
    cards,
    cards_at_once,
    checked,
    figure_head,
    one_key,
    text,
    title,
)

FIRST = "gaussians"
VARIANTS = ("sound", "published")
CHOICES = ("t", "start", "schedule", "geometry", "temperature", "cells", "choose")


@pytest.fixture
def app():
    def open_app(**link) -> AppTest:
        test = AppTest.from_file(APP, default_timeout=120)
        for name, value in link.items():
            test.query_params[name] = str(value)
        test.switch_page("pages/kmeans.py")
        return checked(test.run())

    return open_app


def visit(test, page):
    """Go to another page as the navigation does, with an empty link."""
    test.query_params.clear()
    test.switch_page(f"pages/{page}.py")
    return checked(test.run())


def move(test, **values):
    """Set sliders in the way in which messages of the browser set them."""
    for name, value in values.items():
        test.session_state[f"kmeans:{name}"] = value
    return checked(test.run())


def choose(test, name, value):
    return checked(control(test.selectbox, f"kmeans:{name}").set_value(value).run())


def look(test, view):
    """Open a view; return whether it is available."""
    move(test, view=view)
    assert not test.error
    return test.query_params["view"] == view


def press(test, label):
    return checked(next(one for one in test.button if one.label == label).click().run())


def shown_sliders(test):
    keys = [str(one.key) for one in test.get("bidi_component")]
    return [key.split(":")[1] for key in keys if key.endswith("::input")]


def headings(test):
    notes = figure_head(test)["figure"]["layout"]["annotations"]
    return [re.sub("<.*?>", "", one["text"]) for one in notes]


def line(test):
    return figure_head(test)["figure"]["layout"]["title"]["subtitle"]["text"]


def told_below(test):
    return " ".join(one.value for one in test.caption)


def marks(test, panel):
    """Centres (K, 2) in the plot of a panel."""
    (raw,) = (
        one.proto.bytes
        for one in test.get("bidi_component")
        if one.proto.component_name == "dpviz_live_figure"
    )
    length = int.from_bytes(raw[:4], "little")
    head = json.loads(raw[4 : 4 + length])
    axis = "x" if panel == 1 else f"x{panel}"
    (number,) = (
        number
        for number, trace in enumerate(head["figure"]["data"])
        if trace.get("mode") == "markers+text" and trace["xaxis"] == axis
    )
    found = {
        place["path"][2]: np.frombuffer(
            raw, "<" + place["type"], place["shape"][0], 4 + length + place["offset"]
        )
        for place in head["arrays"]
        if place["path"][:2] == ["data", number] and place["path"][2] in "xy"
    }
    return np.column_stack([found["x"], found["y"]])


@cache
def truth_of(name, clusters, variant="sound"):
    data = load_sample(name)
    return KMeansTruth(Records.build(data, run_domain(data, variant)), clusters)


def run_of(truth, method, seed=0, **choices):
    config = KMeansConfig(method=method, clusters=truth.clusters, **choices)
    return truth.numbered(run_kmeans(truth.records, config, SeededNoise(seed)))


def assert_readouts(test, truth, run):
    """Check that the cards have the scores of a run, which are computed again here."""
    found, scores = cards(test), truth.scores(run)
    # In the L1 ball, errors are measured in the ball, as in the paper.
    ball = run.config.geometry == "l1"
    title, ratio = ("WCSS / true, ball", "space_ratio") if ball else ("NICV / true", "nicv_ratio")
    assert found["Times the error"] == (f"{scores[ratio]:.3f}", f"{title} · best 1")
    assert found["Overlap"][0] == f"{scores['f_measure']:.3f}"
    if truth.records.classes is None:
        assert "Classes found" not in found
    else:
        of_run, of_true = (truth.scores(one, ("class_f",))["class_f"] for one in (run, truth.run))
        assert found["Classes found"] == (f"{of_run:.3f}", f"F · true {of_true:.3f}")
    assert found["Centres moved"][0] == f"{100 * scores['displacement']:.2f}%"
    for label, name, true in (
        ("Squared error", "wcss", truth.wcss),
        ("Mean error", "nicv", truth.nicv),
    ):
        value, beside = found[label]
        # Three digits are shown.
        assert number_of(value) == pytest.approx(scores[name], rel=5.1e-3)
        told = number_of(beside.removeprefix(f"{name.upper()} · true "))
        assert told == pytest.approx(true(truth.centers), rel=5.1e-3)
    if run.iterations and run.config.variant == "sound":
        updates = len(run.iterations) * truth.clusters
        assert found["Kept places"] == (str(run.kept_centers), f"of {updates} updates")
    else:
        assert "Kept places" not in found
    if run.before is not None:
        earlier = replace(run, centers=run.before, before=None)
        assert found["Before"] == (f"{truth.scores(earlier, (ratio,))[ratio]:.3f}", title)
    else:
        assert "Before" not in found


# ---- methods and variants


def test_opens_clustered_without_a_click(app):
    test = app()
    assert not test.error
    assert not test.warning
    assert title(test) == "Fifteen Gaussians · DP-Refine · ε 0.02 · K 15 · seed 0"
    assert "All 15 clusters have a centre:</b> <b>epsilon 0.02<" in text(test)
    assert headings(test) == ["true · 15 centres", "DP-Refine · result"]


def test_the_sentence_says_which_clusters_have_no_centre_of_their_own(app):
    test = app(method="dplloyd", epsilon=0.05)
    assert "4 clusters have no centre, 4 have several, 7 centres are far off" in text(test)
    ratio = cards(test)["Times the error"][0]
    assert f"; error {float(ratio):.3g} times the best" in text(test)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("method", KMEANS)
def test_every_method_in_every_variant_shows_its_own_numbers(app, method, variant):
    card = KMEANS[method].card
    test = app(method=method, variant=variant)
    assert not test.error
    # Our own methods have only one variant; if the link has another variant, a message says so.
    assert len(test.warning) == (card.variant(variant).name != variant)
    variant = card.variant(variant).name
    assert card.title in title(test)
    truth = truth_of(FIRST, 15, variant)
    run = run_of(truth, method, variant=variant)
    assert_readouts(test, truth, run)
    np.testing.assert_allclose(marks(test, 2), run.centers)
    np.testing.assert_allclose(marks(test, 1), truth.centers)

    # A published variant uses the range of the data as its domain, so it does not keep its promise.
    private = card.spends and variant == "sound"
    assert truth.records.domain.declared == (variant == "sound")
    assert cards(test)["Method"][0].startswith("at most" if private else "not private")
    assert ("dpv-card dpv-yes" in text(test)) == private
    assert ("at most 2.72 times as likely" in text(test)) == private

    spends = run.ledger.spends
    assert bool(spends) == card.spends
    assert ('class="dpv-ledger"' in text(test)) == card.spends
    if spends:
        groups = grouped(spends)
        steps = len(groups)
        total = readable(run.ledger.epsilon, 4)
        assert f"Budget: {total} of 1 spent in {steps} steps" in text(test)
        for group in groups:
            spend = group[0]
            if spend.composition == "sequential":
                assert (
                    f"ε {readable(group_epsilon(group))}, "
                    f"sensitivity {readable(spend.sensitivity)}, "
                    f"noise scale {readable(spend.scale)}"
                ) in text(test)

        unspent = run.ledger.unspent(1.0)
        assert (f"unspent: ε {readable(unspent)}" in text(test)) == bool(unspent)

    early = run.config.iterations and 0 < len(run.iterations) < run.config.iterations
    assert any("Stopped after" in one.value for one in test.caption) == bool(early)


@pytest.mark.daily("tiny8")
@pytest.mark.parametrize("name", sample_names())
def test_every_sample_takes_its_number_of_clusters(app, name):
    clusters = max(sample(name).clusters, 2)
    test = choose(app(data="shapes"), "data", name)
    assert sample(name).title in title(test)
    assert f"K {clusters} " in title(test)
    assert test.query_params["k"] == str(clusters)


def test_a_link_with_the_data_alone_takes_its_number_of_clusters(app):
    assert " K 3 " in title(app(data="spirals"))
    assert " K 7 " in title(app(data="spirals", k=7))


@pytest.mark.parametrize("domain", ["declared", "data"])
@pytest.mark.parametrize("method", ["dplloyd", "eugkm", "privgene"])
def test_bounds_from_the_data_are_not_private(app, method, domain):
    test = app(data="spirals", method=method, domain=domain)
    assert ("dpv-card dpv-yes" in text(test)) == (domain == "declared")
    assert ("declare a domain" in text(test)) == (domain == "data")
    assert ("times as likely" in text(test)) == (domain == "declared")
    assert any("domain from the data" in one.value for one in test.caption) == (domain == "data")


@pytest.mark.some(1)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_changed_method_takes_its_own_defaults(app, variant):
    test = app(data="incomes", method="dplloyd", variant=variant)
    for method in (*KMEANS, "dplloyd"):
        # Our own methods have only one variant, which stays when the next method is chosen.
        variant = KMEANS[method].card.variant(variant).name
        move(test, i=0)
        choose(test, "method", method)
        assert not test.error
        link, defaults = test.query_params, defaults_of(method, variant)
        assert (link["method"], link["variant"]) == (method, variant)
        for name, value in defaults.items():
            assert link["t" if name == "iterations" else name] == str(value)
        if "iterations" in defaults:
            assert f"T {defaults['iterations']}" in title(test)
        boxes = {re.split("[:@]", one.key or ":")[1] for one in test.selectbox}
        assert boxes & set(CHOICES) == set(defaults) - {"iterations"}
        # The player was at the start; now it shows the result again.
        assert " · start" not in headings(test)[1]


def test_a_changed_variant_takes_its_own_defaults(app):
    for method in ("dplloyd", "mcmc", "dpkmeanspp", "dpkmeansup"):
        test = app(data="incomes", method=method)
        for variant in ("published", "sound"):
            choose(test, "variant", variant)
            for name, value in defaults_of(method, variant).items():
                assert test.query_params["t" if name == "iterations" else name] == str(value)
        assert defaults_of(method, "published") != defaults_of(method, "sound")


def test_what_was_chosen_stays_over_what_does_not_concern_it(app):
    test = app(data="incomes", method="dplloyd")
    choose(test, "start", "random")
    move(test, t=7, k=4)
    choose(test, "schedule", "halving")
    press(test, "Redraw")
    assert "K 4 · T 7 · random · halving · seed 1" in title(test)
    choose(test, "data", "spirals")
    assert "K 3 · T 7 · random · halving · seed 1" in title(test)


def test_reset_brings_all_back(app):
    test = app()
    first = dict(test.query_params)
    before = cards(test)
    choose(test, "data", "incomes")
    choose(test, "method", "mcmc")
    choose(test, "variant", "published")
    move(test, epsilon=0.3, k=5, t=8, i=2)
    press(test, "Redraw")
    assert cards(test) != before
    press(test, "Reset")
    assert dict(test.query_params) == first
    assert cards(test) == before


def test_redraw_is_the_next_seed(app):
    test = press(app(data="incomes", seed=4), "Redraw")
    truth = truth_of("incomes", 2)
    assert "seed 5" in title(test)
    assert_readouts(test, truth, run_of(truth, FAMILY.first, seed=5))


@pytest.mark.parametrize("n", [240, 900])
def test_errors_have_three_digits_and_end_with_one(app, n):
    content, _, _ = table(2, n)
    found = cards(upload(app(k=3), "own.csv", content))
    for value in (*found["Squared error"], *found["Mean error"]):
        number = value.removeprefix("WCSS · ").removeprefix("NICV · ").removeprefix("true ")
        assert number[-1].isdigit()
        assert len(number.replace(".", "").strip("0")) <= 3
    assert (number_of(found["Squared error"][0]) > 100) == (n == 900)


# ---- the player


def test_only_methods_with_iterations_have_a_player(app):
    test = app(data="incomes")
    for method in KMEANS:
        choose(test, "method", method)
        run = run_of(truth_of("incomes", 2), method)
        assert ("i" in shown_sliders(test)) == bool(run.iterations)
        assert ("epsilon" in shown_sliders(test)) == KMEANS[method].card.spends
        assert ("t" in shown_sliders(test)) == (run.config.iterations is not None)


def test_the_player_steps_along_the_path(app):
    test = app(data="incomes", method="mcmc")
    truth = truth_of("incomes", 2)
    run = run_of(truth, "mcmc")
    readouts = cards(test)
    steps = ["start", *(f"after iteration {step} of 5" for step in range(1, 6)), "result"]
    path = (*run.path, run.centers)
    for step in (0, 3, 5, 6):
        move(test, i=step)
        assert steps[step] in headings(test)[1]
        assert test.query_params["i"] == str(step)
        drawn = marks(test, 2)
        # In the step before post-processing, clusters are numbered by the centres of that step.
        assert np.allclose(drawn[np.lexsort(drawn.T)], path[step][np.lexsort(path[step].T)])
        # The numbers are those of the shown step.
        if step == 6:
            assert cards(test) == readouts
        else:
            one = replace(run, centers=path[step], before=None)
            shown = truth.scores(one, ("nicv_ratio",))["nicv_ratio"]
            assert cards(test)["Times the error"][0] == f"{shown:.3f}"
            assert "Before" not in cards(test)


def test_with_another_number_of_iterations_the_result_is_shown(app):
    test = app(data="incomes", method="dplloyd", i=2)
    assert "after iteration 2 of 5" in headings(test)[1]
    move(test, t=9)
    assert "result" in headings(test)[1]
    assert test.query_params["i"] == "9"
    move(test, t=3)
    assert test.query_params["i"] == "3"
    move(test, epsilon=0.2)
    assert test.query_params["i"] == "3"


# ---- views


def has_chain(method):
    return FAMILY.methods[method].card.parameter("temperature") is not None


@pytest.mark.parametrize("method", KMEANS)
def test_every_view_of_every_method(app, method):
    test = app(data="incomes", method=method)
    words = {
        "regions": "Regions of 2 centres",
        "iterations": "NICV after each iteration",
        "noise": "noise",
        "chain": "log likelihood",
    }
    path = run_of(truth_of("incomes", 2), method).path
    has = {"chain": has_chain(method), "iterations": bool(path)}
    for view in ("noise", "iterations", "chain", "regions"):
        offered = has.get(view, True)
        assert look(test, view) == offered
        if offered:
            assert figure_head(test)["alt"].startswith("Incomes and one person · ")
            assert words[view] in figure_head(test)["alt"]


def test_the_left_panel_can_show_the_method_without_noise(app):
    test = app(data="spirals", method="dplloyd", left="silent", epsilon=0.1)
    truth = truth_of("spirals", 3)
    config = KMeansConfig(method="dplloyd", clusters=3, epsilon=0.1)
    for seed in (0, 1):
        silent = truth.numbered(run_kmeans(truth.records, config, Silenced(SeededNoise(seed))))
        assert headings(test)[0].startswith("DPLloyd without noise")
        np.testing.assert_allclose(marks(test, 1), silent.centers)
        assert not np.allclose(silent.centers, truth.centers)
        assert_readouts(test, truth, run_of(truth, "dplloyd", seed, epsilon=0.1))
        press(test, "Redraw")
    move(test, left="true")
    np.testing.assert_allclose(marks(test, 1), truth.centers)
    move(test, left="silent")
    # A method that spends no budget does not have this view.
    choose(test, "method", "kmeans")
    assert headings(test)[0].startswith("true")


def test_a_view_goes_with_its_method(app):
    test = app(data="incomes", method="mcmc", view="chain")
    assert "before (DPLloyd)" in headings(test)[0]
    choose(test, "method", "dplloyd")
    assert headings(test)[0].startswith("true")
    assert test.query_params["view"] == "regions"


# ---- links


def test_all_controls_stand_in_the_link_and_come_back(app):
    link = {
        "data": "incomes", "method": "mcmc", "variant": "published", "epsilon": "0.25", "k": "3",
        "t": "4", "start": "random", "schedule": "halving", "geometry": "box",
        "temperature": "posterior", "cells": "refined", "choose": "private", "seed": "7",
        "view": "chain", "left": "silent", "i": "2",
        "domain": "0.0,9000.0;0.0,7000.0", "outside": "drop", "neighbours": "replace_one",
        "axes": "equal", "lines": "hidden", "points": "shown", "with": "none", "line": "median",
    }  # fmt: skip
    test = app(**link)
    again = app(**test.query_params)
    for one in (test, again):
        assert not one.warning
        assert not one.error
        assert dict(one.query_params) == link
        assert "MCMC post-processing · ε 0.25 · K 3 · T 4 · random · halving" in title(one)
    assert cards(test) == cards(again)
    config = {"iterations": 4, "start": "random", "schedule": "halving", "geometry": "box"}
    config["neighbours"] = Neighbours(relation="replace_one")
    records = Records.build(load_sample("incomes"), Domain.parse("0,9000;0,7000"), outside="drop")
    truth = KMeansTruth(records, 3)
    run = run_of(
        truth, "mcmc", 7, variant="published", epsilon=0.25, temperature="posterior", **config
    )
    assert_readouts(move(test, i=5), truth, run)


def test_two_sessions_with_one_link_draw_the_same(app):
    link = {"data": "incomes", "method": "contour", "epsilon": 0.4, "k": 4, "seed": 11, "i": 1}
    first, second = app(**link), app(**link)
    assert cards(first) == cards(second)
    assert text(first) == text(second)
    assert figure_head(first)["digest"] == figure_head(second)["digest"]
    assert figure_head(first) == figure_head(second)
    assert figure_head(app(**{**link, "seed": 12}))["digest"] != figure_head(first)["digest"]


BAD_LINKS = {
    "epsilon": ("-1", "0", "nan", "inf", "abc"),
    "k": ("0", "-3", "100000", "2.5", "x"),
    "t": ("0", "99", "abc"),
    "start": ("nowhere",),
    "schedule": ("never",),
    "geometry": ("sphere",),
    "temperature": ("hot",),
    "seed": ("-1", "x", "99999999999"),
    "view": ("nowhere",),
    "left": ("right",),
    "i": ("99", "-1", "x"),
    "method": ("magic", "privthr"),
    "variant": ("best",),
    "data": ("nothing",),
    "domain": ("5,1;0,1", "here", "nan,1;0,1"),
    "outside": ("keep",),
}


@pytest.mark.daily("k-0", "data-nothing", "domain-5,1;0,1")
# Every day, the first value of each control is enough: one function refuses all bad numbers.
@pytest.mark.parametrize(
    ("name", "value"),
    daily(
        [(name, value) for name, values in BAD_LINKS.items() for value in values],
        lambda one: one[1] == BAD_LINKS[one[0]][0],
    ),
)
def test_a_bad_link_is_corrected_and_said(app, name, value):
    test = app(**{"data": "incomes", name: value})
    assert "seed" in title(test)
    (said,) = [one.value for one in (*test.warning, *test.error)]
    assert "This link was corrected" in said
    assert name in said
    assert test.query_params.get(name) != value
    assert not app(**test.query_params).warning


@pytest.mark.parametrize(
    ("name", "value", "used"),
    [("epsilon", 50, "ε 10 "), ("k", 100000, "K 100 "), ("t", 21, "T 20 "), ("i", 99, "seed 0")],
)
def test_a_value_beyond_a_slider_is_brought_back_and_said(app, name, value, used):
    test = app(data="incomes", method="dplloyd", **{name: value})
    assert used in f"{title(test)} "
    assert f"{name} = {value}" in test.warning[0].value


def test_an_empty_value_in_the_link_is_no_exception(app):
    for name in BAD_LINKS:
        assert "seed" in title(app(**{"data": "incomes", name: ""}))


def test_a_view_that_the_method_lacks_is_corrected_and_said(app):
    test = app(data="incomes", view="chain", method="dplloyd")
    assert headings(test)[0].startswith("true")
    assert test.query_params["view"] == "regions"
    assert "view" in test.warning[0].value


def test_a_noisy_grid_is_shown_where_the_run_has_one(app):
    test = app(data="incomes", view="grid", method="hybrid")
    assert headings(test)[0].startswith("true counts · ")
    assert headings(test)[1].startswith("noisy counts · ")
    assert any(one.value.startswith("No iteration: ") for one in test.caption)
    choose(test, "method", "gupt")
    assert headings(test)[0].startswith("true")
    assert test.query_params["view"] == "regions"
    assert any("releases no noisy grid" in one.value for one in test.caption)
    assert not look(test, "grid")


def curves(test):
    """Names of the curves with an entry in the legend."""
    data = figure_head(test)["figure"]["data"]
    return [one["name"] for one in data if one.get("showlegend", True)]


@pytest.mark.parametrize("left", ["true", "silent"])
def test_iterations_have_the_method_without_noise_beside_them(app, left):
    names = ["DPLloyd without noise", "DPLloyd", "best k-means", "smallest S"]
    test = app(data="incomes", view="iterations", method="dplloyd", left=left, t=3)
    assert curves(test) == names
    assert any("no release has them" in one.value for one in test.caption)
    # The other views, and the views of a method without iterations, have the chosen left picture.
    first = "true" if left == "true" else "DPLloyd without noise"
    assert look(test, "regions")
    assert headings(test)[0].startswith(f"{first} · ")
    assert look(test, "iterations")
    assert curves(test) == names
    choose(test, "method", "eugkm")
    first = "true" if left == "true" else "EUGkM without noise"
    assert headings(test)[0].startswith(f"{first} · ")
    assert test.query_params["view"] == "regions"
    assert any("This run has no iterations" in one.value for one in test.caption)
    assert not look(test, "iterations")


def test_a_step_beyond_the_last_iteration_is_corrected_and_said(app):
    test = app(data="incomes", i=9)
    assert "result" in headings(test)[1]
    assert test.query_params["i"] == "5"
    assert "i = 9" in test.warning[0].value


def test_a_step_beyond_the_slider_is_said_once(app):
    test = app(data="incomes", i=99)
    assert test.query_params["i"] == "5"
    assert test.warning[0].value.count("is used") == 1


def test_bounds_of_other_columns_in_the_link_are_corrected_and_said(app):
    test = app(data="incomes", domain="0,1;0,1;0,1")
    assert "domain" in test.warning[0].value
    assert "domain" not in test.query_params


# ---- own data


def table(columns, n=240, words=False, seed=1):
    """A CSV with some columns, three blobs, and optionally a column of words; and the points."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(1, 9, (3, columns))
    points = np.concatenate([rng.normal(place, 0.4, (n // 3, columns)) for place in places])
    points = points.round(4)
    names = [f"c{column}" for column in range(columns)]
    head = ",".join([*names[:1], *(["word"] if words else []), *names[1:]])
    rows = [
        ",".join([repr(row[0]), *(["abc"] if words else []), *map(repr, row[1:])])
        for row in points.tolist()
    ]
    return "\n".join([head, *rows]).encode(), points, tuple(names)


def upload(test, name, content, page="kmeans"):
    control(test.selectbox, f"{page}:data").set_value("own").run()
    test.file_uploader(key="own:file").set_value((name, content, "application/octet-stream"))
    return checked(test.run())


def cluster_on(test, choice):
    (group,) = (one for one in test.button_group if str(one.key).startswith("own:every"))
    return checked(group.set_value(choice).run())


def own_truth(points, names, clusters, bounds=None):
    domain = Domain(bounds) if bounds else Domain.from_data(points)
    data = Dataset(name="own", points=points, columns=names)
    return KMeansTruth(Records.build(data, domain), clusters)


def declare(test, bounds):
    kind = next(one for one in test.radio if one.label == "Bounds of the grid")
    checked(kind.set_value("declared").run())
    labels = [one.label for one in test.text_input if one.label.endswith(": from, to")]
    for label in labels:
        box = next(one for one in test.text_input if one.label == label)
        checked(box.set_value(bounds).run())
    return labels


def test_own_points_in_two_columns(app):
    content, points, names = table(2)
    test = upload(app(k=3), "own.csv", content)
    assert not test.error
    assert "own.csv · DP-Refine" in title(test)
    truth = own_truth(points, names, 3)
    assert_readouts(test, truth, run_of(truth, FAMILY.first))
    assert cards(test)["Method"][0] == "not private"
    assert not [one for one in test.button_group if str(one.key).startswith("own:every")]
    # The user chooses the number of clusters.
    assert " K 3 " in title(test)


@pytest.mark.some(1)
@pytest.mark.parametrize("columns", [3, 5])
def test_own_points_in_more_columns_beside_words(app, columns):
    content, points, names = table(columns, words=True)
    test = upload(app(k=3, epsilon=5, method="dplloyd"), "own.csv", content)
    shown = own_truth(points[:, :2], names[:2], 3)
    assert_readouts(test, shown, run_of(shown, "dplloyd", epsilon=5.0))

    (group,) = (one for one in test.button_group if str(one.key).startswith("own:every"))
    assert f"all {columns} numeric" in group.options
    cluster_on(test, "all")
    every = own_truth(points, names, 3)
    run = run_of(every, "dplloyd", epsilon=5.0)
    assert run.centers.shape == (3, columns)
    assert_readouts(test, every, run)
    np.testing.assert_allclose(marks(test, 2), run.centers[:, :2])
    assert any(f"Clustered on {columns} columns" in one.value for one in test.caption)

    # If other columns are on the screen, the picture is different, but the clusters are the same.
    checked(test.selectbox(key=one_key(test, "own:x")).set_value("c2").run())
    checked(test.selectbox(key=one_key(test, "own:y")).set_value("c0").run())
    assert_readouts(test, every, run)
    np.testing.assert_allclose(marks(test, 2), run.centers[:, [2, 0]])
    np.testing.assert_allclose(marks(test, 1), every.centers[:, [2, 0]])

    # The page asks for bounds of all columns, and uses the bounds when all are typed.
    assert declare(test, "-2, 12") == [f"{name}: from, to" for name in names]
    assert cards(test)["Method"][1] == "proof holds; promises little"
    bounded = own_truth(points, names, 3, ((-2, 12),) * columns)
    assert_readouts(test, bounded, run_of(bounded, "dplloyd", epsilon=5.0))
    # The bounds stay with their columns, and come back with them.
    cluster_on(test, "shown")
    assert cards(test)["Method"][1] == "proof holds; promises little"
    assert test.query_params["domain"] == "-2.0,12.0;-2.0,12.0"
    declare(test, "-3, 13")
    checked(test.selectbox(key=one_key(test, "own:y")).set_value("c1").run())
    assert cards(test)["Method"][1] == "proof holds; promises little"
    assert test.query_params["domain"] == "-3.0,13.0;-2.0,12.0"


def test_typed_bounds_go_with_their_sample(app):
    test = app(data="incomes", domain="0,9000;0,7000")
    assert test.query_params["domain"] == "0.0,9000.0;0.0,7000.0"
    choose(test, "data", "shapes")
    assert "domain" not in test.query_params
    choose(test, "data", "incomes")
    assert "domain" not in test.query_params


@pytest.mark.some(1)
@pytest.mark.daily("eugkm", "gupt", "dprefine")
@pytest.mark.parametrize("method", KMEANS)
def test_every_method_on_many_columns(app, method):
    content, points, names = table(5)
    test = cluster_on(upload(app(k=3, method=method), "own.csv", content), "all")
    assert not test.error
    truth = own_truth(points, names, 3)
    assert_readouts(test, truth, run_of(truth, method))
    assert look(test, "noise")
    assert look(test, "chain") == has_chain(method)


def test_a_column_of_words_is_refused_and_the_last_picture_stays(app):
    content, _, _ = table(3, words=True)
    test = upload(app(k=3), "own.csv", content)
    before = cards(test)
    checked(test.selectbox(key=one_key(test, "own:y")).set_value("word").run())
    (said,) = [one.value for one in test.error]
    assert "word" in said
    assert "Still on the screen: own.csv, c0 and c1." in said
    assert cards(test) == before
    checked(test.selectbox(key=one_key(test, "own:y")).set_value("c2").run())
    assert not test.error
    assert cards(test) != before


def test_a_grid_of_counts_is_taken_at_its_cell_centres(app):
    test = app(k=2)
    control(test.selectbox, "kmeans:data").set_value("own").run()
    control(test.toggle, "own:counts").set_value(True).run()
    counts = np.zeros((16, 16), dtype=int)
    counts[2:6, 2:6], counts[10:14, 10:14] = 9, 7
    content = "\n".join(",".join(map(str, row)) for row in counts.tolist()).encode()
    test.file_uploader(key="own:file").set_value(("counts.csv", content, "text/csv"))
    checked(test.run())
    assert not test.error
    assert any(f"{counts.sum():,} records" in one.value for one in test.caption)
    # Both blocks have 4 x 4 cells; the squared distances within a block are computed by hand.
    offsets = (np.arange(4) - 1.5) / 16
    spread = 2 * (offsets**2).mean()
    assert float(cards(test)["Mean error"][1].removeprefix("NICV · true ")) == pytest.approx(
        spread, rel=5e-3
    )


@pytest.mark.daily("binary.csv", "pickle.npy")
@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_one_sentence_and_the_last_good_one_stays(app, name):
    content, fragment = BAD_FILES[name]
    good, _, _ = table(2)
    test = upload(app(k=3), "good.csv", good)
    before = cards(test)
    test.file_uploader(key="own:file").set_value((name, content, "text/csv"))
    checked(test.run())
    (said,) = [one.value for one in test.error]
    assert fragment.lower() in said.lower()
    assert "good.csv" in title(test)
    assert cards(test) == before


def test_a_bad_file_without_a_good_one_before_asks_for_another(app):
    test = upload(app(), "empty.csv", b"")
    assert "empty" in test.error[0].value
    assert "choose a sample set" in test.info[0].value
    choose(test, "data", "incomes")
    assert "Incomes" in title(test)


@pytest.mark.parametrize("method", ["kmeans", "dplloyd", "eugkm", "mcmc"])
def test_more_clusters_than_records_is_one_sentence(app, method):
    test = upload(app(method=method, k=9), "few.csv", b"a,b\n1,2\n3,4\n5,7\n6,1\n")
    (said,) = [one.value for one in test.error]
    assert "clusters = 9, but there are only 4 records" in said
    assert "k" in shown_sliders(test)
    move(test, k=2)
    assert not test.error
    assert " K 2" in title(test)
    assert any("There are only 4 records" in one.value for one in test.caption)


@pytest.mark.daily("mcmc", "eugkm", "gupt", "dprefine")
@pytest.mark.parametrize("method", KMEANS)
def test_one_record(app, method):
    test = upload(app(method=method, k=1), "one.csv", b"a,b\n1,2\n")
    assert not test.error
    assert cards(test)["Overlap"][0] == "1.000"
    assert cards(test)["Squared error"][1] == "WCSS · true 0"
    np.testing.assert_allclose(marks(test, 1), [[1, 2]])


@pytest.mark.parametrize("method", ["eugkm", "mcmc"])
def test_no_private_run_is_better_than_true(app, method, monkeypatch):
    test = app(method=method, k=4, epsilon=10)  # before, because all sessions share sample sets
    monkeypatch.setattr("dpviz.kmeans.records.optimum", lambda points, clusters: points[:clusters])
    monkeypatch.setattr("dpviz.kmeans.methods.mcmc.STEPS", 300)
    middles = np.repeat([[1.0, 1.0], [1.0, 9.0], [9.0, 1.0], [9.0, 9.0]], 500, axis=0)
    rows = np.random.default_rng(0).normal(middles, 0.5)
    text = "a,b\n" + "\n".join(f"{a},{b}" for a, b in rows)
    test = upload(test, "four.csv", text.encode())
    assert not test.error
    found = cards(test)
    assert float(found["Times the error"][0]) >= 1
    assert (
        float(found["Mean error"][0])
        >= float(found["Mean error"][1].removeprefix("NICV · true ")) * 0.99
    )
    if FAMILY.methods[method].card.post_processes:
        assert float(found["Before"][0]) >= 1
    assert any("better than the best k-means" in one.value for one in test.caption)


@pytest.mark.daily("mcmc", "eugkm", "gupt", "dprefine")
@pytest.mark.parametrize("method", KMEANS)
def test_equal_points(app, method):
    test = upload(app(method=method, k=3), "same.csv", b"a,b\n" + b"1,2\n" * 60)
    assert not test.error
    assert any("All 60 points are equal" in one.value for one in test.caption)
    found = cards(test)
    assert found["Squared error"][1] == "WCSS · true 0"
    # The ratio is 1 only if the private error is also 0.
    worse = number_of(found["Squared error"][0]) > 0
    assert found["Times the error"][0] == ("∞" if worse else "1.000")
    assert look(test, "noise")
    assert look(test, "chain") == has_chain(method)


def test_equal_points_before_post_processing(app):
    test = upload(app(method="mcmc", k=3), "same.csv", b"a,b\n" + b"1,2\n" * 60)
    records = Records.build(
        Dataset(name="same", points=np.tile([[1.0, 2.0]], (60, 1))),
        Domain.from_data(np.tile([[1.0, 2.0]], (60, 1))),
    )
    truth = KMeansTruth(records, 3)
    assert truth.wcss(run_of(truth, "mcmc").before) > 0
    assert cards(test)["Before"][0] == "∞"


def test_points_outside_the_bounds_are_said(app):
    inside = np.count_nonzero(load_sample("incomes").points[:, 0] <= 5000)
    for outside, words in (("clip", "moved to its border"), ("drop", "left out")):
        test = app(data="incomes", domain="0,5000;0,8000", outside=outside)
        (said,) = [one.value for one in test.caption if "outside the domain" in one.value]
        assert said.startswith(f"{800 - inside:,} points lie outside")
        assert words in said
        assert any("800 records" in one.value for one in test.caption)


# ---- known classes

#: Three groups and the names of the groups; a column of numbers also distinguishes the groups.
GROUPS = "x,y,code,kind\n" + "".join(
    f"{10 * (i % 3) + i % 5},{i % 7 + (i % 3) ** 2},{i % 3 + 1},{'abc'[i % 3]}\n"
    for i in range(120)
)


def class_box(test):
    return control(test.selectbox, "own:classes")


@pytest.mark.parametrize("page", ["kmeans", "wavecluster"])
def test_a_class_column_of_own_data_is_scored_against(app, page):
    test = upload(visit(app(k=3), page), "own.csv", GROUPS.encode(), page)
    assert "Classes found" not in cards(test)
    assert "classes" not in test.query_params
    assert class_box(test).options == ["none", "x", "y", "code", "kind"]
    for name in ("kind", "code"):
        checked(class_box(test).select(name).run())
        assert not test.error
        value, true = cards(test)["Classes found"]
        assert 0 < float(value) <= 1
        assert 0 < float(true.removeprefix("F · true ")) <= 1
        assert test.query_params["classes"] == name
        assert any("· 3 classes" in one.value for one in test.caption)
    # The column of classes is not proposed as a column to cluster.
    if page == "kmeans":
        assert test.query_params["columns"] == "x,y"
        assert not [one for one in test.button_group if str(one.key).startswith("own:every")]
    checked(test.selectbox(key=one_key(test, "own:y")).set_value("code").run())
    assert 'column "code" holds the known classes' in test.error[0].value
    checked(test.selectbox(key=one_key(test, "own:y")).set_value("y").run())
    checked(class_box(test).select("y").run())
    assert not test.error
    assert test.query_params["columns"] == "x,code"
    move(test, **{"behind": True} if page == "kmeans" else {})
    if page == "kmeans":
        lines, shell = (one.value for one in test.code)
        assert "classes='y'" in lines
        assert "--classes y" in shell
    checked(class_box(test).select("none").run())
    assert "Classes found" not in cards(test)
    assert "classes" not in test.query_params


def test_a_k_that_is_taken_from_the_classes_is_said(app):
    test = upload(app(), "own.csv", GROUPS.encode())
    sentence = "K 3 is the number of classes of your data."
    assert sentence not in [one.value for one in test.caption]
    checked(class_box(test).select("kind").run())
    assert test.query_params["k"] == "3"
    assert sentence in [one.value for one in test.caption]
    checked(class_box(test).select("none").run())
    assert sentence not in [one.value for one in test.caption]


def test_the_class_column_of_a_link_is_taken_and_no_release_offers_it(app):
    test = upload(app(k=3, data="own", classes="kind"), "own.csv", GROUPS.encode())
    assert test.query_params["classes"] == "kind"
    assert class_box(test).value == 4
    (link,) = (one.proto for one in test.get("page_link") if "Release" in one.proto.label)
    assert "classes" not in link.query_string
    visit(test, "release")
    assert not [one for one in test.selectbox if str(one.key).startswith("own:classes")]
    assert "classes" not in test.query_params
    unknown = upload(app(k=3, data="own", classes="sort"), "own.csv", GROUPS.encode())
    assert class_box(unknown).value == 0
    assert "Classes found" not in cards(unknown)


# ---- the numbers of the picture


@pytest.mark.parametrize("method", KMEANS)
def test_numbers_and_code_stand_behind_every_method(app, method):
    test = app(data="incomes", method=method, epsilon=0.5)
    move(test, behind=True)
    truth = truth_of("incomes", 2)
    run = run_of(truth, method, **({"epsilon": 0.5} if KMEANS[method].card.spends else {}))
    centres, scores = (one.value for one in test.dataframe[:2])
    side = "private" if KMEANS[method].card.spends else "not private"
    # A true cluster without a centre has a row of its own.
    shown = centres[f"{side} monthly_income"].dropna()
    np.testing.assert_allclose(np.sort(shown), np.sort(run.centers[:, 0]))
    found = dict(zip(scores["score"], scores["value"], strict=True))
    expected = truth.scores(run, (*OF_CENTERS, *OF_CLASSES))
    if KMEANS[method].card.spends:
        expected["zhang_f"] = truth.against_silenced(run, SeededNoise(0))
    # The table has the names on the screen, and its numbers are formatted for readers.
    assert found == {SCORES[name].label: readable(value, 6) for name, value in expected.items()}
    lines, shell = (one.value for one in test.code)
    assert KMEANS[method].card.estimator in lines
    assert method in shell
    assert any(KMEANS[method].card.summary in one.value for one in test.markdown)


# ---- together with the other page


def test_the_other_page_works_on_after_a_visit(app):
    test = visit(app(data="incomes", epsilon=0.5, k=4, seed=3), "wavecluster")
    assert not test.error
    # All pages share data set and budget; seed and number of clusters are of this page alone.
    assert "Incomes and one person · Two-stage · ε 0.5 " in title(test)
    assert test.query_params["seed"] != "3"
    visit(test, "kmeans")
    assert test.query_params["seed"] == "3"
    assert "Incomes and one person · DP-Refine · ε 0.5" in title(test)
    assert test.query_params["k"] == "4"


def test_own_data_and_its_bounds_are_the_same_on_all_pages(app):
    content, _, _ = table(2)
    test = upload(visit(app(), "wavecluster"), "own.csv", content, "wavecluster")
    declare(test, "-2, 12")
    readouts = cards_at_once(test)
    assert readouts["Method"][0].startswith("at most")
    visit(test, "kmeans")
    assert "own.csv · DP-Refine" in title(test)
    assert any("Loaded: own.csv, 2 columns: c0, c1" in one.value for one in test.caption)
    assert cards(test)["Method"][0].startswith("at most")
    assert test.query_params["domain"] == "-2.0,12.0;-2.0,12.0"
    visit(test, "wavecluster")
    assert cards_at_once(test) == readouts
    visit(test, "kmeans")
    declare(test, "-5, 15")
    visit(test, "wavecluster")
    assert test.query_params["domain"] == "-5.0,15.0;-5.0,15.0"


@pytest.mark.exhaustive(reason="test_working_state.py checks columns on every page")
def test_chosen_columns_survive_a_visit(app):
    content, _, _ = table(3)
    test = upload(visit(app(), "wavecluster"), "own.csv", content, "wavecluster")
    checked(test.selectbox(key=one_key(test, "own:x")).set_value("c2").run())
    declare(test, "-2, 12")
    readouts, link = cards_at_once(test), dict(test.query_params)
    assert readouts["Method"][0].startswith("at most")
    visit(visit(test, "kmeans"), "wavecluster")
    assert figure_head(test)["figure"]["layout"]["xaxis"]["title"]["text"] == "c2"
    assert dict(test.query_params) == link
    assert cards_at_once(test) == readouts


def test_the_column_of_persons_is_no_axis_unless_it_is_chosen_as_one(app):
    rng = np.random.default_rng(0)
    rows = zip(rng.random(90), np.arange(90) % 30 + 0.5, rng.integers(9, size=90), strict=True)
    content = b"a,who,b\n" + b"".join(b"%f,%f,%d\n" % row for row in rows)
    test = upload(visit(app(), "wavecluster"), "own.csv", content, "wavecluster")

    def axes() -> list[str]:
        layout = figure_head(test)["figure"]["layout"]
        return [axis_name(layout[name]) for name in ("xaxis", "yaxis")]

    assert axes() == ["a", "who"]
    checked(control(test.selectbox, "own:unit").select("a person: column who").run())
    assert axes() == ["a", "b"]
    checked(control(test.selectbox, "own:unit").select("a person: column a").run())
    assert axes() == ["who", "b"]
    checked(test.selectbox(key=one_key(test, "own:x")).set_value("a").run())
    assert axes() == ["a", "b"]
    checked(control(test.selectbox, "own:unit").select("a record").run())
    checked(control(test.selectbox, "own:unit").select("a person: column a").run())
    assert axes() == ["a", "b"]


def test_the_choice_of_bounds_follows(app):
    test = app(data="spirals", domain="data")
    assert cards(test)["Method"][0] == "not private"
    visit(test, "wavecluster")
    assert test.query_params["data"] == "spirals"
    assert test.query_params["domain"] == "data"
    assert cards(test)["Method"][0] == "not private"


# -- K chosen privately --------------------------------------------------------------------


def test_k_is_chosen_privately_beside_the_search_on_true_data(app):
    test = app(method="eugkm", k=4)
    assert len(marks(test, 2)) == 4
    test.session_state["kmeans:goal"] = test.session_state["kmeans:choice"] = True
    checked(test.run())
    press(test, "Choose K privately")
    assert test.query_params["choose"] == "private"
    assert control(test.selectbox, "kmeans:choose").value == "private"
    # The set has 15 Gaussians: both sides have 15 centres, and the slider is disabled.
    data = load_sample(FIRST)
    records = Records.build(data, data.domain)
    config = KMeansConfig(method="eugkm", clusters=4, choose="private")
    run = run_kmeans(records, config, SeededNoise(0))
    assert len(run.centers) == 15
    truth = KMeansTruth(records, 15)
    np.testing.assert_allclose(marks(test, 2), truth.numbered(run).centers)
    assert len(marks(test, 1)) == 15
    assert any("15 centres" in one for one in headings(test))
    assert any(run.decision in one.value for one in test.caption)
    assert disabled_sliders(test) == {"k"}
    assert "K 4" not in title(test)
    # The page shows the price of the choice, which is computed with the true records.
    price = choice_price(records, run.choice)
    (said,) = (one.value for one in test.markdown if one.value.startswith("Chosen privately"))
    assert f"**K = {run.choice.clusters}**" in said
    assert f"**K = {price.best}**" in said
    tried = f"K from {min(run.choice.tried)} to {max(run.choice.tried)} are tried."
    assert any(tried in one.value for one in test.caption)
    assert f"{price.ratio:.1%}" in said
    (measured,) = (one.value for one in test.dataframe if "sets" in one.value.columns)
    pd.testing.assert_frame_equal(measured, summary(of_family("kmeans")), check_dtype=False)
    test = choose(test, "choose", "given")
    assert len(marks(test, 2)) == 4
    assert disabled_sliders(test) == set()


def test_links_carry_the_choice_and_methods_without_it_ignore_it(app):
    test = app(method="eugkm", choose="private", cells="refined")
    assert len(marks(test, 2)) == 15
    link = test.query_params
    assert (link["choose"], link["cells"]) == ("private", "refined")
    test = app(method="gupt", choose="private", k=3)
    assert len(marks(test, 2)) == 3
    assert disabled_sliders(test) == set()


def disabled_sliders(test):
    return {
        str(one.key).split(":")[1]
        for one in test.get("bidi_component")
        if one.proto.component_name == "dpviz_live_slider"
        and json.loads(one.proto.json)[0]["spec"]["disabled"]
    }


def test_card_says_what_each_part_brings(app):
    test = app(method="dprefine")
    move(test, behind=True)
    (said,) = (one.value for one in test.markdown if "What each part brings" in one.value)
    assert sentence("dprefine") in said
    (table,) = (one.value for one in test.dataframe if "without the part" in one.value.columns)
    rows = parts("dprefine")
    assert list(zip(table["part"], table["data"], table["ε"], strict=True)) == [
        (row.part, row.data, row.epsilon) for row in rows
    ]
    assert table["factor"].tolist() == [round(row.factor, 3) for row in rows]
    # A method that was not measured does not have this view.
    test = app(method="dplloyd")
    move(test, behind=True)
    assert not any("What each part brings" in one.value for one in test.markdown)


# ---- very many records


@pytest.mark.parametrize(
    ("method", "silent", "least"),
    [("privgene", False, 32), ("dplloyd", False, 5), ("dplloyd", True, 6)],
)
def test_a_run_that_nobody_waits_for_ends_within_a_pass(monkeypatch, method, silent, least):
    """PrivGene compares 30,000 records with its candidates: in four parts, and eight times."""
    asked = []

    def cancelled():
        asked.append(None)
        return len(asked) > until

    monkeypatch.setattr(kmeans_page, "_PATIENCE", 0.0)
    truth = truth_of(FIRST, 15)
    config = run_of(truth, method).config
    until = 10**6
    kmeans_page._run_beside((truth, config, 0, silent), cancelled=cancelled)
    assert len(asked) >= least
    asked.clear()
    until = 3
    with pytest.raises(Cancelled):
        kmeans_page._run_beside((truth, config, 0, silent), cancelled=cancelled)
    assert len(asked) <= until + 5


def test_a_sketch_stands_in_until_the_run_on_all_records_is_there(app, monkeypatch):
    go, before = threading.Event(), kmeans_page._run_beside

    def slow(*some, **more):
        assert go.wait(60)
        return before(*some, **more)

    monkeypatch.setattr("dpviz.kmeans.sketch.SKETCHED", 2_000)
    monkeypatch.setattr("dpviz.kmeans.sketch.MANY", 4_000)
    monkeypatch.setattr(kmeans_page, "_run_beside", slow)
    monkeypatch.setattr(kmeans_page, "_PATIENCE", 0.01)
    test = app(method="dplloyd", epsilon=0.5)
    assert "sketch from 2,000 of 30,000 records, all follow" in line(test)
    rough = cards(test)
    assert rough["Times the error"][0].startswith("~")
    truth = truth_of(FIRST, 15)
    run = run_of(truth, "dplloyd", epsilon=0.5)
    # The error of a sketch, scaled to all records, is nearly the same.
    told = number_of(rough["Squared error"][1].removeprefix("WCSS · true "))
    assert told == pytest.approx(truth.errors[0], rel=0.05)
    # As long as there is only the sketch, no table and no file contains its numbers.
    test.session_state["kmeans:behind"] = True
    checked(test.run())
    assert "Tables and code appear after the whole run." in told_below(test)
    go.set()
    test.session_state["kmeans:run job"].wait(60)
    checked(test.run())
    assert_readouts(test, truth, run)
    np.testing.assert_allclose(marks(test, 2), run.centers)
    assert "all 30,000 records" in line(test)
    assert "sketch" not in line(test)
    assert "They follow" not in told_below(test)
    # The same run is not repeated; for another epsilon, a sketch in the same colours is first.
    go.clear()
    test.session_state["kmeans:epsilon"] = 2.0
    checked(test.run())
    assert "sketch" in line(test)
    np.testing.assert_allclose(
        KMeansTruth(Sketch.of(truth.records), 15, start=truth.centers).centers, marks(test, 1)
    )
    test.session_state["kmeans:epsilon"] = 0.5
    checked(test.run())
    assert_readouts(test, truth, run)
    # The nested grid of a sketch may be coarser than the grid of the full run; the picture says so.
    test.session_state["kmeans:method"] = "dprefine"
    checked(test.run())
    assert "records on a coarse grid, all follow" in line(test)
    test.session_state["kmeans:method"] = "gupt"
    checked(test.run())
    assert "records in few blocks, all follow" in line(test)
    test.session_state["kmeans:method"] = "eugkm"
    test.session_state["kmeans:epsilon"] = 5.0
    checked(test.run())
    assert "records with cells in blocks, all follow" in line(test)
    go.set()


def test_a_run_on_all_records_that_fails_is_said_and_not_begun_again(app, monkeypatch):
    runs = []

    def failing(*some, **more):
        runs.append(some)
        raise InputError("all records: too many.")

    monkeypatch.setattr("dpviz.kmeans.sketch.SKETCHED", 2_000)
    monkeypatch.setattr("dpviz.kmeans.sketch.MANY", 4_000)
    monkeypatch.setattr(kmeans_page, "_run_beside", failing)
    test = app(method="dplloyd", epsilon=0.5)
    for _ in range(3):
        test.session_state["kmeans:run job"].wait(60)
        checked(test.run())
    assert [one.value for one in test.error] == ["all records: too many."]
    assert "sketch" in line(test)
    assert len(runs) == 1
    # Other settings need another run.
    test.session_state["kmeans:epsilon"] = 2.0
    checked(test.run())
    test.session_state["kmeans:run job"].wait(60)
    assert len(runs) == 2


def test_a_fault_of_the_start_is_not_blamed_on_the_noise(app):
    """At epsilon 10 the noise is small; DPLloyd misses clusters because of its start."""
    said = [one.value for one in app(method="dplloyd", epsilon=10, seed=0).caption]
    (words,) = (one for one in said if one.startswith("Not the noise, but its start"))
    assert "no centre, either" in words
    # At a small epsilon it misses another cluster, so the noise is the cause.
    noisy = app(method="dplloyd", epsilon=0.1, seed=0)
    assert "no centre" in text(noisy)
    assert not any("Not the noise" in one.value for one in noisy.caption)
