"""Results and estimators display themselves, with the table behind the figure."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io
import pytest

import dpviz
from dpviz import Display, InputError
from dpviz.audit import audit
from dpviz.audit.membership import membership_experiment
from dpviz.data.samples import load_sample
from dpviz.experiments.draws import many_draws
from dpviz.experiments.tuning.best_parameters import best_parameters
from dpviz.experiments.tuning.null_set import null_clusters
from dpviz.experiments.tuning.smallest_epsilon import Target, smallest_epsilon
from dpviz.families import CARDS, trial_of
from dpviz.figures.registry import PICTURES
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.truth import run

ESTIMATORS = [getattr(dpviz, card.estimator) for card in CARDS.values()]
SETTINGS = Config(method="privqt", grid=16)


def incomes() -> pd.DataFrame:
    data = load_sample("incomes")
    return pd.DataFrame(data.points[:400], columns=["age", "income"])


@pytest.fixture(scope="module")
def fitted():
    points = incomes()
    domain = dpviz.Domain.from_data(points.to_numpy())

    def fit(kind, **given):
        return kind(domain=domain, **given).fit(points)

    return fit


def results() -> dict[str, object]:
    data = load_sample("incomes")
    kmeans = KMeansConfig(method="dplloyd", clusters=3)
    over = {"epsilon": (0.5, 2), "iterations": (1, 3)}
    seeds = (0, 1, 2)
    return {
        "draws": many_draws(trial_of(data, SETTINGS), seeds, ("dsg_c", "clusters")),
        "smallest epsilon": smallest_epsilon(data, SETTINGS, Target("dsg_c", "<=", 1), seeds=seeds),
        "best parameters": best_parameters(data, kmeans, "nicv_ratio", over, seeds=seeds),
        "null set": null_clusters(SETTINGS, 100, seeds),
        "audit": audit("privqt", runs=200),
        "membership": membership_experiment("privthr", draws=50),
    }


def test_every_result_has_its_table_and_its_figure():
    for name, result in results().items():
        table, light, dark = result.frame(), result.figure(), result.figure("dark")
        assert len(table) > 0, name
        assert isinstance(light, go.Figure), name
        assert len(light.data) == len(dark.data) > 0, name
        assert light.to_json() != dark.to_json(), name


@pytest.mark.some(4)
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_estimator_is_shown_beside_the_true_run(kind, fitted):
    model = fitted(kind)
    display = Display.from_estimator(model, incomes())
    assert "age" in str(display.figure().to_json())
    assert len(display.frame()) > 0
    assert "not private" in display.figure().layout.title.text


def test_the_private_side_is_what_the_estimator_found(fitted):
    model = fitted(dpviz.PrivTHR, epsilon=0.5, grid=8, random_state=3)
    shown = Display.from_estimator(model, incomes())
    private = shown.frame()
    np.testing.assert_array_equal(
        private["private significant"].to_numpy(bool), model.significant_.ravel()
    )
    truth = shown.trial.truth
    again = run(truth.source, model.config_, SeededNoise(3))
    np.testing.assert_array_equal(again.stages.labels, model.label_grid_)
    np.testing.assert_array_equal(
        private["true significant"].to_numpy(bool), truth.stages.significant.ravel()
    )


def test_all_views_can_be_chosen_and_others_are_refused(fitted):
    model = fitted(dpviz.Baseline, grid=8)
    for view in PICTURES["wavecluster"].VIEWS:
        assert Display.from_estimator(model, incomes(), view=view).figure().data
    with pytest.raises(InputError, match='view = "regions" is unknown: choose one of clusters'):
        Display.from_estimator(model, incomes(), view="regions")


def test_three_columns_are_no_picture_of_a_grid():
    points = np.random.default_rng(0).random((50, 3))
    model = dpviz.PrivQT(grid=4, domain="0,1;0,1;0,1").fit(points)
    with pytest.raises(InputError, match="two columns"):
        Display.from_estimator(model, points).figure()


def test_a_notebook_gets_the_figure(fitted, monkeypatch):
    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")
    display = Display.from_estimator(fitted(dpviz.PrivTHR, grid=8), incomes())
    bundle = display._repr_mimebundle_()
    shown = bundle["application/vnd.plotly.v1+json"]
    assert json.dumps(shown["data"]) == json.dumps(json.loads(display.figure().to_json())["data"])


def test_an_estimator_has_a_page_of_its_own(fitted):
    assert "PrivTHR" in fitted(dpviz.PrivTHR, grid=8)._repr_html_()


def test_results_need_no_plotly_before_they_are_shown():
    program = (
        "import sys, dpviz.experiments.draws, dpviz.experiments.tuning.null_set, dpviz.audit.runs\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'plotly'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def around_leipzig(columns: list[str]) -> pd.DataFrame:
    points = np.random.default_rng(0).normal((51.3, 12.3), (0.1, 0.2), (2000, 2))
    return pd.DataFrame(points, columns=["lat", "lon"])[columns]


def shown(estimator, columns: list[str]) -> Display:
    domain = {"lat": (51, 52), "lon": (12, 13)}
    table = around_leipzig(columns)
    estimator.set_params(domain=[domain[name] for name in columns], random_state=0).fit(table)
    display = Display.from_estimator(estimator, table)
    layout = display.figure().layout
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == ("lon", "lat")
    assert (layout.xaxis.range, layout.yaxis.range) == ((12, 13), (51, 52))
    return display


def test_a_grid_has_longitude_to_the_right_in_either_order():
    model = dpviz.PrivTHR(grid=(8, 16), level=1)
    frame = shown(model, ["lat", "lon"]).frame()
    other = shown(dpviz.PrivTHR(grid=(16, 8), level=1), ["lon", "lat"]).frame()
    places = frame[["lon", "lat"]]
    pd.testing.assert_frame_equal(places, other[["lon", "lat"]])
    np.testing.assert_array_equal(frame["true cluster"] > 0, other["true cluster"] > 0)
    np.testing.assert_array_equal(
        frame["private cluster"] > 0, model.predict(places[["lat", "lon"]]) >= 0
    )


@pytest.mark.exhaustive(reason="the test above has the order of columns daily, for a grid")
def test_centres_have_longitude_to_the_right_in_either_order():
    for columns in (["lat", "lon"], ["lon", "lat"]):
        model = dpviz.EUGkM(n_clusters=2)
        figure = shown(model, columns).figure()
        centers = pd.DataFrame(model.cluster_centers_, columns=columns)[["lon", "lat"]]
        drawn = [np.column_stack([one.x, one.y]) for one in figure.data if one.type == "scatter"]
        assert any(
            np.allclose(np.sort(one, axis=0), np.sort(centers, axis=0), atol=1e-4)
            for one in drawn
            if one.shape == (2, 2)
        )
