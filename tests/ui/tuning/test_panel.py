"""The panel "Find parameters", without a browser."""

import threading

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpviz.base.numbers import readable
from dpviz.data.samples import load_sample
from dpviz.experiments.tuning.common import TUNING
from dpviz.experiments.tuning.smallest_epsilon import (
    GRID,
    Target,
    smallest_epsilon,
)
from dpviz.wavecluster.parameters import Config

PATIENCE = 60


@pytest.fixture(scope="module")
def gaussians():
    return load_sample("gaussians")


def explorer(page: str, own: bool) -> None:
    import streamlit as st

    from dpviz.data.samples import load_sample, sample
    from dpviz.families import FAMILIES
    from dpviz.privacy.ledger import Neighbours
    from dpviz.ui.data.panel import ActiveData
    from dpviz.ui.learn.facts import EXPLORERS
    from dpviz.ui.tuning.panel import tuning_panel
    from dpviz.ui.widgets.parameters import config_of

    state = EXPLORERS[page].page_state()
    facts = sample("gaussians")
    data = load_sample("gaussians")
    active = ActiveData(
        dataset=data,
        domain=data.domain,
        outside="clip",
        neighbours=Neighbours(),
        complete=data,
        sample=None if own else facts,
    )
    st.session_state["shown"] = {name: state.get(name) for name in state.link()}
    config = config_of(state, FAMILIES[page], active.neighbours)
    tuning_panel(state, active, config)
    state.write()


@pytest.fixture
def panel():
    def open_panel(page="wavecluster", own=False, opened=True, **values):
        test = AppTest.from_function(explorer, default_timeout=PATIENCE, args=(page, own))
        for name, value in values.items():
            test.query_params[name] = str(value)
        test.session_state[f"{page}:goal"] = opened
        return ran(test.run())

    yield open_panel
    for thread in threading.enumerate():
        if thread.name == "dpviz job":
            thread.join(PATIENCE)
            assert not thread.is_alive()


def ran(test):
    assert not test.exception, test.exception
    return test


def press(test, label):
    (button,) = (one for one in test.button if one.label.startswith(label))
    ran(button.click().run())
    for name in ("epsilon", "map", "null"):
        key = f"{explorer_page(test)}:goal {name} job"
        if key in test.session_state:
            assert test.session_state[key].wait(PATIENCE)
            assert test.session_state[key].error == ""
    return ran(test.run())


def run_of(test):
    """The run of the answer on the screen; the title of its figure names the run."""
    found = (f"{explorer_page(test)}:goal {part} found" for part in ("epsilon", "map"))
    (kept,) = (key for key in found if key in test.session_state)
    return test.session_state[kept][0][0]


def explorer_page(test):
    return "kmeans" if "kmeans:state" in test.session_state else "wavecluster"


def choose_part(test, part):
    (group,) = (one for one in test.button_group if ":goal@" in one.key)
    return ran(group.set_value(part).run())


def few_draws(test):
    (box,) = (one for one in test.number_input if one.label == "Draws at each setting")
    return ran(box.set_value(10).run())


LINK = {"method": "privthr", "g": 64, "p": 0.58, "epsilon": 3}


@pytest.mark.exhaustive(reason="other tests of this file search other parameters")
def test_a_grid_of_its_own_for_each_column_is_searched_but_for_g(panel):
    test = few_draws(panel(**LINK | {"g": "33,20"}))
    press(test, "Find the smallest")
    assert " g 33 x 20 " in run_of(test)
    choose_part(test, "map")
    (box,) = (one for one in test.selectbox if one.label == "Best")
    assert len(box.options) == 1
    assert "α" in box.options[0]
    assert any("g is not searched" in one.value for one in test.caption)


def test_nothing_is_there_until_the_panel_is_opened(panel):
    assert not panel(opened=False).button


def test_the_smallest_budget_is_found_and_taken_over(panel, gaussians):
    test = few_draws(panel(**LINK))
    press(test, "Find the smallest")
    config = Config(method="privthr", grid=64, density=0.58)
    goal = smallest_epsilon(gaussians, config, Target("dsg_c", "<=", 0.2), seeds=range(10))
    assert goal.epsilon not in (None, 3)
    assert any(goal.summary in one.value for one in test.markdown)
    # The title of the picture names the run, and the table is below the picture.
    assert run_of(test) == "Fifteen Gaussians · PrivTHR · α 0.90 · g 64 · p 0.58 · haar level 1"
    (rows,) = (one.value for one in test.dataframe)
    assert rows["ε"].tolist() == list(GRID)
    np.testing.assert_array_equal(rows["share of draws that meet the target"], goal.shares)
    press(test, f"Take over ε = {readable(goal.epsilon)}")
    assert test.session_state["shown"]["epsilon"] == goal.epsilon
    assert not any("This result is from other settings" in one.value for one in test.caption)
    # If the target changes, the old result stays, and is marked as old.
    (target,) = (one for one in test.number_input if one.label.startswith("Target"))
    ran(target.set_value(0.4).run())
    assert any("This result is from other settings" in one.value for one in test.caption)


def test_alpha_is_chosen_at_the_budget_of_the_slider(panel):
    test = few_draws(choose_part(panel(**LINK, alpha=0.07), "map"))
    press(test, "Draw the map")
    (said,) = (one.value for one in test.markdown if one.value.startswith("**Best: ε = 3, α = "))
    assert run_of(test) == "Fifteen Gaussians · PrivTHR · g 64 · p 0.58 · haar level 1"
    (rows,) = (one.value for one in test.dataframe)
    assert {"ε", "α", "DSG_C reached in 90% of draws", "best"} < set(rows.columns)
    press(test, "Take over α")
    assert f"α = {readable(test.session_state['shown']['alpha'])}**" in said
    assert test.session_state["shown"]["epsilon"] == 3
    assert not any("This result is from other settings" in one.value for one in test.caption)


def test_grid_and_density_offer_scores_of_points_alone(panel):
    test = choose_part(panel(**LINK), "map")
    (pair,) = (one for one in test.selectbox if one.label == "Best")
    ran(pair.set_value("grid-density").run())
    (score,) = (one for one in test.selectbox if one.label == "Score")
    assert score.options == [
        "Overlap (F-measure)",
        "Classes found: F (classes)",
        "Pairs agree (ARI)",
        "Shared information (AMI)",
        "Pairs agree: ARI (classes)",
        "Shared information: AMI (classes)",
    ]
    assert any("with the clusters without noise" in one.value for one in test.caption)
    ran(score.set_value("class_f").run())
    assert any("with the known classes, point by point" in one.value for one in test.caption)
    without_alpha = choose_part(panel(**LINK | {"method": "privqt"}), "map")
    (pair,) = (one for one in without_alpha.selectbox if one.label == "Best")
    assert pair.options == ["g and p"]


def test_the_null_set_needs_no_private_method(panel):
    test = few_draws(choose_part(panel(**LINK | {"method": "wavecluster"}), "null"))
    press(test, "Count invented")
    assert any("PrivTHREM" in set(one.value["method"]) for one in test.dataframe)
    null = test.session_state["wavecluster:goal null found"][1]
    assert (null.n, len(null.seeds), null.config.grid) == (30_000, 10, 64)
    assert any("spends no budget" in one.value for one in choose_part(test, "epsilon").info)


def test_own_data_is_told_what_tuning_costs_and_offered_a_look_alike(panel):
    assert not any(one.value == TUNING for one in panel().markdown)
    test = panel(own=True, g=20, p=0.3)
    assert any(one.value == TUNING for one in test.markdown)
    (look,) = (one for one in test.selectbox if one.label == "Look-alike")
    ran(look.set_value("spirals").run())
    press(test, "Tune on this one")
    shown = test.session_state["shown"]
    assert (shown["data"], shown["g"], shown["p"]) == ("spirals", 40, 0.1)


def test_a_search_of_k_means_can_be_stopped(panel):
    test = panel("kmeans", k=15, method="dplloyd")
    assert len(test.button_group[0].options) == 2
    (button,) = (one for one in test.button if one.label == "Find the smallest ε")
    ran(button.click().run())
    asked = test.session_state["kmeans:goal epsilon job"].request
    assert asked[0] == "Fifteen Gaussians · DPLloyd · K 15 · T 5 · sphere packing · uniform"
    (stop,) = (one for one in test.button if one.label == "Stop searching")
    ran(stop.click().run())
    job = test.session_state["kmeans:goal epsilon job"]
    assert job.wait(PATIENCE)
    assert job.cancelled
    assert job.result is None
    assert not any(one.label.startswith("Take over") for one in ran(test.run()).button)
