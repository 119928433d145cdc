"""Each number of the headline is found in the picture, and a note says what broke a cluster."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Watched
from tests.browser.test_accessibility import AXE, serious
from tests.support.tiers import daily

#: Pieces that are lit: their names, for those that cover a part of a map.
LIT = """() => [...document.querySelectorAll('.lights .piece')].filter((piece) => {
  const box = piece.getBoundingClientRect();
  const all = piece.closest('.live-figure').getBoundingClientRect();
  return box.width > 1 && box.height > 1 && box.left < all.right && box.top < all.bottom;
}).map((piece) => piece.dataset.at)"""

#: Links with many kinds of damage.
SETTINGS = (
    "?epsilon=0.01",
    "?data=shapes&epsilon=0.05&method=privthr&seed=1",
    "?epsilon=0.05&method=privthr&g=24",
    "?epsilon=0.05&method=privqt&seed=2&view=significant",
    "?data=spirals&epsilon=0.1&method=privthrem",
    "?data=shapes&epsilon=0.03&g=128",
    "kmeans?method=dplloyd&epsilon=0.05",
    "kmeans?method=dplloyd&epsilon=0.02&seed=1",
)


@pytest.fixture
def explorer(app_url: Callable, open_page: Callable, faultless: Callable):
    def open_(link: str) -> Watched:
        watched = faultless(open_page(f"{app_url('app.py')}/{link}"))
        watched.page.wait_for_selector(".live-figure.drawn")
        watched.wait_calm()
        return watched

    return open_


def lit(page: Page, number: int) -> None:
    page.wait_for_function(f"() => new Set(({LIT})()).size === {number}")


def words(page: Page) -> dict[str, int]:
    """Words of the headline with their numbers, at least one."""
    texts = page.locator(".dpv-word").all_inner_texts()
    assert texts
    return {text: int(re.search(r"\d+", text.replace(",", ""))[0]) for text in texts}


@pytest.mark.exhaustive(reason="reduced motion of a whole page is tested daily")
def test_old_cells_fade_and_centres_glide_unless_motion_is_reduced(explorer: Callable) -> None:
    page = explorer("kmeans?method=dplloyd&epsilon=0.1").page
    page.evaluate("""() => {
      window.faded = []; window.glides = window.texts = 0;
      const animate = Element.prototype.animate;
      Element.prototype.animate = function (...more) {
        window.glides += 1;
        window.texts += this.matches('.textpoint');
        return animate.apply(this, more);
      };
      new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach(
        (one) => one.classList?.contains('dpv-old') && window.faded.push(one)
      ))).observe(document.querySelector('.live-figure'), { childList: true, subtree: true }); }""")

    def moved(motion: str, at_least: bool) -> None:
        page.emulate_media(reduced_motion=motion)
        page.evaluate("() => { window.faded = []; window.glides = window.texts = 0; }")
        title = page.locator(".gtitle").text_content()
        page.get_by_role("slider", name="Privacy budget").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"() => document.querySelector('.gtitle').textContent !== `{title}`")
        moved = "[window.faded.length > 1, window.glides > 0, window.texts * 2 === window.glides]"
        assert page.evaluate(moved) == [at_least, at_least, True]

    moved("no-preference", at_least=True)
    # The old cells end invisible, and none is left of the picture before.
    page.wait_for_function("""() => window.faded.every((one) =>
      !one.isConnected || getComputedStyle(one).opacity === '0')""")
    assert page.locator(".dpv-old").count() == page.evaluate("window.faded.length")
    moved("reduce", at_least=False)


@pytest.mark.daily("?data=shapes&epsilon=0.05&method=privthr&seed=1")
@pytest.mark.parametrize("link", daily(SETTINGS, lambda link: link in (SETTINGS[1], SETTINGS[6])))
def test_every_number_of_the_headline_has_its_pieces_lit(explorer: Callable, link: str) -> None:
    page = explorer(link).page
    lit(page, 0)
    for text, number in words(page).items():
        word = page.get_by_role("button", name=f"{text}: show")
        word.hover()
        lit(page, number)
        word.click()
        page.mouse.move(5, 5)
        lit(page, number)
        expect(word).to_have_attribute("aria-pressed", "true")
        word.click()
        lit(page, 0)
        page.mouse.move(5, 5)
        word.focus()
        page.keyboard.press("Enter")
        lit(page, number)
        page.keyboard.press("Escape")
        lit(page, 0)
        expect(word).to_have_attribute("aria-pressed", "false")


@pytest.mark.exhaustive(reason="the test above checks the lit pieces of a page that stands still")
def test_lit_pieces_follow_the_slider(explorer: Callable) -> None:
    page = explorer("?epsilon=0.01").page
    page.locator('[data-of="invented"]').click()
    before = words(page)
    lit(page, next(iter(before.values())))
    page.get_by_role("slider", name="Privacy budget").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_function(
        f"() => document.querySelector('.dpv-word').innerText !== '{next(iter(before))}'"
    )
    # The picture follows the sentence.
    page.wait_for_function(f"""() => new Set(({LIT})()).size ===
      parseInt(document.querySelector('[data-of="invented"]').innerText)""")
    page.wait_for_function("() => document.querySelector('.dpv-word').ariaPressed === 'true'")
    page.keyboard.press("Escape")
    lit(page, 0)


@pytest.mark.exhaustive(reason="the first test checks what is lit for each number")
@pytest.mark.parametrize("changed", ["method", "grid"])
def test_a_lit_word_ends_with_what_it_counts(explorer: Callable, changed: str) -> None:
    watched = explorer("?epsilon=0.01")
    page = watched.page
    page.locator('[data-of="invented"]').click()
    page.wait_for_function("() => document.documentElement.dataset.dpvLit === 'invented'")
    title = page.locator(".gtitle").text_content()
    if changed == "grid":
        page.mouse.move(5, 5)  # the pointer, too, lights up a word
        page.get_by_role("slider", name="Grid g").focus()
        page.keyboard.press("ArrowLeft")
    else:
        page.get_by_role("combobox", name="Method").first.click()
        page.get_by_role("option", name="PrivTHR").first.click()
    page.wait_for_function(f"() => document.querySelector('.gtitle').textContent !== `{title}`")
    page.wait_for_function("() => document.documentElement.dataset.dpvLit === ''")
    lit(page, 0)
    page.wait_for_function("() => !document.querySelector('.dpv-word[aria-pressed=true]')")


def test_a_cluster_under_the_pointer_is_outlined_on_both_maps(explorer: Callable) -> None:
    page = explorer("?epsilon=0.05").page
    x, y = middle_of(page, "5", panel=1)
    page.mouse.move(x, y)
    page.wait_for_function("() => document.querySelectorAll('.lights > g > g path').length === 1")
    box = page.locator(".lights > g > g").bounding_box()
    place = page.locator(".live-figure").bounding_box()
    # The outlines are on both sides of the picture's middle.
    assert box["x"] < place["x"] + place["width"] / 2 < box["x"] + box["width"]


@pytest.mark.exhaustive(reason="tests/figures/test_damage.py checks what is outlined")
def test_a_view_without_clusters_has_nothing_to_outline(explorer: Callable) -> None:
    watched = explorer("?epsilon=0.05&view=average")
    page = watched.page
    page.get_by_role("button", name="All subbands").click()
    page.wait_for_url("**view=details**")
    watched.wait_calm()
    box = page.locator(".live-figure").bounding_box()
    # The fixture fails if the page has an error.
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"], steps=5)
    page.locator(".hoverlayer .hovertext").first.wait_for()
    page.mouse.down()
    page.mouse.up()
    assert not page.locator(".lights > g > g path").count()


@pytest.mark.exhaustive(reason="the same is checked for WaveCluster, by the same script")
def test_a_region_of_k_means_is_outlined_and_has_a_note(explorer: Callable) -> None:
    page = explorer("kmeans?epsilon=0.02&method=dplloyd").page
    box = page.locator(".live-figure").first.bounding_box()
    x, y = box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["height"]
    page.mouse.move(x, y, steps=4)
    page.wait_for_function("() => document.querySelectorAll('.lights > g > g path').length === 1")
    lights = page.locator(".lights > g > g").bounding_box()
    assert lights["x"] < box["x"] + box["width"] / 2 < lights["x"] + lights["width"]
    page.mouse.click(x, y)
    page.get_by_role("dialog", name=re.compile("Cluster .*centre")).wait_for()
    # Of other records than those on the left, there is no such note.
    page.get_by_role("button", name="Left: without noise").click()
    page.get_by_role("dialog").wait_for(state="hidden")


@pytest.mark.exhaustive(reason="a note on small maps is tested daily")
def test_an_open_note_comes_to_large_maps_and_with_the_link(explorer: Callable) -> None:
    watched = explorer("?epsilon=0.01")
    page = watched.page
    page.mouse.click(*middle_of(page, "2", 1))
    note = page.get_by_role("dialog", name=re.compile("Cluster 2:"))
    note.wait_for()
    page.wait_for_url("**note=1.2.1**")
    page.keyboard.press("f")
    page.wait_for_function("() => document.documentElement.dataset.dpvStage === 'on'")
    # The keys are named, and the key that shows them again does so.
    keys = page.locator(".dpv-keys")
    named = keys.inner_text()
    assert "more ε" in named
    assert "next s" not in named
    watched.wait_calm()
    assert note.is_visible()
    finish = "document.querySelector('.dpv-keys').getAnimations().forEach((one) => one.finish())"
    page.evaluate(finish)
    keys.wait_for(state="hidden")
    page.keyboard.press("?")
    keys.wait_for()
    page.mouse.click(*middle_of(page, "5", 1))
    page.get_by_role("dialog", name=re.compile("Cluster 5:")).wait_for()
    page.wait_for_url("**note=1.5.1**")
    page.reload()
    page.get_by_role("dialog", name=re.compile("Cluster 5:")).wait_for()
    watched.wait_idle()
    # On another grid other clusters have these numbers.
    page.get_by_role("slider", name="Grid g").press("ArrowRight")
    page.get_by_role("dialog").wait_for(state="hidden")
    page.wait_for_function("() => !location.search.includes('note')")


def middle_of(page: Page, number: str, panel: int) -> tuple[float, float]:
    """Position of a cluster's number on a map."""
    text = page.locator(f".subplot.{'xy' if panel == 1 else 'x2y2'} .textpoint").filter(
        has_text=re.compile(f"^{re.escape(number)}$")
    )
    box = text.first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.exhaustive(reason="other tests click on the headline daily")
def test_a_click_on_a_cluster_says_what_broke_it_and_hides_nothing_of_it(
    explorer: Callable,
) -> None:
    watched = explorer("?epsilon=0.01")
    page = watched.page
    note = page.get_by_role("dialog")
    for number, panel in (("2", 1), ("2", 2), ("15", 2), ("1", 1)):
        x, y = middle_of(page, number, panel)
        page.mouse.move(x, y)
        page.wait_for_function("() => document.querySelector('.lights > g > g path')")
        page.mouse.click(x, y)
        page.get_by_role("dialog", name=f"Cluster {number}:").wait_for()
        page.wait_for_function("() => document.querySelector('.note p').innerText.length > 60")
        text, box = note.inner_text(), note.bounding_box()
        assert f"Cluster {number} " in text
        assert re.search("is kept|budget", text)
        # The note is in the window, and the cluster that was clicked is beside it.
        assert not (box["x"] <= x <= box["x"] + box["width"])
        assert box["y"] + box["height"] <= page.viewport_size["height"]
        page.keyboard.press("Escape")
        note.wait_for(state="hidden")
        page.mouse.move(5, 5)
        watched.wait_calm()


def test_the_keyboard_reaches_a_piece_its_note_and_the_panel_below(explorer: Callable) -> None:
    watched = explorer("?epsilon=0.01")
    page = watched.page
    page.locator('[data-of="shrunk"]').focus()
    page.keyboard.press("Enter")
    piece = page.get_by_role("button", name=re.compile("What broke cluster")).first
    piece.focus()
    page.keyboard.press("Enter")
    note = page.get_by_role("dialog")
    note.wait_for()
    page.wait_for_function("() => document.activeElement.className === 'note'")
    page.evaluate(AXE)
    for part in (".live-figure", ".dpv-top"):
        assert serious(watched, None, page.locator(part)) == []
    title = note.get_attribute("aria-label").split(":")[0]
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("combobox", name="True cluster").wait_for()
    panel = page.locator(".st-key-wavecluster-diagnosis")
    panel.get_by_text(re.compile(f"^{title} (is|was|shrank)")).wait_for()
