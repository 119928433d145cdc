"""A picture can't be mistaken for a release: its text and its files say that it is not one."""

import io
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy import ndimage

from dpviz.figures.cell_numbers import luminance
from tests.support.tiers import daily

SAID = "May be published: shows made-up data"
OVERLAY = "true points, not released"

#: Names and shapes of the private panel's heatmaps.
PRIVATE = """() => document.querySelector('.js-plotly-plot').data.filter(
  one => one.type === 'heatmap' && one.xaxis === 'x2' && one.opacity !== 0).map(
  one => [one.name ?? '', one.z.length])"""

#: Every document that would be printed is kept instead, so nothing is printed.
NO_PRINTER = """window.print = () => {
  window.top.printed = document.documentElement.outerHTML;
  window.dispatchEvent(new Event('afterprint')); }"""


@pytest.fixture
def opened(app_url: Callable, open_page: Callable, faultless: Callable):
    """Open a page with a figure by its link; nothing may go wrong."""

    def open_(link: str, **more):
        watched = open_page(f"{app_url('app.py')}/{link}", **more)
        watched.page.wait_for_selector(".gtitle", state="attached")
        watched.wait_idle()
        return faultless(watched)

    return open_


def lines_of(watched) -> str:
    """Title of the first figure; each line of the title ends with a blank."""
    return " ".join(watched.page.locator(".gtitle").first.locator("tspan.line").all_text_contents())


def saved(watched, press: Callable[[], object]) -> tuple[str, bytes]:
    """Name and content of the file that a press saves."""
    with watched.page.expect_download() as waiting:
        press()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


def behind(watched) -> None:
    """Open the panel of downloads."""
    watched.page.get_by_text("Numbers behind the picture").click()
    watched.page.get_by_role("button", name="Picture (PDF)").wait_for()
    watched.wait_idle()


def text_of(svg: str) -> str:
    """All text of a picture."""
    return " ".join(" ".join(ElementTree.fromstring(svg).itertext()).split())


@pytest.mark.exhaustive(reason="tests/figures/test_kmeans.py checks true points in a figure")
@pytest.mark.parametrize("page", ["", "kmeans"])
def test_true_points_are_a_switch_and_look_like_what_they_are(opened, page):
    watched = opened(f"{page}?data=spirals&method={'dplloyd' if page else 'privthr'}")
    before = watched.page.evaluate(PRIVATE)
    assert [name for name, _ in before] == [""]
    # A picture without points shows cells, which are fewer than points; regions have no cells.
    assert before[0][1] == (256 if page else 20)
    assert OVERLAY not in watched.page.locator(".infolayer").first.text_content()
    watched.page.get_by_text("True points", exact=True).click()
    watched.page.wait_for_url(re.compile("points=shown"))
    watched.page.wait_for_function(
        "name => document.querySelector('.infolayer')?.textContent.includes(name)", arg=OVERLAY
    )
    assert OVERLAY in [name for name, _ in watched.page.evaluate(PRIVATE)]
    # A drag keeps the cells.
    watched.page.get_by_role("slider", name="Privacy budget").press("ArrowRight")
    watched.page.wait_for_url(re.compile("epsilon=1.05"))
    assert OVERLAY in [name for name, _ in watched.page.evaluate(PRIVATE)]
    watched.page.go_back()
    watched.page.go_back()
    watched.page.wait_for_function(
        "name => document.querySelector('.infolayer')?.textContent.includes(name) === false",
        arg=OVERLAY,
    )
    assert [name for name, _ in watched.page.evaluate(PRIVATE)] == [""]


@pytest.mark.exhaustive(reason="the whole picture is above the fold daily")
def test_the_tile_speaks_of_the_mechanism_and_the_reason_stands_above_the_fold(opened):
    watched = opened("?data=spirals&method=privthr", height=720)
    tile = watched.page.locator('.dpv-card[data-name="Method"]')
    assert tile.locator(".dpv-value").inner_text() == "at most 73.2%"
    assert watched.page.locator(".dpv-why").count() == 0
    watched.choose("Variant", "published")
    why = watched.page.locator(".dpv-why")
    why.wait_for()
    assert tile.locator(".dpv-value").inner_text() == "not private"
    assert "The domain spans the data" in why.inner_text()
    place = why.bounding_box()
    assert (
        place["y"] + place["height"] < watched.page.locator(".js-plotly-plot").bounding_box()["y"]
    )
    assert place["y"] + place["height"] < 720


@pytest.mark.daily("390-?data=spirals&method=privthr-facts0")
@pytest.mark.parametrize(
    ("link", "facts"),
    [
        ("?data=spirals&method=privthr", ("PrivTHR", "ε 1 ", "g 40", "p 0.1", "columns x, y")),
        ("kmeans?data=spirals&method=dplloyd", ("DPLloyd", "ε 1 ", "K 3", "columns x, y")),
    ],
)
@pytest.mark.parametrize("width", daily((1280, 390), (390).__eq__))
def test_a_saved_picture_says_what_it_is_at_any_width(opened, link, facts, width):
    watched = opened(link)
    if width < 1280:
        watched.page.set_viewport_size({"width": width, "height": 844})
        watched.page.wait_for_function(
            "() => document.querySelectorAll('.gtitle tspan.line').length > 3"
        )
        watched.page.wait_for_timeout(300)
    plot, title = (
        watched.page.locator(one).first.bounding_box() for one in (".js-plotly-plot", ".gtitle")
    )
    assert title["x"] + title["width"] <= plot["x"] + plot["width"] + 1
    assert title["y"] >= plot["y"] - 1
    # The title is below the maps and their axes, and whole.
    axes = [one.bounding_box() for one in watched.page.locator(".g-xtitle").all()]
    assert all(one["y"] + one["height"] <= title["y"] + 3 for one in axes if one)
    assert title["y"] + title["height"] <= plot["y"] + plot["height"] + 1
    behind(watched)
    name, svg = saved(watched, watched.page.get_by_role("button", name="Picture (SVG)").click)
    assert name.startswith("dpviz exploration ")
    text = text_of(svg.decode())
    for fact in (SAID, *facts, "seed 0", "dpviz 0.1.0"):
        assert fact in text, (fact, text)
    name, png = saved(watched, watched.page.get_by_role("button", name="Picture (PNG)").click)
    assert name.endswith(".png")
    picture = np.asarray(Image.open(io.BytesIO(png)).convert("L")).astype(int)
    # As on the screen, the lines of the title are dark on a light background.
    top = 2 * int(title["y"] - plot["y"])
    band = picture[top : top + 2 * int(title["height"])]
    assert (band < 128).any(axis=1).sum() > band.shape[0] // 3


def pages_of(pdf: bytes) -> int:
    """Number of pages of a PDF."""
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


def operators(pdf: bytes) -> bytes:
    """All drawing operators in the streams of a PDF."""
    streams = re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    drawn = []
    for one in streams:
        try:
            drawn.append(zlib.decompressobj().decompress(one))
        except zlib.error:
            continue  # a stream of another kind
    return b"\n".join(drawn)


@pytest.mark.daily("tool")
@pytest.mark.parametrize("place", ["panel", "tool"])
def test_a_pdf_is_one_page_of_text_and_lines(opened, chromium, place):
    watched = opened(
        "?data=spirals&method=privthr", before=lambda page: page.add_init_script(NO_PRINTER)
    )
    tab = watched.page.title()
    if place == "panel":
        behind(watched)
        watched.page.get_by_role("button", name="Picture (PDF)").click()
    else:
        watched.page.locator(".js-plotly-plot").hover()
        watched.page.locator("[data-title='Print, or save as PDF']").click()
    watched.page.wait_for_function("() => window.printed")
    sheet = watched.page.evaluate("window.printed")
    # The page is as before.
    assert watched.page.title() == tab
    assert watched.page.locator("body > iframe").count() == 0
    printer = chromium.new_context()
    try:
        paper = printer.new_page()
        paper.set_content(sheet)
        text = paper.locator(".gtitle").text_content()
        size = paper.locator("svg").first.bounding_box()
        pdf = paper.pdf(prefer_css_page_size=True, print_background=True)
    finally:
        printer.close()
    assert SAID in text
    assert pages_of(pdf) == 1
    low_x, low_y, wide, high = map(
        float, re.search(rb"/MediaBox\s*\[([^\]]*)\]", pdf).group(1).split()
    )
    # A point is three quarters of a pixel, so the page is as large as the figure.
    assert (low_x, low_y) == (0, 0)
    assert wide == pytest.approx(0.75 * size["width"], abs=1.5)
    assert high == pytest.approx(0.75 * size["height"], abs=1.5)
    # Text is stored as text (fonts, and operators that show glyphs), not as an image.
    assert b"/Font" in pdf
    assert len(re.findall(rb"\bT[jJ]\b", operators(pdf))) > 20


@pytest.mark.exhaustive(reason="a saved picture carries the facts daily")
def test_tables_latex_and_sources_carry_the_facts_and_stay_readable(opened):
    watched = opened("?data=spirals&method=privthr&domain=data")
    watched.page.wait_for_function(
        "() => ![...document.querySelectorAll('.dpv-value')].some(one => /…/.test(one.textContent))"
    )
    shown = watched.page.locator('.dpv-card:not([data-name="Method"])').all()
    numbers = [one.locator(".dpv-value").text_content() for one in shown]
    behind(watched)
    name, table = saved(
        watched, watched.page.get_by_role("button", name="Table of this view").click
    )
    assert "not-private" in name
    found = pd.read_csv(io.BytesIO(table))
    assert list(found)[:2] == ["x", "y"]
    assert found["true average"].dtype.kind == "f"
    (fact,) = found["not private"].dropna()
    for part in (SAID, "columns x, y", "PrivTHR", "ε 1 ", "g 40", "p 0.1", "seed 0", "dpviz 0.1.0"):
        assert part in fact
    name, latex = saved(watched, watched.page.get_by_role("button", name="LaTeX").click)
    assert name.endswith(".tex")
    text = latex.decode()
    assert r"\toprule" in text
    assert r"~\cite{chen2015wavecluster,dpviz}" in text
    for one in numbers:
        assert " & {} & ".format(one.replace("%", r"\%")) in text
    caption = next(line for line in text.splitlines() if r"\caption" in line)
    assert "not private: the domain spans the data" in caption
    assert r"\ensuremath{\varepsilon} 1" in caption
    name, sources = saved(watched, watched.page.get_by_role("button", name="BibTeX").click)
    assert name.endswith(".bib")
    assert "{chen2015wavecluster," in sources.decode()
    assert "@misc{dpviz," in sources.decode()


@pytest.mark.exhaustive(reason="tests/ui/test_true_sentences.py reads the sentences of all pages")
@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("compare?data=spirals", "May be published: shows made-up data"),
        ("audit", "May be published: shows made-up data"),
        ("benchmark", "May be published: shows public data sets"),
    ],
)
def test_other_pages_say_what_is_true_of_them(opened, link, said):
    watched = opened(link)
    assert said in lines_of(watched)


@pytest.mark.daily("light")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_of_subbands_are_readable_on_cells_of_noise(opened, scheme):
    link = "?view=details&level=3&method=privthr&epsilon=0.02"
    page = opened(link, scheme=scheme).page
    names = page.locator(".textpoint text").filter(has_text=re.compile("^(L|H)"))
    names.first.wait_for()
    inked = {"text": "", "none": "fill: transparent !important"}
    shots = {}
    for name, look in inked.items():
        style = page.add_style_tag(content=f".textpoint text, .textpoint tspan {{ {look} }}")
        shots[name] = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        style.evaluate("one => one.remove()")
    found = []
    for box in names.evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())"):
        area = [box["left"], box["top"], box["right"], box["bottom"]]
        text, ground = (np.asarray(one.crop(area)) for one in shots.values())
        letters = np.abs(text.astype(int) - ground).max(axis=2) > 100
        # A letter is told from what is around it.
        around = ndimage.binary_dilation(letters, iterations=2)
        colours = np.array([f"#{r:02x}{g:02x}{b:02x}" for r, g, b in ground[around]])
        light = luminance(colours) + 0.05
        ratio = 1.05 / light if scheme == "dark" else light / 0.05
        found.append((ratio >= 4.5).mean())
    assert len(found) == 20
    assert min(found) > 0.98, sorted(found)
