"""The audit page in a real Chromium."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from dpviz.audit import scenarios
from tests.browser.test_explorer import expect_title as expect_explorer
from tests.support.tiers import daily

# Titles of all figures on the page, in order.
TITLES = "() => [...document.querySelectorAll('.gtitle')].map(one => one.textContent)"
ALL = len(scenarios())
# The text of each box whose text is cut off.
CUT = """() => [...document.querySelectorAll(
    '[data-testid=stMain] [data-testid=stSelectbox] input, [data-testid=stMain] button')]
  .filter(node => node.clientWidth && node.scrollWidth > node.clientWidth + 1)
  .map(node => node.value || node.textContent)"""
PAPERS = """() => [...document.querySelectorAll('.js-plotly-plot')]
  .map(plot => plot._fullLayout.paper_bgcolor)"""


@pytest.fixture
def auditor(app_url: Callable, open_page: Callable, faultless: Callable):
    def open_(scheme: str = "light"):
        watched = open_page(app_url("app.py"), scheme)
        watched.page.wait_for_selector(".gtitle", state="attached")
        watched.go("Audit")
        expect_title(watched, "draws on each side")
        watched.wait_idle()
        return faultless(watched)

    return open_


def expect_title(watched, fragment: str) -> None:
    watched.page.wait_for_function(
        f"text => ({TITLES})().some(one => one.includes(text))", arg=fragment
    )


def button(watched, name: str):
    return watched.page.get_by_role("button", name=name)


def type_number(watched, name: str, value: int) -> None:
    box = watched.page.get_by_role("spinbutton", name=name)
    box.fill(str(value))
    box.press("Enter")
    watched.page.wait_for_function("value => location.search.includes(value)", arg=f"={value}")
    watched.wait_idle()


@pytest.mark.exhaustive
def test_the_story_tells_itself(auditor):
    watched = auditor()
    expect_title(watched, "WaveCluster, no noise")
    expect_title(watched, "PrivTHR sound · ε 1 · 1,000 draws on each side")
    watched.page.get_by_text("For this person:").wait_for()
    assert watched.page.get_by_role("img", name=re.compile("2 clusters without and 1")).count() == 1
    assert watched.page.get_by_role("img", name=re.compile("number of clusters", re.I)).count() == 1
    for heading in (
        "One person",
        "Claimed against measured",
        "All at once",
        "What this audit can see",
    ):
        assert watched.page.get_by_role("heading", name=heading).count() == 1
    assert watched.page.evaluate(CUT) == []


@pytest.mark.exhaustive
def test_the_story_follows_slider_and_technique(auditor):
    watched = auditor()
    watched.page.get_by_role("slider", name="Privacy budget").focus()
    watched.page.keyboard.press("ArrowRight")
    expect_title(watched, "PrivTHR sound · ε 1.05")
    watched.page.wait_for_url(re.compile(r"epsilon=1\.05"))
    watched.choose("Under a technique", "PrivQT, published", exact=True)
    expect_title(watched, "PrivQT published · ε 1.05")
    watched.page.wait_for_url(re.compile(r"technique=privqt-published"))


@pytest.mark.exhaustive(reason="tests/ui/test_audit.py runs audits and reads their results")
def test_an_audit_ends_with_a_verdict_a_picture_and_a_table(auditor):
    watched = auditor()
    type_number(watched, "Runs on each data set", 500)
    button(watched, "Run the audit").focus()
    watched.page.keyboard.press("Enter")
    verdict = watched.page.get_by_role("status").filter(has_text="Claim refuted: the true ε")
    verdict.wait_for()
    assert re.search(r"at least \d\.\d\d with 99% confidence; claimed 1\.", verdict.text_content())
    expect_title(watched, "PrivQT published · far-point · ε 1 · 500 runs on each data set")
    expect_title(watched, "Claimed ε 1 against measured lower bounds")
    watched.page.get_by_text("1,000 of 1,000 runs").wait_for()
    watched.page.get_by_text(f"1 of {ALL} done").wait_for()
    with watched.page.expect_download() as waiting:
        button(watched, "Download this table").click()
    lines = Path(waiting.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + ALL
    assert sum(",refuted,500," in line for line in lines) == 1


@pytest.mark.exhaustive
def test_a_running_audit_leaves_the_page_usable_and_is_cancelled(auditor):
    watched = auditor()
    button(watched, f"Run all {ALL}").click()
    stop = button(watched, "Cancel all")
    stop.wait_for()
    total = f"{2 * sum(one.runs for one in scenarios()):,}"
    watched.page.get_by_text(re.compile(rf"^[\d,]+ of {total} runs$")).wait_for()
    # Other controls and other pages work while the audit continues.
    watched.page.get_by_role("slider", name="Privacy budget").focus()
    watched.page.keyboard.press("ArrowRight")
    expect_title(watched, "PrivTHR sound · ε 1.05")
    watched.go("WaveCluster")
    expect_explorer(watched, "Fifteen Gaussians")
    button(watched, "Redraw").click()
    expect_explorer(watched, "seed 1")
    watched.go("Audit")
    stop.wait_for()
    stop.click()
    watched.page.get_by_text(re.compile(r"^Stopped after [\d,]+ of")).wait_for()
    button(watched, "Run ").first.wait_for()
    assert stop.count() == 0


@pytest.mark.exhaustive
def test_a_link_brings_its_choices(auditor, app_url, open_page):
    auditor()
    link = "technique=privqt-sound&epsilon=2&draws=500&draw=3&method=dpkmeanspp"
    link += "&variant=published&scenario=stopping&claim=1.5&runs=700&seed=5"
    opened = open_page(f"{app_url('app.py')}/audit?{link}")
    expect_title(opened, "PrivQT sound · ε 2 · 500 draws on each side")
    page = opened.page
    assert page.get_by_role("combobox", name="Method").input_value() == ("DPk-means++ · Hu 2019")
    assert page.get_by_role("combobox", name="Scenario").input_value() == "Stopping"
    assert page.get_by_role("spinbutton", name="Runs on each").input_value() == "700"
    assert page.get_by_role("slider", name="Claimed").get_attribute("aria-valuetext") == "1.5"
    page.get_by_text("There is nobody; one person joins. Without a person").wait_for()
    assert opened.hosts == {"127.0.0.1"}
    assert page.url.endswith(link)


@pytest.mark.exhaustive
@pytest.mark.parametrize("scheme", daily(("light", "dark"), "dark".__eq__))
def test_both_themes_colour_the_figures(auditor, scheme):
    papers = auditor(scheme).page.evaluate(PAPERS)
    assert len(papers) == 2
    for paper in papers:
        levels = [int(paper[i : i + 2], 16) for i in (1, 3, 5)]
        assert (min(levels) > 200) if scheme == "light" else (max(levels) < 60)
