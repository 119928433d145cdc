"""The curves under the sliders of the explorers, without a browser."""

from __future__ import annotations

import html
import json
import re
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from dpviz.experiments.sweep import summary
from dpviz.families import SCORES
from dpviz.metrics.bands import Band
from dpviz.ui.explorer import curve as module
from dpviz.ui.explorer import large_curve
from dpviz.ui.explorer.wavecluster import WaveClusterExplorer
from tests.support import APP
from tests.support.tiers import daily
from tests.ui.test_wavecluster import checked

PATIENCE = 60

#: A small sample set, so that draws are quick.
DATA = "tiny8"


@pytest.fixture(autouse=True)
def filled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Curves are filled here, and no thread may outlive its test."""
    monkeypatch.setattr(module, "FILLS", True)
    yield
    for thread in threading.enumerate():
        if thread.name == "dpviz job":
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.fixture
def app() -> Callable[..., AppTest]:
    def open_app(page: str = "wavecluster", **link: object) -> AppTest:
        test = AppTest.from_file(APP, default_timeout=120)
        for name, value in {"data": DATA, **link}.items():
            test.query_params[name] = str(value)
        test.switch_page(f"pages/{page}.py")
        return finished(checked(test.run()), page)

    return open_app


def finished(test: AppTest, page: str = "wavecluster") -> AppTest:
    name = f"{page}:curve job"
    if name in test.session_state:
        assert test.session_state[name].wait(PATIENCE)
        assert not test.session_state[name].error
    return checked(test.run())


def drawn(test: AppTest) -> dict[str, Any]:
    """What the browser gets: a curve by the key of its slider."""
    for one in test.get("bidi_component"):
        if one.proto.component_name == "dpviz_curve":
            return json.loads(one.proto.json)[0]
    return {}


def table(shown: dict[str, Any]) -> pd.DataFrame:
    head, *rows = [
        [html.unescape(cell) for cell in re.findall("<t[hd]>(.*?)</t[hd]>", row)]
        for row in re.findall("<tr>(.*?)</tr>", shown["table"])
    ]
    return pd.DataFrame(rows, columns=head).set_index(head[0])


@pytest.mark.parametrize(
    ("page", "method", "score"),
    daily(
        [("wavecluster", "privthr", "dsg_c"), ("kmeans", "dplloyd", "nicv_ratio")],
        lambda one: one[0] == "wavecluster",
    ),
)
def test_the_curve_has_the_numbers_of_compare(app, page: str, method: str, score: str) -> None:
    test = app(page, method=method)
    shown = drawn(test)[f"{page}:epsilon"]
    link = {"methods": method, "score": score, "epsilons": "0.01,0.1,1"}
    other = AppTest.from_file(APP, default_timeout=120)
    for name, value in {"data": DATA, **link}.items():
        other.query_params[name] = str(value)
    other.switch_page("pages/compare.py")
    checked(other.run())
    assert other.session_state["compare:job"].wait(PATIENCE)
    checked(other.run())
    rows = other.session_state["compare:found"]._table
    assert set(rows["seed"]) == set(range(20))
    compared = summary(rows, score).set_index("epsilon")[["mean", "median", "low", "high"]]
    numbers = table(shown).iloc[:, 0]
    for epsilon in (0.01, 0.1, 1.0):
        said = module._number(Band(**compared.loc[epsilon]), ("median",))
        assert numbers[f"{epsilon:g}"] == said
    # The title has the ends of the axis, not a present value.
    assert re.fullmatch(rf"{SCORES[score].short}: [01] \(best\) to [\d.]+", shown["title"])


@given(
    st.lists(
        st.lists(st.floats(0, 1), min_size=2, max_size=9).map(lambda ys: [*enumerate(ys)]),
        max_size=3,
    )
)
def test_the_title_is_in_the_corner_that_the_lines_leave_free(lines) -> None:
    side, end = module._free_corner([("first", points) for points in lines]).split()

    def space(side: str, end: str) -> float:
        ys = [
            y
            for points in lines
            for at, y in points
            if (2 * at <= len(points) - 1 if side == "left" else 2 * at >= len(points) - 1)
        ]
        return 1 - max(ys, default=0) if end == "top" else min(ys, default=0)

    assert all(
        space(side, end) >= space(one, other)
        for one in ("left", "right")
        for other in ("top", "bottom")
    )


def test_one_draw_is_not_drawn_as_a_curve_of_another_setting(app) -> None:
    test = app(method="privthr")
    before = drawn(test)["wavecluster:epsilon"]
    test.session_state["wavecluster:epsilon"] = 0.3
    moved = drawn(checked(test.run()))["wavecluster:epsilon"]
    # The large form shows the chosen value.
    assert moved.pop("large") != before.pop("large")
    assert moved == before
    test.session_state["wavecluster:p"] = 0.9
    after = drawn(finished(checked(test.run())))["wavecluster:epsilon"]
    assert after["table"] != before["table"]


def test_a_second_method_lies_over_the_first_and_is_in_the_link(app) -> None:
    test = app(method="privthr", **{"with": "privqt"})
    shown = drawn(test)["wavecluster:epsilon"]
    assert [kind for kind, _ in shown["lines"]] == ["first", "second"]
    assert "PrivTHR" in shown["words"]
    assert "PrivQT" in shown["words"]
    assert test.query_params["with"] == "privqt"
    alone = drawn(app(method="privqt"))["wavecluster:epsilon"]
    assert list(table(shown).iloc[:, 3]) == list(table(alone).iloc[:, 0])
    # The method on the screen is not compared with itself.
    same = drawn(app(method="privqt", **{"with": "privqt"}))["wavecluster:epsilon"]
    assert [kind for kind, _ in same["lines"]] == ["first"]


def test_the_large_form_names_its_axes_its_methods_and_the_chosen_value(app) -> None:
    large = drawn(app(method="privthr", epsilon=0.3, **{"with": "privqt"}))
    large = large["wavecluster:epsilon"]["large"]
    texts = re.findall("<text[^>]*>(.*?)</text>", large)
    assert {"0.01", "0.1", "1", "10", "Privacy budget ε", "Wrong cells per true cell"} <= {*texts}
    for named in ("PrivTHR (median)", "PrivQT (median)", "5% to 95% of draws", "chosen: ε 0.3"):
        assert f"</svg>{named}</span>" in large
    # The line of the chosen value is between the ticks 0.2 and 0.5.
    ticks = {text: float(x) for x, text in re.findall('<text x="([^"]*)"[^>]*>([^<]*)<', large)}
    (here,) = re.findall('class="here" d="M([0-9.]+) 14V', large)
    assert ticks["0.2"] < float(here) < ticks["0.5"]


@pytest.mark.parametrize(
    ("ends", "found"),
    [((0.0, 0.62), (0, 0.2, 0.4, 0.6)), ((0.0, 40.0), (0, 10, 20, 30, 40))],
)
def test_ticks_are_round_and_in_the_range(ends, found) -> None:
    assert large_curve._evenly(*ends) == pytest.approx(found)


def test_ticks_of_a_short_logarithmic_axis_are_its_ends() -> None:
    assert large_curve._logs(1.01, 1.1, (1, 2, 5)) == [1.01, 1.1]
    assert large_curve._logs(0.01, 10, (1, 2, 5)) == pytest.approx(
        [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
    )


def test_means_or_medians(app) -> None:
    median = drawn(app(method="privthr"))["wavecluster:epsilon"]
    mean = drawn(app(method="privthr", line="mean"))["wavecluster:epsilon"]
    both = drawn(app(method="privthr", line="both"))["wavecluster:epsilon"]
    assert median["lines"] != mean["lines"]
    assert [kind for kind, _ in both["lines"]] == ["first", "first thin"]
    assert "mean" in mean["words"]
    assert "median and" in median["words"]


def test_a_domain_that_spans_the_data_is_not_private_on_the_curve(app) -> None:
    assert "not private" not in json.dumps(drawn(app(method="privthr")))
    shown = drawn(app(method="privthr", domain="data"))["wavecluster:epsilon"]
    assert shown["title"].startswith("not private")
    assert "PrivTHR, not private" in shown["words"]


def test_a_method_without_noise_has_no_curve(app) -> None:
    assert drawn(app(method="wavecluster")) == {}
    assert "wavecluster:curve job" not in app(method="wavecluster").session_state


def test_a_slider_that_was_used_gets_its_curve(app) -> None:
    test = app(method="privthr")
    assert set(drawn(test)) == {"wavecluster:epsilon"}
    test.session_state["live_slider:focused"] = "wavecluster:alpha"
    shown = drawn(finished(checked(test.run())))
    assert set(shown) == {"wavecluster:epsilon", "wavecluster:alpha"}
    assert shown["wavecluster:alpha"]["table"].startswith("<table><tr><th>α<")


def test_a_drag_takes_only_the_curves_away_that_it_changes(app, monkeypatch) -> None:
    test = app(method="privthr")
    test.session_state["live_slider:focused"] = "wavecluster:p"
    test = finished(checked(test.run()))
    known = test.session_state["wavecluster:curves shown"]
    assert set(known) == {"wavecluster:epsilon", "wavecluster:p"}
    job = test.session_state["wavecluster:curve job"]
    monkeypatch.setattr(WaveClusterExplorer, "play", lambda *given: False)  # a slider is dragged
    # The browser keeps its curves, so nothing is sent.
    test.session_state["wavecluster:seed"] = 5
    assert drawn(checked(test.run())) == {}
    assert test.session_state["wavecluster:curves shown"] == known
    # The curve over p stays, because it does not depend on the p of the slider.
    test.session_state["wavecluster:p"] = 0.9
    assert set(drawn(checked(test.run()))) == {"wavecluster:p"}
    assert test.session_state["wavecluster:curve job"] is job


def test_an_interrupted_job_waits_for_further_changes_before_it_goes_on(app, monkeypatch) -> None:
    waits = []

    def start(key: str, task: object, *, request: object, after: float) -> SimpleNamespace:
        waits.append(after)
        job = SimpleNamespace(request=request, running=False, cancelled=True, error="")
        job.wait, job.cancel = lambda _: True, lambda: None
        st_session[key] = job
        return job

    st_session = module.st.session_state
    monkeypatch.setattr(module, "start", start)
    # The first run, and one run more with the same curve, which no other test has filled.
    test = app(method="privthr", p=0.83)
    test.session_state["wavecluster:g"] = 16
    checked(test.run())
    assert waits == [module._PATIENCE, module._AGAIN, module._PATIENCE]
    assert module._PATIENCE < module._AGAIN
