"""Hundreds of random links, valid and hostile: every page opens and reports its corrections.

The links are the same in every run. A new session opens each link, as from an address bar.
"""

from __future__ import annotations

import random
import re

import pytest
from streamlit.testing.v1 import AppTest

from dpviz.audit.scenarios import scenarios
from dpviz.base.errors import shown
from dpviz.data.samples import sample_names
from dpviz.experiments.illustrations import FIGURES
from dpviz.families import CARDS, FAMILIES, SCORES
from dpviz.figures.kmeans import VIEWS as KMEANS_VIEWS
from dpviz.figures.wavecluster import VIEWS
from dpviz.teaching.game.rules import CASES
from dpviz.ui.compare import runs as compare_runs
from dpviz.ui.compare.controls import AXES
from dpviz.ui.game.page import LEVEL_TITLES
from dpviz.ui.messages import plain_text
from dpviz.ui.session import job
from dpviz.wavecluster.wavelet import wavelet_names
from tests.support.hostile import TEXTS, random_texts
from tests.support.links import PAGES, opened, parameters
from tests.support.tiers import daily

#: Number of links of each page, 20 unless given here; k-means takes longest.
LINKS = {
    "wavecluster": 110, "kmeans": 60, "compare": 110, "audit": 110, "papers": 40, "release": 110,
    "benchmark": 60, "game": 30, "glossary": 10, "about": 5, "learn": 20,
    "docs": 5,
}  # fmt: skip

#: Number of links of each page that are tested every day: the first links of the page.
DAILY = 5

#: Number of seconds after which a page is considered blocked.
HANGS = 10

NUMBERS = (
    "0", "1", "2", "3", "5", "16", "64", "0.1", "0.5", "0.9", "10", "-0", "-0.0", "-1", "1e999",
    "-1e999", "nan", "-nan", "inf", "Infinity", "0x10", "1e-400", "1e308", "1e-308", "5e-324",
    "1_0", "٣", "１６", "²", "1,5", "+2", " 3 ", "1e5", "2147483647", "2147483648", "1" * 400,
    "0." + "3" * 5000, "9" * 5000, "1e", "--1", "0b1", "1j", "True", "None",
)  # fmt: skip

DOMAINS = (
    "declared", "data", "0,1;0,1", "0,500000;0,1000000", "-9,-8;-9,-8", "1,0;0,1", "0,0;0,0",
    "nan,1;0,1", "0,inf;0,1", "-1e308,1e308;-1e308,1e308", "0,1e-320;0,1", "0,1;0,1;0,1", "0,1",
    ";", ",", ";;;", "0,1;" * 1000, "0x1,2;0,1", "1e-300,2e-300;0,1", "-0,0;-0,1",
)  # fmt: skip

LISTS = (
    "0.1,0.5,1", "0.1,,1", ",", "1,1,1", "privqt,privthr", "own", "gaussians,own", "dplloyd,privqt",
    "a,b", '"a,b",c', '"', "x,y", "\n,\n", "gaussians," * 500, "spirals,incomes,noise",
)  # fmt: skip

JUNK = (
    "", " ", "\x00", "a\x00b", "\ud7ff", "\ufffd", "\u202eabc", "a\nb", "\r\n\r\n", "\t", "%",
    "%zz", "%00", "%2500", "&=&", "#", "🙂", "é" * 300, "\u0301" * 300, "A" * 100_000,
    "<" * 100_000, "[" * 50_000 + "]" * 50_000, "*" * 10_000, "$$" * 5_000, "../../etc/passwd",
    "' or 1=1 --", "${7*7}", "{{7*7}}", "=cmd|' /C calc'!A0", "javascript:alert(1)", "[]", "{}",
    "null",
)  # fmt: skip

NAMES = (
    *sample_names(), *CARDS, *VIEWS, *KMEANS_VIEWS, *SCORES, *FIGURES, *wavelet_names()[:8],
    "own", "declared", "data", "clip", "drop", "add_remove", "replace_one", "sound", "published",
    "true", "silent", "scores", "none", "privthr-sound", "far-point", "box", "sphere", "printed",
    "uniform", "sphere_packing", "adaptive_grid", "no-such-thing",
)  # fmt: skip

KINDS = (NUMBERS, DOMAINS, LISTS, JUNK, NAMES, (*TEXTS, *random_texts(100)))

METHODS_IN_LISTS = ("privqt", "privthr,privthrem", "dplloyd", "gupt,mcmc", "privqt,dplloyd", "all")

#: Valid values of some parameters; all other parameters take numbers.
FITTING = {
    "data": (*sample_names(), "own", "gaussians,own", "spirals,incomes"),
    "columns": LISTS,
    "domain": DOMAINS,
    "outside": ("clip", "drop"),
    "neighbours": ("add_remove", "replace_one"),
    "method": (*CARDS,),
    "methods": METHODS_IN_LISTS,
    "variant": ("sound", "published"),
    "wavelet": (*wavelet_names(),),
    "view": (*VIEWS, *KMEANS_VIEWS, "data", "scores"),
    "left": ("true", "silent"),
    **{one.name: one.options for one in FAMILIES["kmeans"].parameters if one.options},
    "preset": (*FIGURES,),
    "axis": AXES,
    "values": LISTS,
    "epsilons": LISTS,
    "score": (*SCORES,),
    "of": sample_names(),
    "technique": ("privqt-sound", "privthr-published", "baseline-sound"),
    "scenario": (*{one.name for one in scenarios()},),
    "case": (*CASES,),
    "level": (*LEVEL_TITLES,),
    "room": ("", "BCDFG", "bcdfg"),
    "key": ("", "0123456789abcdef"),
}


def value(rng: random.Random, name: str) -> str | list[str]:
    """Return a value of a parameter: valid or arbitrary, sometimes several values."""
    if rng.random() < 0.05:
        return [rng.choice(rng.choice(KINDS)) for _ in range(rng.choice((2, 3, 50)))]
    fitting = sorted(FITTING.get(name, NUMBERS))
    return rng.choice(fitting if rng.random() < 0.5 else rng.choice(KINDS))


def links(page: str, number: int) -> list[dict[str, str | list[str]]]:
    """Return random links of a page, with few, all or unknown parameters."""
    rng = random.Random(page)
    names = parameters()[page]
    made = []
    for _ in range(number):
        several = min(rng.choice((1, 2, 2, 3, 5, 8, len(names))), len(names))
        chosen = rng.sample(names, several)
        if rng.random() < 0.1:
            chosen.append(rng.choice(("embed", "goal", "x" * 1000, "é", "__proto__", "a[]")))
        made.append({name: value(rng, name) for name in chosen})
    return made


@pytest.fixture(autouse=True)
def brief_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test does not wait for the jobs of a page; they end with the test."""
    monkeypatch.setattr(compare_runs, "_WAIT", 0.0)


def opened_in_time(page: str, link: dict[str, str | list[str]]) -> AppTest:
    """Open a page; if the page compiles loops first, try a second time."""
    try:
        return opened(page, link, timeout=HANGS)
    except RuntimeError:
        return opened(page, link, timeout=HANGS)


def check_sentence(said: str, link: dict[str, str | list[str]]) -> None:
    """Check that there is one plain sentence with the error and the value that is used."""
    for value in link.values():
        for text in [value] if isinstance(value, str) else value:
            for part in (text, *text.split(",")):
                for quoted in (shown(part), shown(part.strip())):
                    said = said.replace(f'"{quoted}"', "it")
    assert said.isprintable()
    assert 20 < len(said) < 400
    assert re.fullmatch(r"[A-Za-z].*[^ .,;:]\.", said)
    assert not re.search(r"[.?!] +[A-Z]|None|Error|[,;:] *[,;.]", said)


@pytest.mark.parametrize("every", daily((False, True), False.__eq__), ids=["first", "all"])
@pytest.mark.parametrize("page", PAGES)
def test_any_link_opens_its_page_and_is_corrected_in_plain_sentences(
    page: str, every: bool
) -> None:
    corrected = 0
    number = LINKS.get(page, 20) if every else DAILY
    for link in links(page, number):
        test = opened_in_time(page, link)
        job.cancel_all()
        assert not test.exception, link
        for one in (*test.warning, *test.error):
            # Without escapes, the characters would be read as Markdown.
            assert not re.search(r"(?<!\\)[<\[\]$`]|://", one.value), link
        for note in test.session_state[f"{page}:state"].notes:
            check_sentence(note, link)
            assert plain_text(note) in test.warning[0].value, link
            corrected += 1
    # A page with one control has at most one correction; a page without controls has no correction.
    names = parameters()[page]
    assert not every or corrected > number * min(1, len(names) / 4) or not names
