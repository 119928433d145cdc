"""Every step of every lesson in a browser: each task is done by hand; both sheets are A4 pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpviz.teaching.lessons.shelf import shelf
from dpviz.ui.learn.bars import Bars
from dpviz.ui.learn.facts import Look
from dpviz.ui.learn.page import KNOWN
from dpviz.ui.learn.pictures import picture_of
from dpviz.ui.learn.step_state import start_of
from dpviz.ui.learn.texts import sheet

LESSONS, _ = shelf(KNOWN)

#: For each fact except epsilon, the label of its slider.
SLIDERS = {"alpha": "Counts' share"}


@pytest.fixture
def first(app_url: Callable, open_page: Callable, faultless: Callable):
    """Open a page of the app in a new browser."""

    def open_(path: str, **looks):
        return faultless(open_page(f"{app_url('app.py')}/{path}", **looks))

    return open_


def settled(watched, title: str) -> None:
    """Wait until a step and its picture are drawn."""
    watched.page.locator(".dpv-lesson h2", has_text=title).wait_for()
    watched.page.wait_for_selector(".gtitle")
    watched.wait_idle()


def do(watched, step) -> None:
    """Do a step's task by hand."""
    page = watched.page
    if "seed" in step.wanted.names:
        page.get_by_role("button", name="Throw again").click()
    else:
        name = next((SLIDERS[one] for one in SLIDERS if one in step.wanted.names), "Privacy budget")
        slider = page.get_by_role("slider", name=name)
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        y = box["y"] + box["height"] / 2
        end = 0.02 if "left" in step.task or "or less" in step.task else 0.98
        page.mouse.move(box["x"] + 0.5 * box["width"], y)
        page.mouse.down()
        for part in range(1, 11):
            share = 0.5 + (end - 0.5) * part / 10
            page.mouse.move(box["x"] + share * box["width"], y)
            page.wait_for_timeout(40)
        page.mouse.up()
    page.locator(".dpv-task.dpv-done").wait_for()


@pytest.mark.exhaustive(reason="tests/ui/test_learn.py goes through each lesson")
# tests/ui/test_learn.py compares the text of each step with the picture of the step. These two
# lessons have all kinds of tasks: epsilon, a slider of a method, another draw.
@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_walked_through_by_keys_and_each_task_is_done(first, name):
    lesson = LESSONS[name]
    watched = first(f"learn?lesson={name}", height=1400)
    for number, step in enumerate(lesson.steps, 1):
        settled(watched, step.title)
        assert f"step={number}" in watched.page.url or number == 1
        assert watched.page.get_by_text("This link was corrected").count() == 0
        assert "…" not in watched.page.locator(".dpv-lesson").text_content()
        if step.wanted:
            assert watched.page.locator(".dpv-task.dpv-done").count() == 0
            do(watched, step)
        if step.page:
            title = step.page.partition("?")[0].capitalize()
            place = watched.page.get_by_role("link", name="Evidence").bounding_box()
            watched.page.get_by_role("link", name=f"Open the page {title}").click()
            watched.page.wait_for_function(f"() => document.title === '{title} · dpviz'")
            watched.wait_idle()
            assert watched.page.get_by_text("This link was corrected").count() == 0
            # On a page with a sidebar, the links of the navigation do not move.
            assert watched.page.get_by_role("link", name="Evidence").bounding_box() == place
            watched.page.go_back()
            settled(watched, step.title)
        if number < len(lesson.steps):
            watched.page.locator(".dpv-lesson h2").click()  # no control has the focus
            watched.page.keyboard.press("j")
    if len(lesson.steps) > 1:
        watched.page.locator(".dpv-lesson h2").click()
        watched.page.keyboard.press("k")
        settled(watched, lesson.steps[-2].title)
        # The browser's Back button leads to the last step.
        watched.page.go_back()
        settled(watched, lesson.steps[-1].title)
    after = [*LESSONS, None][list(LESSONS).index(name) + 1]
    if after:
        watched.page.get_by_role("button", name="Next lesson").click()
        settled(watched, LESSONS[after].steps[0].title)
    else:
        assert watched.page.get_by_role("button", name="Next").is_disabled()


@pytest.mark.exhaustive(reason="test_stage.py uses a clicker on a page with controls")
def test_keys_of_a_clicker_work_after_every_control_was_touched(first):
    lesson = LESSONS["split-budget"]
    watched = first("learn?lesson=split-budget&projector=on")
    page = watched.page
    titles = [one.title for one in lesson.steps]

    def goes(key: str, to: int) -> None:
        page.keyboard.press(key)
        settled(watched, titles[to])

    settled(watched, titles[0])
    slider = page.get_by_role("slider", name="Privacy budget")
    slider.focus()
    for key, to in (("PageDown", 1), ("PageUp", 0), ("j", 1), ("k", 0)):
        goes(key, to)
        slider.focus()
    # A slider that was reached by the keyboard keeps its arrows.
    before = slider.input_value()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "([one, old]) => one.value !== old", arg=[slider.element_handle(), before]
    )
    assert page.locator(".dpv-lesson h2", has_text=titles[0]).is_visible()
    # After a touch by hand on a projector, all keys belong to the clicker.
    for key, to in ((" ", 1), ("ArrowLeft", 0), ("ArrowRight", 1), ("ArrowUp", 0)):
        slider.click()
        watched.wait_calm()
        goes(key, to)
    page.get_by_test_id("stCheckbox").filter(has_text="Projector").click()
    page.wait_for_url("**projector=off**")
    goes("PageDown", 1)


@pytest.mark.exhaustive
def test_a_projector_shows_large_type_and_no_more_than_the_lesson(first):
    watched = first("learn?lesson=one-person&step=4", height=720)
    settled(watched, LESSONS["one-person"].steps[3].title)
    tick = watched.page.locator(".live-figure .xtick text").first
    size = "(one) => parseFloat(getComputedStyle(one).fontSize)"
    before = tick.evaluate(size)
    watched.page.get_by_test_id("stCheckbox").filter(has_text="Projector").click()
    watched.page.wait_for_url("**projector=on**")
    watched.wait_idle()
    ticks = "document.querySelector('.live-figure .xtick text')"
    watched.page.wait_for_function(f"() => ({size})({ticks}) > {1.2 * before}")
    text = watched.page.locator(".dpv-lesson p").first
    assert text.evaluate(size) >= 20
    shown = watched.page.locator(".dpv-card .dpv-label").filter(visible=True)
    assert shown.all_text_contents() == [
        "Found",
        "Area that differs",
        "A guess on one record of yours",
    ]
    assert not watched.page.get_by_role("link", name="Compare").is_visible()
    assert not watched.page.get_by_text("Find parameters").is_visible()
    watched.page.locator(".dpv-lesson h2").click()
    watched.page.keyboard.press("j")
    settled(watched, LESSONS["one-person"].steps[4].title)
    assert text.evaluate(size) >= 20


@pytest.mark.exhaustive(reason="tests/ui/test_learn.py reads the sheets daily")
def test_sheets_fit_on_a4_and_are_saved(first, chromium):
    context = chromium.new_context(viewport={"width": 673, "height": 1000})  # 178 mm
    page = context.new_page()
    page.emulate_media(media="print")
    for lesson in LESSONS.values():
        links = ["http://192.168.100.100:8501/learn?lesson=x&step=1"] * len(lesson.steps)
        pictures = [picture_of(Look(start_of(lesson.steps[0]), lesson.steps[0].explorer))]
        for teacher in (False, True):
            bars = [Bars(title="Cells", names=("one", "two"), rows=[("a row", (3, 40))]).html()]
            page.set_content(
                sheet(
                    lesson,
                    [{}] * len(links),
                    bars * len(links),
                    pictures * len(links),
                    links,
                    teacher=teacher,
                )
            )
            wide = page.evaluate(
                "() => [...document.querySelectorAll('body,body *')]"
                ".filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth).length"
            )
            assert wide == 0
    assert page.pdf(format="A4").startswith(b"%PDF")
    context.close()
    watched = first("learn?lesson=by-hand&step=1", height=1400)
    settled(watched, LESSONS["by-hand"].steps[0].title)
    watched.page.get_by_text("For a class", exact=True).click()
    for button, sign in (("Worksheet", "What I saw:"), ("Teacher's sheet", "☑")):
        with watched.page.expect_download() as saved:
            watched.page.get_by_role("button", name=button).click()
        text = saved.value.path().read_text(encoding="utf-8")
        assert sign in text
        assert "…" not in text
