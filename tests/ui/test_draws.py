"""The panel of many draws on both explorers, without a browser."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpviz.base.numbers import readable
from dpviz.base.work import Cancelled
from dpviz.data.samples import load_sample, sample
from dpviz.experiments.draws import many_draws
from dpviz.families import FAMILIES, SCORES, trial_of
from dpviz.figures.draws import BOUND_COLUMNS
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.ui.messages import plain_text
from dpviz.ui.session.job import job_of
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.scores import RANK, RANK_ERROR
from dpviz.wavecluster.theorems import k_bounds
from tests.support import APP
from tests.support.controls import control
from tests.ui.test_wavecluster import checked

PATIENCE = 60


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
    def open_app(page: str, opened: bool = True, **link: object) -> AppTest:
        test = AppTest.from_file(APP, default_timeout=120)
        for name, value in link.items():
            test.query_params[name] = str(value)
        test.switch_page(f"pages/{page}.py")
        test.session_state[f"{page}:draws"] = opened
        return checked(test.run())

    return open_app


def finished(test: AppTest, page: str) -> AppTest:
    job = test.session_state[f"{page}:draws:job"]
    assert job.wait(PATIENCE)
    return checked(test.run())


def table(test: AppTest):
    return next(one.value for one in test.dataframe if "best is" in one.value.columns)


def title_of(test: AppTest, key: str) -> str:
    for one in test.get("bidi_component"):
        if key in str(one.proto.id) and one.proto.bytes:
            data = one.proto.bytes
            head = json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])
            return head["alt"]
    raise AssertionError(key)


def test_closed_nothing_is_drawn(app) -> None:
    test = app("wavecluster", opened=False)
    assert "wavecluster:draws:job" not in test.session_state


def test_closing_the_panel_stops_its_draws(app, monkeypatch) -> None:
    def endless(trial, seeds, names, *, progress, cancelled):
        while not cancelled():
            time.sleep(0.01)
        raise Cancelled

    monkeypatch.setattr("dpviz.ui.explorer.draws.many_draws", endless)
    test = app("wavecluster", data="incomes", g=16)
    job = test.session_state["wavecluster:draws:job"]
    assert job.running
    test.session_state["wavecluster:draws"] = False
    checked(test.run())
    assert job.cancelled
    assert job.wait(PATIENCE)
    assert "wavecluster:draws:job" not in test.session_state


def test_bands_of_the_setting_on_the_screen(app) -> None:
    test = finished(
        app("wavecluster", data="incomes", g=16, method="privqt", seed=3), "wavecluster"
    )
    facts = sample("incomes")
    config = Config(method="privqt", grid=16, density=facts.density)
    trial = trial_of(load_sample("incomes"), config)
    draws = many_draws(trial, range(50), (*FAMILIES["wavecluster"].swept, RANK, RANK_ERROR))
    shown = table(test)
    np.testing.assert_allclose(shown["median"], [one.median for one in draws.bands.values()])
    np.testing.assert_allclose(shown["95%"], [one.high for one in draws.bands.values()])
    assert shown["true"].notna().all()
    # The draw that is marked is the draw on the screen.
    np.testing.assert_allclose(shown["this draw"], [one[3] for one in draws.scores.values()])
    # For k', there are the bounds of a theorem, and the share of the draws between the bounds.
    bounds = k_bounds(trial.truth, config)
    row, error = shown.iloc[-2], shown.iloc[-1]
    assert error["mean"] == pytest.approx(np.mean(np.abs(draws.scores[RANK] / row["true"] - 1)))
    assert row["true"] == trial.truth.stages.threshold.k
    assert tuple(row[[*BOUND_COLUMNS[:2]]]) == bounds.ends
    assert row["inside"] == bounds.inside(draws.scores[RANK])
    assert row["promised"] == pytest.approx(0.9)
    assert shown[BOUND_COLUMNS[0]].notna().sum() == 1
    assert any("Theorem 4" in one.value for one in test.caption)
    # The rank is that of the draw on the screen.
    words = draws.rank_words(3, SCORES["dsg_c"])
    assert plain_text(words) in [one.value for one in test.caption]


def test_means_stand_beside_the_medians_on_request(app) -> None:
    test = finished(app("wavecluster", data="incomes", g=16, method="privqt"), "wavecluster")
    assert ", mean " not in title_of(test, "strips")
    mean = readable(table(test)["mean"].iloc[0], 4)
    test = checked(control(test.toggle, "wavecluster:draws:means").set_value(True).run())
    assert f", mean {mean}" in title_of(test, "strips")


def test_other_settings_are_drawn_anew_and_another_seed_is_not(app) -> None:
    test = finished(app("wavecluster", data="incomes", g=16), "wavecluster")
    first = test.session_state["wavecluster:draws:job"]
    test.session_state["wavecluster:seed"] = 7
    checked(test.run())
    assert test.session_state["wavecluster:draws:job"] is first
    test.session_state["wavecluster:epsilon"] = 0.2
    checked(test.run())
    second = test.session_state["wavecluster:draws:job"]
    assert second is not first
    finished(test, "wavecluster")
    checked(control(test.selectbox, "wavecluster:draws:number").set_value(100).run())
    finished(test, "wavecluster")
    assert set(table(test)["draws"]) == {100}


def test_draws_of_the_settings_before_keep_their_own_maps(app, monkeypatch) -> None:
    """While a slider is dragged, no draws run, so old draws still have their title and maps."""
    test = finished(app("wavecluster", data="incomes", g=16), "wavecluster")
    before = specs(test)
    monkeypatch.setattr("dpviz.ui.explorer.settings.slider", lambda *given, **looks: False)
    test.session_state["wavecluster:g"] = 24
    checked(test.run())
    assert any("previous settings" in one.value for one in test.caption)
    after = specs(test)
    assert len(before) == len(after) == 3
    assert before[0] != after[0]
    for old, new in zip(before[1:], after[1:], strict=True):
        assert old == new


def specs(test: AppTest) -> list[bytes]:
    """Figures on the page; the explorer's own figure is the first."""
    return [
        one.proto.bytes
        for one in test.get("bidi_component")
        if one.proto.component_name == "dpviz_live_figure"
    ]


@pytest.mark.exhaustive
def test_ocm_and_2ce_are_drawn_when_asked_for(app) -> None:
    test = finished(app("wavecluster", data="incomes", g=16), "wavecluster")
    assert "OCM" not in set(table(test)["score"])
    checked(test.checkbox(key="wavecluster:draws:held out").check().run())
    finished(test, "wavecluster")
    assert {"OCM", "2CE", "OCM, clusters alone", "2CE, clusters alone"} <= set(table(test)["score"])


def test_the_played_draw_is_shown_and_can_be_taken(app) -> None:
    test = finished(app("wavecluster", data="incomes", g=16), "wavecluster")
    test.session_state["wavecluster:draws:play:0:50"] = 9
    checked(test.run())
    take = next(one for one in test.button if one.label == "Show it above")
    assert not take.disabled
    checked(take.click().run())
    assert test.session_state["wavecluster:seed"] == 8
    assert test.query_params["seed"] == ["8"] or test.query_params["seed"] == "8"


def test_the_last_block_of_seeds_stays_in_reach(app) -> None:
    last = 2**31 - 1
    test = finished(app("wavecluster", data="incomes", g=16, seed=last), "wavecluster")
    job = test.session_state["wavecluster:draws:job"]
    assert job.result.seeds[-1] == last
    assert len(job.result.seeds) == 50


def test_centres_of_kmeans_over_draws(app) -> None:
    test = finished(app("kmeans", data="incomes", k=3, method="dplloyd"), "kmeans")
    config = KMeansConfig(method="dplloyd", clusters=3)
    draws = many_draws(
        trial_of(load_sample("incomes"), config), range(50), FAMILIES["kmeans"].swept
    )
    np.testing.assert_allclose(
        table(test)["median"], [one.median for one in draws.bands.values()], rtol=1e-9
    )


def test_the_reference_has_no_draws(app) -> None:
    test = app("wavecluster", method="wavecluster", data="incomes")
    assert "wavecluster:draws:job" not in test.session_state
    assert job_of("nothing") is None
