"""On every screen, nothing is cut off or larger than its figure, and numbers are readable."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Watched
from tests.browser.test_accessibility import PAGES, PATHS
from tests.support.tiers import daily

#: Sizes of a small and a usual phone, a small and a usual laptop, a desktop and a projector.
SIZES = ((360, 740), (390, 844), (1024, 768), (1280, 720), (1920, 1080), (2560, 1440))

#: The faults that a page has now. Text may be cut off only if a tooltip has the whole text.
FAULTS = r"""() => {
  const found = [];
  const cut = (box) => box.scrollWidth > box.clientWidth + 1;
  const main = document.querySelector('[data-testid=stMain]');
  if (cut(document.documentElement) || cut(main)) found.push('the page scrolls sideways');
  const inSight = (box) => {
    const { left, right, width } = box.getBoundingClientRect();
    return box.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true })
      && width > 4 && right > 0 && left < innerWidth;
  };
  for (const box of document.querySelectorAll('.stApp *:not(svg *, option, input)')) {
    const text = box.innerText?.trim();
    if (!text || !cut(box) || !inSight(box)) continue;
    // A frame of many things may scroll or hide what is beside them; a line of text may not.
    if (text.length > 200 || box.querySelector('a, button, input')) continue;
    const hidden = ['hidden', 'clip'].includes(getComputedStyle(box).overflowX);
    if (hidden && !box.closest('[title]')) found.push(`cut: ${text.slice(0, 80)}`);
  }
  for (const box of document.querySelectorAll('.stSelectbox input')) {
    if (inSight(box) && cut(box)) found.push(`cut in its box: ${box.value}`);
  }
  const keys = document.querySelector('.dpv-keys');
  const slider = document.querySelector('[data-testid=stMain] [class*="-epsilon"]')
    ?.querySelector('[data-testid=stBidiComponentIsolated]');
  if (keys && !slider && inSight(keys)) found.push('keys are named that do nothing');
  for (const group of document.querySelectorAll('[role=radiogroup]')) {
    if (cut(group)) found.push(`choices beyond the edge: ${group.innerText}`);
  }
  for (const button of document.querySelectorAll('.stApp button')) {
    const { left, top, width, height } = button.getBoundingClientRect();
    const text = button.innerText.trim();
    if (inSight(button) && cut(button)) found.push(`wider than its button: ${text}`);
    // What stands in the head is never below something else that does.
    if (!button.closest('header') || !inSight(button)) continue;
    const above = document.elementFromPoint(left + width / 2, top + height / 2);
    if (!button.contains(above)) found.push(`covered: ${button.dataset.testid} ${text}`);
  }
  for (const svg of document.querySelectorAll('svg.main-svg')) {
    const frame = svg.getBoundingClientRect();
    for (const text of frame.width ? svg.querySelectorAll('text') : []) {
      const { left, right, top, bottom, width } = text.getBoundingClientRect();
      if (width && (left < frame.left - 1 || right > frame.right + 1
          || top < frame.top - 1 || bottom > frame.bottom + 1)) {
        found.push(`outside its figure: ${text.textContent.slice(0, 80)}`);
      }
    }
  }
  // Numbers of horizontal axes, also of two maps side by side.
  const ticks = document.querySelectorAll('[class^="x"][class$="tick"] text');
  const numbers = [...ticks].filter(inSight);
  numbers.forEach((one, at) => numbers.slice(at + 1).forEach((two) => {
    const [a, b] = [one, two].map((text) => text.getBoundingClientRect());
    const meet = a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    if (meet && one.closest('svg') === two.closest('svg'))
      found.push(`numbers overlap: ${one.textContent} ${two.textContent}`);
  }));
  for (const line of document.querySelectorAll('.gtitle tspan.line'))
    if (line.textContent.startsWith('·')) found.push(`a line begins with ${line.textContent}`);
  const said = document.body.innerText;
  found.push(...(said.match(/\b\d[.\d]*e[+-]?\d+/g) ?? []));
  const many = 'clusters|records|points|cells|rows|columns|draws|runs|times|centres|sets';
  found.push(...(said.match(new RegExp(`(^|[^\\d.,])1 (${many})\\b`, 'g')) ?? []));
  return [...new Set(found)];
}"""

#: Positions of the two maps in their figure.
MAPS = """() => { const layout = document.querySelector('.js-plotly-plot')._fullLayout;
return ['', 2].filter((n) => layout[`xaxis${n}`]).map((n) => {
  const [x, y] = [layout[`xaxis${n}`], layout[`yaxis${n}`]];
  return { left: x._offset, right: x._offset + x._length,
    top: y._offset, bottom: y._offset + y._length } }) }"""


@pytest.mark.some(1)
@pytest.mark.daily("wavecluster", "release")
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_off_at_any_size(
    name: str, app_url: Callable[[str], str], open_page: Callable[..., Watched]
) -> None:
    watched = open_page(f"{app_url('app.py')}/{PATHS.get(name, name)}")
    page = watched.page
    page.get_by_role("button", name="Share", exact=True).wait_for()
    watched.wait_idle()
    if page.locator(".live-figure").count():
        page.wait_for_selector(".gtitle")
    found = {}
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        # Tables and figures change their width some time later.
        for _ in range(10):
            page.wait_for_timeout(600)
            found[width] = page.evaluate(FAULTS)
            if not found[width]:
                break
    assert found == {width: [] for width, _ in SIZES}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "path",
    daily(("?data=gaussians", "kmeans?data=gaussians", "?data=checkins"), "?data=gaussians".__eq__),
)
def test_one_map_is_on_a_phone_and_both_are_close_on_a_projector(
    path: str, app_url: Callable[[str], str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(f"{app_url('app.py')}/{path}&epsilon=0.5").page
    page.wait_for_selector(".gtitle")
    places = {}
    for width, height in (SIZES[0], SIZES[-1]):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(1500)
        places[width] = page.evaluate(MAPS)
    (one,), (left, right) = places.values()
    assert one["right"] - one["left"] > 200
    assert left["top"] == right["top"]
    assert 0 < right["left"] - left["right"] < 0.25 * (left["right"] - left["left"])


@pytest.mark.exhaustive(reason="the style sheet of one page, which rarely changes")
def test_the_buttons_of_a_guess_are_on_the_first_screen_of_a_phone(
    app_url: Callable[[str], str], open_page: Callable[..., Watched]
) -> None:
    watched = open_page(f"{app_url('app.py')}/game")
    watched.page.set_viewport_size({"width": 390, "height": 844})
    watched.wait_calm()
    for name in ("The person is in", "The person is out"):
        expect(watched.page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
