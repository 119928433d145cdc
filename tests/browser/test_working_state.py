"""One working state for all pages; Back undoes exactly one change, and Forward repeats it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from tests.browser.conftest import Watched
from tests.browser.test_release import step as step_of_release


@pytest.fixture
def opened(app_url: Callable, open_page: Callable) -> Iterator[Callable[..., Watched]]:
    pages = []

    def open_(path: str = "") -> Watched:
        watched = open_page(f"{app_url('app.py')}/{path}")
        pages.append(watched)
        return watched

    yield open_
    for watched in pages:
        assert watched.errors == []
        assert watched.page.get_by_test_id("stException").count() == 0


def expect(watched: Watched, *fragments: str, path: str = "") -> None:
    """Wait until the picture shows a run with these settings, and the link has the path."""
    watched.page.wait_for_function(
        """([fragments, path]) => {
          const title = document.querySelector('.gtitle')?.textContent ?? '';
          return location.pathname === path && fragments.every(one => title.includes(one));
        }""",
        arg=[list(fragments), f"/{path}"],
    )
    settle(watched)


def settle(watched: Watched) -> None:
    for _ in range(3):
        watched.wait_idle()
        watched.page.wait_for_timeout(150)


def link(watched: Watched) -> dict[str, str]:
    return {name: one[0] for name, one in parse_qs(urlsplit(watched.page.url).query).items()}


def steps(watched: Watched) -> int:
    return int(watched.page.evaluate("history.length"))


def back(watched: Watched) -> None:
    watched.page.evaluate("history.back()")


def forward(watched: Watched) -> None:
    watched.page.evaluate("history.forward()")


def navigate(watched: Watched, page: str) -> None:
    watched.go(page)


def drag(watched: Watched, name: str, by: float) -> None:
    """Drag the thumb of a slider by a share of its width, in many small moves."""
    slider = watched.page.get_by_role("slider", name=name)
    box = slider.bounding_box()
    share = float(slider.evaluate("one => one.value / one.max"))
    middle, at = box["y"] + box["height"] / 2, box["x"] + (0.02 + 0.96 * share) * box["width"]
    watched.page.mouse.move(at, middle)
    watched.page.mouse.down()
    for step in range(1, 13):
        watched.page.mouse.move(at + by * step / 12 * box["width"], middle)
        watched.page.wait_for_timeout(50)
    watched.page.mouse.up()


@pytest.mark.exhaustive
def test_back_undoes_one_change_and_forward_redoes_it(opened) -> None:
    watched = opened("?epsilon=1")
    expect(watched, "Fifteen Gaussians · Two-stage · ε 1 ")
    first = steps(watched)
    watched.choose("Data", "Three spirals")
    expect(watched, "Three spirals · Two-stage · ε 1 ")
    watched.choose("Method", "PrivTHR ·")
    expect(watched, "Three spirals · PrivTHR · ε 1 ")
    drag(watched, "Privacy budget", -0.25)
    settle(watched)
    low = link(watched)["epsilon"]
    assert float(low) < 0.6
    expect(watched, f"Three spirals · PrivTHR · ε {low} ")
    watched.page.get_by_role("button", name="Redraw").click()
    expect(watched, f"PrivTHR · ε {low} ", "seed 1")
    assert steps(watched) == first + 4
    changes = (
        ("Fifteen Gaussians · Two-stage · ε 1 ", "seed 0"),
        ("Three spirals · Two-stage · ε 1 ", "seed 0"),
        ("Three spirals · PrivTHR · ε 1 ", "seed 0"),
        (f"Three spirals · PrivTHR · ε {low} ", "seed 0"),
        (f"Three spirals · PrivTHR · ε {low} ", "seed 1"),
    )
    # Go back to the start and forward to the end, step by step; then go in both directions.
    for at in (3, 2, 1, 0):
        back(watched)
        expect(watched, *changes[at])
    for at in (1, 2, 3, 4):
        forward(watched)
        expect(watched, *changes[at])
    for at, move in ((3, back), (2, back), (3, forward), (2, back), (1, back), (2, forward)):
        move(watched)
        expect(watched, *changes[at])
    assert steps(watched) == first + 4
    # A new change replaces the changes that were undone.
    watched.page.get_by_role("button", name="Redraw").click()
    expect(watched, "Three spirals · PrivTHR · ε 1 ", "seed 1")
    assert steps(watched) == first + 3
    # Opening a page is one step; data and budget are kept.
    navigate(watched, "k-means")
    expect(watched, "Three spirals · DP-Refine · ε 1 ", "seed 0", path="kmeans")
    assert steps(watched) == first + 4
    watched.choose("Method", "EUGkM ·")
    expect(watched, "Three spirals · EUGkM · ε 1 ", path="kmeans")
    assert steps(watched) == first + 5
    back(watched)
    expect(watched, "Three spirals · DP-Refine · ε 1 ", path="kmeans")
    back(watched)
    expect(watched, "Three spirals · PrivTHR · ε 1 ", "seed 1")
    back(watched)
    expect(watched, *changes[2])
    for fragments, path in (
        (("Three spirals · PrivTHR · ε 1 ", "seed 1"), ""),
        (("Three spirals · DP-Refine · ε 1 ", "seed 0"), "kmeans"),
        (("Three spirals · EUGkM · ε 1 ",), "kmeans"),
    ):
        forward(watched)
        expect(watched, *fragments, path=path)
    assert steps(watched) == first + 5


@pytest.mark.exhaustive
def test_back_pressed_faster_than_the_picture_arrives_there(opened) -> None:
    watched = opened("?epsilon=1")
    expect(watched, "ε 1 ", "seed 0")
    first = steps(watched)
    for seed in (1, 2, 3, 4):
        watched.page.get_by_role("button", name="Redraw").click()
        expect(watched, f"seed {seed}")
    for _ in range(3):
        back(watched)
        watched.page.wait_for_timeout(60)
    expect(watched, "seed 1")
    for seed in (2, 3, 4):
        forward(watched)
        expect(watched, f"seed {seed}")
        assert link(watched)["seed"] == str(seed)
    assert steps(watched) == first + 4


def value(watched: Watched, box: str) -> str:
    """The value that a select box shows while it is closed."""
    shown = watched.page.get_by_role("combobox", name=box, exact=True)
    shown.wait_for()
    holder = shown.locator("xpath=ancestor::*[@data-testid='stSelectbox']")
    return str(holder.inner_text()).replace(box, "").strip() or str(shown.input_value())


def press(watched: Watched, name: str) -> None:
    watched.page.get_by_test_id("stMain").get_by_text(name, exact=True).click()


def choose_method_of_release(watched: Watched) -> None:
    watched.page.get_by_text("Method and all settings").click()
    watched.choose("Method", "k-means: EUGkM")


def type_number(watched: Watched, box: str, number: str) -> None:
    found = watched.page.get_by_role("spinbutton", name=box, exact=True)
    found.fill(number)
    found.press("Enter")


def step(watched: Watched, slider: str) -> None:
    watched.page.get_by_role("slider", name=slider).press("ArrowRight")


#: Changes on each page: the part of the link that changes, and the action that changes it.
CHANGES: dict[str, dict[str, Callable[[Watched], None]]] = {
    "compare?draws=1&points=2": {
        "score": lambda one: one.choose("Score", "Overlap (F-measure)", exact=True),
        "draws": lambda one: type_number(one, "Draws per point", "2"),
    },
    "benchmark": {
        "family": lambda one: press(one, "k-means"),
        "columns": lambda one: one.choose("Columns", "2", exact=True),
    },
    "audit?draws=100": {
        "technique": lambda one: one.choose("Under a technique", "PrivQT, sound"),
        "claim": lambda one: step(one, "Claimed"),
    },
    "papers": {"paper": lambda one: press(one, "Lee 2016")},
    "release": {
        "step": lambda one: step_of_release(one, "Rehearse"),
        "method": choose_method_of_release,
        "epsilon": lambda one: type_number(one, "Privacy budget ε", "0.5"),
        "nhat": lambda one: type_number(one, "Records, about", "5000"),
    },
    "learn": {
        "step": lambda one: one.page.get_by_role("button", name="Next").click(),
        "lesson": lambda one: one.choose("Lesson", "2. "),
    },
    "game": {
        "case": lambda one: one.choose("Play against", "Town map (PrivQT as published)"),
        "level": lambda one: press(one, "Easy: ε = 2"),
    },
    "glossary": {"part": lambda one: press(one, "Scores")},
}

#: Values of the native widgets; for a choice in a row, the option that is chosen. A step that is
#: done keeps its mark.
SHOWN = """() => [...document.querySelectorAll(`[data-testid=stMain]
  :is(input:not([type=radio], [role=switch]), [role=radio][aria-checked=true])`)]
  .map((one) => (one.value || one.textContent).replace(" ✓", ""))"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", CHANGES)
def test_back_and_forward_on_the_other_pages(opened, path: str) -> None:
    watched = opened(path)
    watched.page.get_by_role("button", name="Share", exact=True).wait_for()
    watched.wait_calm()
    seen = [(link(watched), watched.page.evaluate(SHOWN))]
    first = steps(watched)
    for name, change in CHANGES[path].items():
        change(watched)
        before = seen[-1][0].get(name)
        watched.page.wait_for_function(
            "([name, before]) => new URLSearchParams(location.search).get(name) !== before",
            arg=[name, before],
        )
        watched.wait_calm()
        seen.append((link(watched), watched.page.evaluate(SHOWN)))
    assert steps(watched) == first + len(CHANGES[path])
    for move, ways in ((back, seen[-2::-1]), (forward, seen[1:])):
        for parameters, shown in ways:
            move(watched)
            watched.page.wait_for_timeout(200)
            watched.wait_calm()
            assert link(watched) == parameters
            assert watched.page.evaluate(SHOWN) == shown


@pytest.mark.exhaustive
def test_a_change_on_one_page_is_there_on_the_next(opened) -> None:
    watched = opened("?epsilon=1")
    expect(watched, "Fifteen Gaussians")
    watched.choose("Data", "Three spirals")
    expect(watched, "Three spirals · Two-stage · ε 1 ")
    drag(watched, "Privacy budget", 0.1)
    settle(watched)
    epsilon = link(watched)["epsilon"]
    assert epsilon != "1"
    navigate(watched, "Compare")
    watched.page.wait_for_url(re.compile("compare.*data=spirals"))
    settle(watched)
    navigate(watched, "Audit")
    watched.page.wait_for_url(re.compile(f"audit.*epsilon={epsilon}"))
    settle(watched)
    navigate(watched, "Release")
    watched.page.wait_for_url(re.compile(f"release.*data=spirals.*epsilon={epsilon}"))
    settle(watched)
    watched.choose("Sample set", "Five shapes")
    watched.page.wait_for_url(re.compile("data=shapes"))
    settle(watched)
    navigate(watched, "k-means")
    watched.page.wait_for_url(re.compile(f"kmeans.*data=shapes.*epsilon={epsilon}"))
    settle(watched)
    # A link replaces the previous state, so another window shows the same page.
    address = watched.page.url
    other = opened("")
    expect(other, "Fifteen Gaussians · Two-stage · ε 0.02 ")
    other.page.goto(address)
    settle(other)
    numbers = ".dpv-board"
    assert (
        other.page.locator(numbers).text_content() == watched.page.locator(numbers).text_content()
    )
    assert other.page.url == address


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A table of persons in two towns; lat and lon are not the first columns."""
    rng = np.random.default_rng(5)
    rows = ["person,age,lat,lon"]
    for row in range(2_000):
        town = row % 2
        lat, lon = rng.normal((47 + 2 * town, 8 + 3 * town), 0.2)
        rows.append(f"{row // 3},{row % 80},{lat:.5f},{lon:.5f}")
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def numbers(watched: Watched) -> str:
    """All readouts, after the slow readouts have arrived."""
    watched.page.wait_for_function(
        "() => [...document.querySelectorAll('.dpv-value')].every(one => one.textContent !== '…')"
    )
    return str(watched.page.locator(".dpv-board").text_content())


@pytest.mark.exhaustive(reason="tests/ui/test_working_state.py has both daily")
def test_own_data_goes_from_page_to_page_and_waits_after_a_reload(opened, visits: Path) -> None:
    watched = opened("?data=own")
    watched.page.locator("input[type=file]").set_input_files(visits)
    expect(watched, "visits.csv · Two-stage · ε 1 ")
    # The first picture shows the place, and the panel of the choices is open.
    assert (value(watched, "Across"), value(watched, "Upwards")) == ("lon", "lat")
    watched.choose("Across", "age")
    watched.page.wait_for_url(re.compile("columns=age%2Clat"))
    settle(watched)
    # If the user chooses the same column in both boxes, the axes are swapped.
    watched.choose("Upwards", "age")
    watched.page.wait_for_url(re.compile("columns=lat%2Cage"))
    settle(watched)
    for columns in ("age%2Clat", "lon%2Clat"):
        back(watched)
        watched.page.wait_for_url(re.compile(f"columns={columns}"))
        settle(watched)
    assert (value(watched, "Across"), value(watched, "Upwards")) == ("lon", "lat")
    # Bounds and persons.
    watched.page.get_by_test_id("stSidebar").get_by_role("button", name="Domain").click()
    watched.page.get_by_text("declared: known without the data").click()
    for name, bounds in (("lon", "5, 14"), ("lat", "45, 51")):
        box = watched.page.get_by_label(f"{name}: from, to")
        box.fill(bounds)
        box.press("Enter")
        settle(watched)
    watched.page.keyboard.press("Escape")
    watched.page.wait_for_url(re.compile("domain=5.0%2C14.0%3B45.0%2C51.0"))
    watched.page.get_by_role("button", name="Protects").click()
    watched.choose("Privacy unit", "a person: column person")
    watched.page.wait_for_url(re.compile("unit=person"))
    watched.page.keyboard.press("Escape")
    drag(watched, "Privacy budget", 0.1)
    settle(watched)
    kept = {
        name: one
        for name, one in link(watched).items()
        if name in ("data", "columns", "domain", "unit", "epsilon")
    }
    assert kept["columns"] == "lon,lat"
    for page, path in (("k-means", "kmeans"), ("Release", "release"), ("WaveCluster", "")):
        navigate(watched, page)
        watched.page.wait_for_function("path => location.pathname === path", arg=f"/{path}")
        watched.page.get_by_text("Loaded: visits.csv, 4 columns: person, age, lat, lon").wait_for()
        settle(watched)
        assert kept.items() <= link(watched).items()
    navigate(watched, "Compare")
    watched.page.get_by_text("Loaded: visits.csv").wait_for()
    settle(watched)
    assert link(watched)["data"] == "own"
    assert link(watched)["columns"] == "lon,lat"
    navigate(watched, "WaveCluster")
    expect(watched, "visits.csv")
    before = numbers(watched)
    # A reload forgets the file and says so; the other settings remain for the next file.
    watched.page.reload()
    watched.page.get_by_text("Choose the file of your data again in the side bar").wait_for()
    settle(watched)
    assert kept.items() <= link(watched).items()
    navigate(watched, "k-means")
    watched.page.wait_for_function("() => location.pathname === '/kmeans'")
    watched.page.get_by_text("Choose the file of your data again in the side bar").wait_for()
    settle(watched)
    assert kept.items() <= link(watched).items()
    navigate(watched, "WaveCluster")
    watched.page.wait_for_function("() => location.pathname === '/'")
    settle(watched)
    watched.page.locator("input[type=file]").set_input_files(visits)
    expect(watched, "visits.csv")
    assert kept.items() <= link(watched).items()
    assert numbers(watched) == before


@pytest.mark.exhaustive(reason="tests/ui/test_working_state.py takes columns along daily")
def test_a_release_takes_the_columns_along(opened, visits: Path) -> None:
    watched = opened("?data=own")
    watched.page.locator("input[type=file]").set_input_files(visits)
    expect(watched, "visits.csv")
    first = steps(watched)
    watched.page.get_by_text("Release once with these settings").click()
    watched.page.wait_for_url(re.compile("release.*columns=lon%2Clat"))
    settle(watched)
    assert steps(watched) == first + 1
    step_of_release(watched, "File")
    chosen = watched.page.get_by_test_id("stMultiSelect").inner_text()
    assert re.findall("lon|lat", chosen) == ["lon", "lat"]
    back(watched)  # to the step that was open before
    settle(watched)
    back(watched)
    expect(watched, "visits.csv")


@pytest.mark.exhaustive(reason="tests/ui/test_working_state.py goes back to an earlier link")
@pytest.mark.parametrize("path", ["?data=spirals", "kmeans", "release?data=spirals"])
def test_back_leaves_from_the_page_that_was_opened(opened, app_url: Callable, path: str) -> None:
    watched = opened("benchmark")
    watched.page.goto(f"{app_url('app.py')}/{path}")
    watched.page.wait_for_url(re.compile("neighbours="))
    settle(watched)
    back(watched)
    watched.page.wait_for_url(re.compile("benchmark"))
    watched.page.get_by_role("radio", name="WaveCluster").wait_for()
