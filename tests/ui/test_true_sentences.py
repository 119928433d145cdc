"""Every page's sentences on privacy are true for its unit, its domain, its data and the server."""

from __future__ import annotations

import ast
import html
import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from dpviz.figures.kmeans import VIEWS as KMEANS_VIEWS
from dpviz.figures.wavecluster import VIEWS as WAVECLUSTER_VIEWS
from dpviz.privacy.explain import (
    all_spent_words,
    limit_words,
    promises_little,
    scale_words,
    surest_words,
)
from dpviz.ui.session import address
from dpviz.ui.widgets.stamp import COLUMN, DECLARED, FAILS, MADE_UP, Stamp
from tests.support import ROOT
from tests.support.links import PAGES
from tests.support.tiers import daily
from tests.ui.test_compare import finish
from tests.ui.test_outside_text import drawn
from tests.ui.test_wavecluster import checked
from tests.ui.test_working_state import link_of, load, opened, visit

VIEWS = {"wavecluster": tuple(WAVECLUSTER_VIEWS), "kmeans": tuple(KMEANS_VIEWS)}

#: For each explorer, a method that has nearly all of its views.
METHOD = {"wavecluster": "privthr", "kmeans": "mcmc"}

PANELS = ("behind", "draws", "diagnosis", "goal")

OWN = {"data": "own", "columns": "a,b", "epsilon": "1"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))


def shown(test: AppTest) -> Iterator[str]:
    """All text of a page, except text in pictures."""
    protos: list[Any] = [getattr(node, "proto", None) for node in test._tree]
    while protos:
        proto = protos.pop()
        if isinstance(proto, Message):
            for field, value in proto.ListFields():
                parts = list(value) if isinstance(value, Iterable) else []
                for one in [value] if isinstance(value, str) else parts:
                    if isinstance(one, str) and field.name not in ("id", "options", "default"):
                        yield html.unescape(re.sub(r"<[^>]*>", " ", one)).replace("\\", "")
                protos += [value, *parts]


def figures(test: AppTest) -> list[dict[str, Any]]:
    """The data of each figure that the browser gets, without the arrays of the figure."""
    raws = [
        one.proto.bytes
        for one in test.get("bidi_component")
        if one.proto.component_name == "dpviz_live_figure"
    ]
    return [json.loads(raw[4 : 4 + int.from_bytes(raw[:4], "little")]) for raw in raws]


def text_of_html(test: AppTest) -> str:
    return " ".join(one.proto.body for one in test.get("html"))


def pieces(texts: Iterable[str]) -> Iterator[str]:
    """Sentences, and the parts of a line between the dots "·"."""
    for text in texts:
        yield from re.split(r"(?<=[a-z%.)][.!?])\s+|\s·\s|\n", text)


# -- a sentence about a guess names its unit ------------------------------------------------

#: Sentences about a guess, and about a factor.
SURE, LIKELY = re.compile(r"% sure at most|next to certain"), re.compile("times as likely")

CASES = [
    (page, unit, relation, epsilon)
    for page in ("wavecluster", "kmeans", "release", "compare")
    for unit in ("", "who")
    for relation in ("add_remove", "replace_one")
    for epsilon in ("0.02", "1", "2.3", "10")
]


@pytest.mark.parametrize(
    ("page", "unit", "relation", "epsilon"),
    daily(
        CASES,
        lambda one: (
            one
            in {
                ("wavecluster", "", "add_remove", "2.3"),
                ("kmeans", "who", "replace_one", "1"),
                ("release", "", "replace_one", "10"),
                ("release", "who", "add_remove", "1"),
                ("compare", "", "add_remove", "1"),
            }
        ),
    ),
)
def test_every_guess_on_a_page_names_its_unit(page, unit, relation, epsilon):
    link = {**OWN, "epsilon": epsilon, "neighbours": relation, "domain": "0,40;0,40"}
    link |= {"unit": unit, "cap": 3} if unit else {}
    if page == "release":
        link |= {"nhat": 300} if unit else {"nhat": 300, "several": "no"}
    if page == "compare":
        link |= {"methods": "privqt", "epsilons": epsilon, "draws": 1}
    if page in METHOD:
        link["method"] = METHOD[page]
    test = load(opened(page, **link))
    test.session_state["epsilon:panel"] = True
    said = list(pieces(shown(checked(test.run()))))
    unit_of = (r"whether you (are in the data|took part)", "with you as")
    if not unit:
        unit_of = (r"(whether|on) one record of yours", "with one record of yours as")
    guesses = [one for one in said if SURE.search(one)]
    factors = [one for one in said if LIKELY.search(one)]
    assert guesses
    assert factors
    for one in guesses:
        assert re.search(unit_of[0], one) or one.startswith("For three records that are in"), one
    for one in factors:
        assert unit_of[1] in one, one
    # Three records of a person are mentioned if records are protected, and only then.
    assert any("three" in one for one in guesses) == (not unit)
    # If a guess can be more than 90% certain, no green tick is shown.
    little = promises_little(float(epsilon))
    whole = " ".join(said)
    if page == "release":
        assert ("proof holds; promises little" in whole) == little
        assert ("green-badge" in whole) is not little
    if page in METHOD:
        assert ("promises little" in whole) == little
        assert ("dpv-yes" in text_of_html(test)) is not little


def literals(file: Path) -> Iterator[str]:
    """Texts of a source file; for Python, the strings without the values that are inserted."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".py":
        yield text.replace("\n", " ")
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            parts = (one.value if isinstance(one, ast.Constant) else "{}" for one in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


TEXTS = [
    file
    for pattern in ("dpviz/**/*.py", "dpviz/**/*.md", "dpviz/**/*.j2", "*.md", "docs/*.ipynb")
    for file in sorted(ROOT.glob(pattern))
    if file.name != "CHANGELOG.md"
]

#: Words that name the receiver of a promise.
WHOM = re.compile(r"record|person|\byou\b|\bSam\b|\bunit\b|data sets|\bthem\b|you as|takes? part")

PROMISED = re.compile(
    r"sure at most|times as likely|a guess (which|who|whether)|right guesses (stays|can't stay)"
    r"|right guesses[^.]* above"
)


def unsaid(text: str) -> list[str]:
    """Sentences that contain a promise but do not say to whom."""
    found = re.split(r"(?<=[.!?])\s+", text)
    return [one for one in found if PROMISED.search(one) and not WHOM.search(one)]


def test_no_text_of_the_project_promises_to_nobody_in_particular():
    assert unsaid("A guess is 73.2% sure at most.")
    assert unsaid("Well. The share of right guesses stays at or below 0.7.")
    assert not unsaid("A guess on one record of yours is 73.2% sure at most.")
    found = {
        f"{file.relative_to(ROOT)}: {one[:90]}"
        for file in TEXTS
        for text in literals(file)
        for one in unsaid(text)
        # These parts of sentences get their unit when they are combined.
        if file.name != "explain.py"
    }
    assert not found


# -- a domain from the data is not private ------------------------------------------------

#: Words that claim privacy. The word "private" as the name of one side of a run is not a claim.
CLAIMED = re.compile(r"(?<!not )(?<!NOT )\bprivate\b(?! (runs?|side|choice|map)\b)|\bsound\b")


def claims(texts: Iterable[str]) -> list[str]:
    """Claims of privacy in the texts of a page whose run is not private."""
    return [one for one in texts if CLAIMED.search(one)]


def explorer_cases() -> list[tuple[str, str]]:
    return [(page, view) for page, views in VIEWS.items() for view in views]


@pytest.mark.parametrize(
    ("page", "view"),
    daily(explorer_cases(), lambda one: one[1] in ("overview", "clusters", "chain")),
)
def test_no_picture_of_a_run_on_the_range_of_the_data_claims_to_be_private(page, view):
    method = "baseline" if view == "synthetic" else METHOD[page]
    test = load(opened(page, **OWN, method=method, view=view, domain="data", g=8, k=3))
    for panel in PANELS:
        test.session_state[f"{page}:{panel}"] = view in ("clusters", "regions")
    test.session_state[f"{page}:behind"] = True
    found = figures(checked(test.run()))
    assert found
    for one in found:
        assert not claims(drawn(one["figure"])), one["base_name"]
        assert not claims([one["alt"]]), one["alt"]
        assert "not private" in one["base_name"]
        assert "not private: the domain spans the data" in one["alt"]
    for table in test.dataframe:
        # The card contains the cost of soundness, which was measured on declared domains.
        assert "sound is" in table.value.columns or not claims(map(str, table.value.columns))
    # The card says that the run is not private, and no sentence promises a factor.
    said = " ".join(shown(test))
    assert "Method not private" in re.sub(r"\s+", " ", said)
    assert not [one for one in pieces(shown(test)) if SURE.search(one)]


@pytest.mark.parametrize("declared", [False, True])
def test_compare_calls_a_curve_sound_only_where_it_is_private(declared):
    link = {"methods": "privqt,dplloyd", "epsilons": "1", "draws": 1, "data": "own,tiny8"}
    domain = {"domain": "0,40;0,40"} if declared else {}
    test = finish(load(opened("compare", **{**OWN, **link, **domain})))
    (one,) = figures(test)
    title = one["figure"]["layout"]["title"]
    heads = [each["text"] for each in one["figure"]["layout"]["annotations"]]
    assert heads[0].endswith(" · not private") is not declared
    assert not heads[1].endswith(" · not private")
    words = " · sound" if declared else " · in part not private"
    assert title["text"].endswith(words)
    said = "not private: PrivQT, DPLloyd on visits.csv: the domain spans the data"
    assert (said in title["subtitle"]["text"]) is not declared
    table = next(each.value for each in test.dataframe if "median" in each.value.columns)
    assert set(table["variant"]) == ({"sound"} if declared else {"sound", "not private"})
    caption = next(one.value for one in test.caption if "A click on a point" in one.value)
    why = "Not private: PrivQT, DPLloyd on visits.csv: the domain spans the data. "
    assert (why in caption) is not declared
    hovers = [one.get("hovertemplate", "") for one in one["figure"]["data"]]
    assert any("not private" in each for each in hovers) is not declared


def test_a_table_of_public_data_says_that_its_method_is_not_private():
    table = pd.DataFrame({"x": [1, 2, 3]})
    assert list(MADE_UP.on_table(table)) == ["x"]
    fails = Stamp(allowed=True, shows="made-up data", fails="the domain spans the data")
    (text, *rest) = fails.on_table(table)[FAILS]
    assert "not private: the domain spans the data" in text
    assert rest == ["", ""]
    secret = Stamp(allowed=False, shows="true data", fails="no noise")
    assert "not private: no noise" in secret.on_table(table)[COLUMN][0]
    assert (MADE_UP.file, fails.file) == ("dpviz-exploration", "dpviz-exploration-not-private")


# -- who may see the data ------------------------------------------------------------------

#: Sentences that are true only for data that need protection.
SECRET = re.compile(r"[Nn]ot for publication|owner only|for the owner|with the owner|stay with you")


def secrets(test: AppTest) -> list[str]:
    """Sentences that forbid to publish a page's pictures, except sentences about releases."""
    alts = [one["alt"] for one in figures(test)]
    return [one for one in pieces([*shown(test), *alts]) if SECRET.search(one)]


@pytest.mark.parametrize("page", ["wavecluster", "kmeans", "compare"])
@pytest.mark.parametrize("kind", ["sample", "own", "declared"])
def test_only_own_data_that_nobody_declared_public_are_kept_back(page, kind):
    own = {**OWN, "domain": "0,40;0,40"} if kind != "sample" else {"data": "tiny8"}
    link = {"methods": "privqt", "epsilons": "1", "draws": 1} if page == "compare" else {}
    test = opened(page, **own, **link)
    if kind != "sample":
        load(test)
    if kind == "declared":
        (switch,) = (one for one in test.toggle if one.label == "These data are public")
        assert not switch.value
        checked(switch.set_value(True).run())
    found = figures(test)
    public = kind != "own"
    shows = DECLARED.shows if kind == "declared" else MADE_UP.shows
    assert bool(secrets(test)) is not public
    assert (f"May be published: shows {shows}" in found[0]["alt"]) is public
    assert ("not private" in found[0]["base_name"].replace("-", " ")) is not public


def test_what_is_declared_public_is_these_columns_of_this_file_and_nothing_else():
    test = load(opened("wavecluster", **OWN, method="privqt", g=8))
    (switch,) = (one for one in test.toggle if one.label == "These data are public")
    checked(switch.set_value(True).run())
    link = link_of(test)
    # The declaration is also valid on the other pages, and a link contains the declaration.
    visit(test, "kmeans")
    assert not secrets(test)
    visit(test, "wavecluster", **link)
    assert not secrets(test)
    # The declaration is not valid for other columns, for another file, or in somebody else's link.
    (across,) = (one for one in test.selectbox if one.label == "Across")
    checked(across.set_value("c").run())
    assert secrets(test)
    other = "\n".join(["who,a,b,c", *(f"{i},{i % 7},{i % 5},1" for i in range(50))]).encode()
    assert secrets(load(opened("wavecluster", **link), content=other))
    # A release page does not have this switch.
    visit(test, "release")
    assert not [one for one in test.toggle if "public" in one.label]


def test_a_wrong_digest_in_a_link_is_said_and_means_nothing():
    test = load(opened("wavecluster", **OWN, unprotected="yes"))
    assert any("declare the data public again" in one.value for one in test.warning)
    assert secrets(test)


# -- where a file goes -------------------------------------------------------------------

#: Sentences that are true only on one's own computer.
LOCAL = re.compile(r"[Nn]othing leaves|this computer|~/|/home/")


@pytest.mark.parametrize("page", daily(PAGES, lambda page: page in ("wavecluster", "about")))
@pytest.mark.parametrize("shared", [False, True])
def test_a_shared_server_never_says_that_nothing_leaves_this_computer(page, shared, monkeypatch):
    if shared:
        monkeypatch.setenv(address.SHARED, "1")
    test = opened(page, **({"data": "own"} if page in ("wavecluster", "kmeans", "release") else {}))
    said = [one for one in pieces(shown(test)) if LOCAL.search(one)]
    if shared:
        assert not said
    if page in ("wavecluster", "about"):
        assert bool(said) is not shared


def test_the_scale_of_epsilon_is_that_of_the_guess() -> None:
    """Numbers of right guesses in 100 are e^epsilon / (1 + e^epsilon), rounded up."""
    told = scale_words(0.5)
    stated = ((0.1, "with ε 0.1"), (1.0, "with ε 1"), (2 * 0.5, "after 2"), (5 * 0.5, "after 5"))
    for epsilon, words in stated:
        right = math.ceil(100 / (1 + math.exp(-epsilon)))
        assert f"at most {right} times in 100 {words}" in told
    assert "nearly always after 10" in told  # 99.4 times in 100
    levels = {0.5: "strong.", 1.0: "strong.", 3.0: "reasonable.", 10.0: "reasonable.", 11.0: "weak"}
    for epsilon, level in levels.items():
        assert f"weak to none), it is {level}" in scale_words(epsilon)


def test_the_rest_of_a_lifetime_budget_is_said_with_what_all_of_it_means() -> None:
    told = limit_words(3.0, 1.1)
    assert "is ε 3; 1.9 is left." in told
    assert "is ε 3; nothing is left." in limit_words(3.0, 3.0)
    assert "at most 74 times in 100: by the scale above, strong." in all_spent_words(1.0)
    # A usual scale is no praise for a guess that is right nearly always.
    for epsilon in (2.2, 3.0, 5.0, 10.0):
        for words in (all_spent_words(epsilon), scale_words(epsilon)):
            assert "reasonable. dpviz calls this little protection" in words
    assert "little" not in scale_words(2.1) + all_spent_words(2.1)


def test_words_of_certainty_are_rounded_up():
    assert [surest_words(one) for one in np.log([9, 9.01])] == [
        "90% sure at most",
        "90.1% sure at most",
    ]


# -- large numbers are readable -----------------------------------------------------------

#: A number of five digits or more without separators, that is no part of a name, link or code.
UNREADABLE = re.compile(r"(?<![\w.,;=&/#:\"'-])\d{5,}(?![\w;])")

LARGE = pd.DataFrame(np.random.default_rng(0).normal(500_000, 30_000, (12_345, 2)).round(1))


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("wavecluster", {"method": "privthr", "view": "details", "level": 2, "epsilon": 123456}),
        ("wavecluster", {"method": "baseline", "view": "synthetic", "outside": "drop"}),
        ("kmeans", {"method": "mcmc", "view": "regions"}),
        ("kmeans", {"method": "eugkm", "view": "grid", "outside": "drop"}),
        ("compare", {"methods": "privqt,privthr", "epsilons": "1", "draws": 1}),
        ("release", {"seed": 10**12}),
    ],
)
def test_large_numbers_have_separators_in_every_sentence(page, link):
    content = LARGE.to_csv(header=["a", "b"], index=False).encode()
    test = opened(page, **{**OWN, "domain": "0,1000000;400000,1000000", **link})
    test = load(test, content=content)
    for panel in PANELS:
        test.session_state[f"{page}:{panel}"] = True
    test = finish(checked(test.run()))
    found = [
        one
        for text in [*shown(test), *(figure["alt"] for figure in figures(test) if "alt" in figure)]
        if not text.startswith(("{", "[", "dpviz ", "from dpviz", "import "))
        for one in pieces([text])
        if UNREADABLE.search(one)
    ]
    assert not found
