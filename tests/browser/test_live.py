"""The live slider and the live figure, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import streamlit as st

from dpviz.ui.widgets import live_figure as live_figure_module
from dpviz.ui.widgets import live_slider as live_slider_module
from tests.support import ROOT

DEMO = "tests/browser/demo_live.py"
COUNT_DRAWS = """() => {
  const plot = document.querySelector('.live-figure .plot');
  plot.marked = true;
  window.titles = [];
  plot.on('plotly_afterplot', () => window.titles.push(plot.layout.title.text));
}"""
#: Notes for each drawing after a run whether the next message was already sent.
COMPARE_ORDER = """() => {
  const app = document.querySelector('[data-test-script-state]');
  const { send } = WebSocket.prototype, { react } = Plotly;
  let [sent, ended] = [0, 0];
  window.sent_before = [];
  const idle = () => app.dataset.testScriptState === 'notRunning';
  new MutationObserver(() => { if (idle()) ended = performance.now(); })
    .observe(app, { attributeFilter: ['data-test-script-state'] });
  WebSocket.prototype.send = function (data) { sent = performance.now(); send.call(this, data); };
  Plotly.react = (...given) => {
    if (idle() && ended) window.sent_before.push(sent > ended);
    return react(...given);
  };
}"""
RANGES = """() => {
  const { xaxis, xaxis2, yaxis, yaxis2 } = document.querySelector('.plot')._fullLayout;
  return [xaxis, xaxis2, yaxis, yaxis2].map((axis) => axis.range.slice());
}"""


@pytest.fixture
def demo(app_url: Callable[[str], str], open_page: Callable[..., Any]) -> Callable[..., Any]:
    """Open the demo with a query and wait for its figure."""

    def open_(query: str = "", scheme: str = "light") -> Any:
        watched = open_page(f"{app_url(DEMO)}/?{query}", scheme)
        watched.page.wait_for_selector(".live-figure .gtitle")
        return watched

    return open_


def slider(watched: Any, name: str = "epsilon") -> Any:
    return watched.page.get_by_role("slider", name=name)


def title(watched: Any) -> str:
    return str(watched.page.locator(".live-figure .gtitle").text_content())


def expect_value(watched: Any, value: str, *, settled: bool = True) -> None:
    """Wait until Python, figure and slider all show `value`."""
    state = f"epsilon {float(value)!r}, settled {settled}"
    watched.page.wait_for_function(
        """([state, title]) => document.querySelector('#state')?.textContent.endsWith(state)
        && document.querySelector('.gtitle').textContent.startsWith(title + ',')""",
        arg=[state, f"epsilon {float(value):g}"],
    )
    watched.wait_idle()
    assert slider(watched).get_attribute("aria-valuetext") == value


def grab(watched: Any, at: float = 0.3) -> Any:
    """Press the mouse on the slider and return a function that moves it."""
    box = slider(watched).bounding_box()
    y = box["y"] + box["height"] / 2
    watched.page.mouse.move(box["x"] + box["width"] * at, y)
    watched.page.mouse.down()
    return lambda share: watched.page.mouse.move(box["x"] + box["width"] * share, y)


def test_drag_reports_values_while_held_and_the_last_one_after(demo: Callable[..., Any]) -> None:
    watched = demo()
    watched.page.evaluate(COUNT_DRAWS)
    move = grab(watched)
    for i in range(120):
        move(0.3 + 0.004 * i)
        watched.page.wait_for_timeout(12)
    drawn = watched.page.evaluate("new Set(window.titles).size")
    assert "settled False" in watched.page.locator("#state").text_content()
    move(0.9)
    watched.page.mouse.up()
    last = slider(watched).get_attribute("aria-valuetext")
    assert drawn >= 4, "too few values were drawn while the thumb was held"
    expect_value(watched, last)
    assert watched.errors == []


@pytest.mark.exhaustive(reason="a busy machine draws more often in the middle of a run")
def test_the_server_has_the_next_value_before_the_browser_draws(demo: Callable[..., Any]) -> None:
    watched = demo()
    watched.page.evaluate(COMPARE_ORDER)
    move = grab(watched)
    for i in range(120):
        move(0.3 + 0.004 * i)
        watched.page.wait_for_timeout(12)
    order = watched.page.evaluate("window.sent_before")
    watched.page.mouse.up()
    assert len(order) >= 4
    # A drawing in the middle of a run, and one without a new value, come before the message.
    assert sum(order) > len(order) / 2, order


@pytest.mark.exhaustive
def test_slow_runs_are_not_starved_by_a_drag(demo: Callable[..., Any]) -> None:
    watched = demo("slow=0.3")
    watched.page.evaluate(COUNT_DRAWS)
    move = grab(watched)
    for i in range(100):
        move(0.3 + 0.004 * i)
        watched.page.wait_for_timeout(20)
    drawn = watched.page.evaluate("new Set(window.titles).size")
    watched.page.mouse.up()
    assert drawn >= 2
    expect_value(watched, slider(watched).get_attribute("aria-valuetext"))


@pytest.mark.exhaustive
def test_thumb_does_not_jump_back_while_held(demo: Callable[..., Any]) -> None:
    watched = demo("slow=0.1")
    move = grab(watched)
    for i in range(40):
        move(0.3 + 0.01 * i)
        position = slider(watched).input_value()
        watched.page.wait_for_timeout(40)
        assert slider(watched).input_value() == position
    watched.page.mouse.up()


@pytest.mark.exhaustive(reason="the drag inside is released daily")
def test_release_outside_the_slider_settles(demo: Callable[..., Any]) -> None:
    watched = demo()
    move = grab(watched)
    move(0.6)
    watched.page.mouse.move(600, 700)
    watched.page.mouse.up()
    expect_value(watched, slider(watched).get_attribute("aria-valuetext"))


@pytest.mark.exhaustive(reason="messages are rarely lost; the drag checks the other messages")
def test_lost_message_is_sent_again(
    app_url: Callable[[str], str], open_page: Callable[..., Any]
) -> None:
    lose = {"next": False, "lost": 0}

    def relay(route: Any) -> None:
        server = route.connect_to_server()

        def forward(message: Any) -> None:
            if lose["next"]:
                lose.update(next=False, lost=lose["lost"] + 1)
            else:
                server.send(message)

        route.on_message(forward)

    watched = open_page(
        f"{app_url(DEMO)}/", before=lambda page: page.route_web_socket("**/_stcore/stream", relay)
    )
    watched.page.wait_for_selector(".live-figure .gtitle")
    lose["next"] = True
    box = watched.page.get_by_role("textbox", name="epsilon: exact value")
    box.fill("2.5")
    box.press("Enter")
    expect_value(watched, "2.5")
    assert lose["lost"] == 1


def test_keyboard(demo: Callable[..., Any]) -> None:
    watched = demo()
    slider(watched).focus()
    for key, value in [("ArrowRight", "1.05"), ("ArrowLeft", "1"), ("Home", "0.01"), ("End", "10")]:
        watched.page.keyboard.press(key)
        expect_value(watched, value)
    watched.page.keyboard.press("PageDown")
    watched.page.wait_for_timeout(600)
    assert float(slider(watched).get_attribute("aria-valuetext")) < 6
    assert watched.errors == []


@pytest.mark.some(1)
@pytest.mark.daily("99-10-99 is too large: at most 10", "0,5-0.5-")
@pytest.mark.parametrize(
    ("typed", "value", "said"),
    [
        ("0.123456", "0.123456", ""),
        ("99", "10", "99 is too large: at most 10"),
        ("-1", "0.01", "-1 is too small: at least 0.01"),
        ("0,5", "0.5", ""),
        ("0,540", "0.54", ""),
        ("2,5e-1", "0.25", ""),
        ("1,540", "1.54", "1,540 is read as 1.54"),
        ("1 540", "10", "1 540 is too large: at most 10"),
        ("1.234.567,8", "10", "1.234.567,8 is too large: at most 10"),
        ("12,500", "1", "12,500 is 12500 or 12.5? 1 stays"),
        ("0x2", "1", "0x2 is no number: 1 stays"),
        ("many", "1", "many is no number: 1 stays"),
        ("", "1", "1 stays"),
    ],
)
def test_typed_value(demo: Callable[..., Any], typed: str, value: str, said: str) -> None:
    watched = demo()
    box = watched.page.get_by_role("textbox", name="epsilon: exact value")
    box.fill(typed)
    box.press("Enter")
    expect_value(watched, value)
    assert box.input_value() == value
    status = watched.page.locator(".live-slider .said").first
    assert status.text_content() == said
    slider(watched).focus()
    for key in ("ArrowLeft", "ArrowRight"):  # one of these keys moves it
        watched.page.keyboard.press(key)
    assert status.text_content() == ""


def test_a_curve_that_arrives_does_not_replace_typed_text(demo: Callable[..., Any]) -> None:
    watched = demo()
    box = watched.page.get_by_role("textbox", name="epsilon: exact value")
    arrives = """() => {
      window.dpvizCurves = { "": { bands: [], lines: [], breaks: [], title: "new" } };
      window.dispatchEvent(new Event("dpviz:curves")); }"""
    box.fill("2.")
    watched.page.evaluate(arrives)
    assert watched.page.locator(".live-slider .title").first.text_content() == "new"
    box.press_sequentially("5")
    box.press("Enter")
    expect_value(watched, "2.5")
    box.fill("7")
    box.press("Escape")
    assert box.input_value() == "2.5"


def test_thousands_and_decimal_commas_are_read_as_meant(demo: Callable[..., Any]) -> None:
    source = (ROOT / "dpviz/ui/frontend/live_slider.js").read_text(encoding="utf-8")
    code = source[source.index("const GROUPED") : source.index("class LiveSlider")]
    cases = {
        "1540": [1540], "1.540": [1.54], "1,540": [1540, 1.54], "-12,5": [-12.5], ".5": [0.5],
        "1 540": [1540], "1\u202f540,25": [1540.25], "1'540": [1540], "1’234’567.5": [1234567.5],
        "1,234,567": [1234567], "1,540.5": [1540.5], "1.540,5": [1540.5], "1.234.567": [1234567],
        "0,540": [0.54], "−1,5": [-1.5], "1e3": [1000], "5,": [5], "1,54": [1.54],
        "1,2,3": [], "1,23,456": [], "12 34": [], "0x10": [], "Infinity": [], "1,": [1], ",": [],
    }  # fmt: skip
    told = demo().page.evaluate(f"texts => {{ {code}; return texts.map(readings); }}", list(cases))
    assert dict(zip(cases, told, strict=True)) == cases


@pytest.mark.exhaustive(reason="values that come back are looked at without a browser daily")
def test_program_moves_the_thumb(demo: Callable[..., Any]) -> None:
    watched = demo()
    start = slider(watched).input_value()
    for _ in range(2):  # twice, because the second reset is to the same value as the first
        slider(watched).focus()
        watched.page.keyboard.press("End")
        expect_value(watched, "10")
        watched.page.get_by_role("button", name="Reset", exact=True).click()
        expect_value(watched, "1")
        assert slider(watched).input_value() == start


@pytest.mark.exhaustive(reason="a rare order of two messages; the drag checks the usual order")
def test_reset_at_once_after_a_key_is_not_undone(demo: Callable[..., Any]) -> None:
    watched = demo()
    slider(watched).focus()
    watched.page.keyboard.press("End")
    watched.page.get_by_role("button", name="Reset", exact=True).click()
    watched.page.wait_for_timeout(1000)
    expect_value(watched, "1")


@pytest.mark.exhaustive(reason="tests/ui/test_working_state.py leaves pages and returns")
def test_value_survives_leaving_and_coming_back(demo: Callable[..., Any]) -> None:
    watched = demo()
    slider(watched).focus()
    watched.page.keyboard.press("End")
    expect_value(watched, "10")
    box = watched.page.get_by_role("checkbox", name="Show the explorer")
    for _ in range(2):
        box.locator("xpath=ancestor::label").click()
        watched.page.wait_for_selector(".live-figure", state="detached")
        watched.wait_idle()
        box.locator("xpath=ancestor::label").click()
        watched.page.wait_for_selector(".live-figure .gtitle")
        expect_value(watched, "10")
    slider(watched).focus()
    watched.page.keyboard.press("Home")
    expect_value(watched, "0.01")
    assert watched.errors == []


@pytest.mark.exhaustive(reason="a page with several sliders is moved daily")
def test_sliders_are_independent(demo: Callable[..., Any]) -> None:
    watched = demo()
    slider(watched, "seed").focus()
    watched.page.keyboard.press("ArrowRight")
    slider(watched).focus()
    watched.page.keyboard.press("ArrowRight")
    expect_value(watched, "1.05")
    assert title(watched) == "epsilon 1.05, seed 8"
    assert slider(watched, "share").get_attribute("aria-valuetext") == "20 %"


@pytest.mark.exhaustive(reason="test_explorer.py keeps its zoom daily")
def test_zoom_is_kept_and_linked_over_changes(demo: Callable[..., Any]) -> None:
    watched = demo()
    watched.page.evaluate(COUNT_DRAWS)
    before = watched.page.evaluate(RANGES)
    area = watched.page.locator(".live-figure .nsewdrag").first.bounding_box()
    watched.page.mouse.move(area["x"] + 60, area["y"] + 60)
    watched.page.mouse.down()
    watched.page.mouse.move(area["x"] + 200, area["y"] + 180, steps=8)
    watched.page.mouse.up()
    watched.page.wait_for_timeout(600)
    zoomed = watched.page.evaluate(RANGES)
    assert zoomed != before
    assert zoomed[0] == zoomed[1]
    assert zoomed[2] == zoomed[3]
    slider(watched).focus()
    for key, value in [("End", "10"), ("Home", "0.01"), ("ArrowRight", "0.0105")]:
        watched.page.keyboard.press(key)
        expect_value(watched, value)
        assert watched.page.evaluate(RANGES) == zoomed
    assert watched.page.evaluate("document.querySelector('.plot').marked")
    assert watched.errors == []


@pytest.mark.exhaustive(reason="`faultless` and test_outside_text.py count hosts on pages daily")
def test_only_the_own_host_is_asked(demo: Callable[..., Any]) -> None:
    watched = demo()
    slider(watched).focus()
    watched.page.keyboard.press("End")
    expect_value(watched, "10")
    assert watched.hosts == {"127.0.0.1"}
    assert watched.errors == []


@pytest.mark.exhaustive(reason="test_explorer.py has the dark theme daily")
def test_theme_switch_restyles_without_a_run(demo: Callable[..., Any]) -> None:
    watched = demo()
    watched.page.evaluate(COUNT_DRAWS)
    look = """() => [document.querySelector('.gtitle').style.fill,
        document.querySelector('.live-figure .main-svg').style.background,
        getComputedStyle(document.querySelector('.stApp')).backgroundColor,
        document.querySelector('.plot').marked, document.querySelector('#state').textContent]"""
    light = watched.page.evaluate(look)
    watched.page.emulate_media(color_scheme="dark")
    watched.page.wait_for_function("() => window.titles.length > 0")
    dark = watched.page.evaluate(look)
    assert light[0] != dark[0]
    assert light[1] == light[2]
    assert dark[1] == dark[2]
    assert light[2] != dark[2]
    assert dark[3:] == light[3:]
    assert watched.errors == []


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("panel", "own", "other"), [(0, "true", "private"), (1, "private", "true")]
)
def test_hover_tells_true_private_and_error(
    demo: Callable[..., Any], panel: int, own: str, other: str
) -> None:
    watched = demo()
    area = watched.page.locator(".live-figure .nsewdrag").nth(panel).bounding_box()
    watched.page.mouse.move(area["x"] + 0.4 * area["width"], area["y"] + 0.5 * area["height"])
    text = watched.page.locator(".hoverlayer .hovertext").text_content()
    number = r"(-?\d+\.\d)"
    found = re.search(rf"{own} {number}{other} {number}error {number}", text.replace("−", "-"))
    assert found, text
    values = dict(zip((own, other, "error"), map(float, found.groups()), strict=True))
    assert values["error"] == pytest.approx(values["private"] - values["true"], abs=0.11)


@pytest.mark.exhaustive(reason="tests/figures has the words of every view daily")
def test_alternative_text_and_size(demo: Callable[..., Any]) -> None:
    watched = demo()
    image = watched.page.get_by_role("img", name="True and private counts on a 32 by 32 grid")
    assert image.count() == 1
    watched.page.set_viewport_size({"width": 700, "height": 900})
    watched.page.wait_for_function(
        """() => { const plot = document.querySelector('.plot');
        return plot.clientWidth < 700 && plot._fullLayout.width === plot.clientWidth; }"""
    )
    assert watched.errors == []


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", ["PNG", "SVG"])
def test_download(demo: Callable[..., Any], kind: str) -> None:
    watched = demo()
    watched.page.locator(".live-figure").hover()
    with watched.page.expect_download() as waiting:
        watched.page.locator(f".modebar-btn[data-title='Download as {kind}']").click()
    assert waiting.value.suggested_filename == f"counts.{kind.lower()}"
    assert watched.hosts == {"127.0.0.1"}


@pytest.mark.exhaustive(reason="the sentence for a failed download, which rarely changes")
def test_missing_plotly_is_said_in_a_sentence(
    app_url: Callable[[str], str], open_page: Callable[..., Any]
) -> None:
    watched = open_page(
        f"{app_url(DEMO)}/",
        before=lambda page: page.route("**/plotly.min.js*", lambda r: r.abort()),
    )
    watched.page.get_by_text("This chart could not be drawn").wait_for()
    slider(watched).focus()
    watched.page.keyboard.press("End")
    watched.page.wait_for_function(
        "document.querySelector('#state').textContent.includes('epsilon 10.0, settled True')"
    )


# ---- the player


def player(watched: Any, playing: bool = False) -> Any:
    name = "Pause stage" if playing else "Play stage"
    return watched.page.get_by_role("button", name=name)


def stage(watched: Any) -> str:
    return str(watched.page.locator("#stage").text_content())


def expect_stage(watched: Any, words: str) -> None:
    watched.page.wait_for_function(
        "words => document.querySelector('#stage')?.textContent.includes(words)", arg=words
    )


@pytest.mark.exhaustive
def test_play_shows_every_step_and_ends_settled(demo: Callable[..., Any]) -> None:
    watched = demo("play=3&slow=0.4")
    expect_stage(watched, "stage 3, settled True")
    assert watched.page.get_by_role("button", name=re.compile("^Play")).count() == 1
    player(watched).click()
    player(watched, playing=True).wait_for()
    expect_stage(watched, "settled False")
    expect_stage(watched, "stage 3, settled True")
    player(watched).wait_for()
    # From the end, the player starts again. The player does not skip a step, even if a run is slow.
    assert stage(watched).endswith("seen 3 0 1 2 3")
    assert slider(watched, "stage").get_attribute("aria-valuetext") == "3"
    # From any other position, the player continues.
    slider(watched, "stage").focus()
    watched.page.keyboard.press("ArrowLeft")
    watched.page.keyboard.press("ArrowLeft")
    expect_stage(watched, "stage 1, settled True")
    player(watched).focus()
    watched.page.keyboard.press("Enter")
    expect_stage(watched, "stage 3, settled True")
    assert stage(watched).endswith("1 2 3")
    assert watched.errors == []


@pytest.mark.exhaustive
def test_a_click_a_key_and_a_drag_pause_the_player(demo: Callable[..., Any]) -> None:
    watched = demo("play=30")
    for pause in ("click", "key", "drag"):
        player(watched).click()
        expect_stage(watched, "settled False")
        watched.page.wait_for_timeout(800)
        if pause == "click":
            player(watched, playing=True).click()
        elif pause == "key":
            slider(watched, "stage").focus()
            watched.page.keyboard.press("ArrowRight")
        else:
            box = slider(watched, "stage").bounding_box()
            middle = box["y"] + box["height"] / 2
            watched.page.mouse.move(box["x"] + 0.4 * box["width"], middle)
            watched.page.mouse.down()
            player(watched).wait_for()
            watched.page.mouse.move(box["x"] + 0.6 * box["width"], middle, steps=4)
            watched.page.mouse.up()
        player(watched).wait_for()
        watched.page.wait_for_timeout(800)  # until a pressed key counts as settled
        expect_stage(watched, "settled True")
        stopped = stage(watched)
        watched.page.wait_for_timeout(1600)  # two steps' time
        assert stage(watched) == stopped
    assert "stage 18," in stopped
    assert watched.errors == []


@pytest.mark.exhaustive
def test_a_step_of_the_player_does_not_undo_what_the_program_sets(demo: Callable[..., Any]) -> None:
    """A step that is sent during another run also sends the older states of the widgets."""
    watched = demo("play=30&slow=0.8")
    box = watched.page.get_by_role("spinbutton", name="native")
    box.fill("5")
    box.press("Enter")
    expect_stage(watched, "native 5")
    watched.wait_idle()
    player(watched).click()
    expect_stage(watched, "stage 1, settled False")
    watched.wait_idle()
    # The time of the next step is during the run of this click.
    watched.page.get_by_role("button", name="Reset", exact=True).click()
    expect_stage(watched, "stage 30")
    watched.wait_idle()
    watched.page.wait_for_timeout(1600)  # two steps' time
    watched.wait_idle()
    assert "stage 30, settled True" in stage(watched)
    assert player(watched).count() == 1
    assert "native 0" in stage(watched)
    assert box.input_value() == "0"


@pytest.mark.exhaustive
def test_a_typed_value_wins_over_the_player(demo: Callable[..., Any]) -> None:
    watched = demo("play=30")
    player(watched).click()
    expect_stage(watched, "stage 1, settled False")
    box = watched.page.get_by_role("textbox", name="stage: exact value")
    box.click()
    box.fill("25")
    watched.page.wait_for_timeout(1600)  # two steps' time
    assert box.input_value() == "25"
    box.press("Enter")
    expect_stage(watched, "stage 25, settled True")
    assert player(watched).count() == 1


# ---- the Python side alone


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace the session state and the browser; ``sent`` contains the messages to the browser."""
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    monkeypatch.setattr(live_slider_module, "_mount", lambda **kwargs: state.update(sent=kwargs))
    return state


def run(**changes: Any) -> live_slider_module.LiveValue:
    arguments: dict[str, Any] = {"key": "e", "value": 1.0, "low": 0.1, "high": 10}
    return live_slider_module.live_slider("e", **{**arguments, **changes})


def say(state: dict[str, Any], value: Any, seq: Any = 1, **more: Any) -> None:
    epoch = state["sent"]["data"]["epoch"]
    message = {"value": value, "seq": seq, "epoch": epoch, "dragging": False, **more}
    state["e::input"] = {"state": message}


def test_messages_are_taken_once(bare: dict[str, Any]) -> None:
    assert run() == (1.0, True)
    say(bare, 3, dragging=True)
    assert run() == (3.0, False)
    assert bare["e"] == 3.0
    assert bare["sent"]["data"]["ack"] == 1
    bare["e"] = 2.0
    assert run() == (2.0, True)
    assert run() == (2.0, True)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "5", True, [5], {"a": 1}])
def test_nonsense_from_the_browser_is_ignored(bare: dict[str, Any], value: Any) -> None:
    run()
    say(bare, value)
    assert run() == (1.0, True)
    say(bare, 4, seq="2")
    assert run() == (1.0, True)
    say(bare, 4, seq=2, epoch=-1)
    assert run() == (1.0, True)
    assert bare["sent"]["data"]["ack"] == 2


def test_values_are_brought_into_the_range(bare: dict[str, Any]) -> None:
    assert run(value=1000).value == 10
    say(bare, -5)
    assert run(value=1000).value == 0.1
    bare["e"] = 7.6
    assert run(value=1000, integer=True).value == 8


def test_changed_value_wins_but_fed_back_value_does_not(bare: dict[str, Any]) -> None:
    run()
    say(bare, 3)
    assert run().value == 3
    say(bare, 4, seq=2)
    assert run(value=3).value == 4  # the app passes the last value that it got
    assert run(value=2).value == 2  # a deep link
    del bare["e"]
    assert run(value=5).value == 5


@pytest.mark.parametrize("message_first", [False, True])
def test_what_the_program_sets_in_the_same_run_wins(
    bare: dict[str, Any], message_first: bool
) -> None:
    # A click on Reset and the slider's last message may reach the server in one run. Then their
    # callbacks run in any order.
    run()
    say(bare, 10, dragging=True)
    assert run() == (10.0, False)
    say(bare, 10, seq=2)
    callbacks = [lambda: bare.update(e=1.0), bare["sent"]["on_state_change"]]
    for callback in callbacks[:: -1 if message_first else 1]:
        callback()
    assert run() == (1.0, True)
    assert bare["sent"]["data"]["ack"] == 2
    say(bare, 10, seq=3, epoch=0)  # sent before the browser received the reset
    assert run() == (1.0, True)


def test_a_page_left_while_dragging_is_settled(bare: dict[str, Any]) -> None:
    run()
    say(bare, 3, dragging=True)
    assert not run().settled
    del bare["e::input"]
    assert run() == (3.0, True)


def test_only_a_slider_that_asks_for_it_has_a_player(bare: dict[str, Any]) -> None:
    run()
    assert bare["sent"]["data"]["spec"]["play"] is False
    run(play=True)
    assert bare["sent"]["data"]["spec"]["play"] is True


def decode(payload: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    length = int.from_bytes(payload[:4], "little")
    head = json.loads(payload[4 : 4 + length])
    arrays = {}
    for place in head["arrays"]:
        start = 4 + length + place["offset"]
        assert start % 8 == 0
        count = int(np.prod(place["shape"]))
        array = np.frombuffer(payload, "<" + place["type"], count, start)
        arrays["/".join(map(str, place["path"]))] = array.reshape(place["shape"])
    return head, arrays


def test_payload_holds_figure_and_arrays() -> None:
    z = np.arange(6, dtype=np.float32).reshape(2, 3)
    line = {"type": "scatter", "x": np.arange(3), "y": [1, 2, 3], "text": ["a", "b"]}
    figure = {"data": [{"type": "heatmap", "z": z}, line], "layout": {"title": {"text": "counts"}}}
    head, arrays = decode(live_figure_module.encode(figure, {"alt": "x"}))
    np.testing.assert_array_equal(arrays["data/0/z"], z)
    np.testing.assert_array_equal(arrays["data/1/x"], [0, 1, 2])
    assert arrays["data/0/z"].dtype == np.float32
    assert head["figure"]["layout"] == {"title": {"text": "counts"}}
    assert head["figure"]["data"][1]["text"] == ["a", "b"]
    assert head["alt"] == "x"


def test_payload_has_a_digest_and_no_template() -> None:
    z = np.ones((2, 2))
    plain = {"data": [{"type": "heatmap", "z": z}], "layout": {"template": {"layout": {}}}}
    head, arrays = decode(live_figure_module.encode(plain, {}))
    np.testing.assert_array_equal(arrays["data/0/z"], z)
    assert head["figure"]["layout"] == {}
    changed = {**plain, "data": [{"type": "heatmap", "z": z + 1}]}
    assert decode(live_figure_module.encode(changed, {}))[0]["digest"] != head["digest"]
