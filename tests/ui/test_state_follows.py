"""Every control on every pair of pages: its value follows, or the page says that it does not.

The table of controls is read from the pages. A user sets a control on one page, goes to another
page and returns. If the control has the same meaning on both pages, its value is the same on both
pages, or one sentence says that the value is not used. When the user returns to the first page,
nothing has changed there.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from dpviz.families import CARDS
from dpviz.ui.audit import page as audit_page
from dpviz.ui.compare import view as compare_view
from dpviz.ui.compare.controls import OF_OWN_DATA
from dpviz.ui.data.domain_panel import DRAWN, DRAWN_KEY
from dpviz.ui.data.not_taken import NOT_USED, OF_THEIR_OWN
from dpviz.ui.data.state import UPLOAD
from dpviz.ui.explorer.explorer import Explorer
from dpviz.ui.game import page as game
from dpviz.ui.learn import page as learn_page
from dpviz.ui.reference import about, benchmark, docs, glossary, papers
from dpviz.ui.release import view as release_view
from dpviz.ui.session import state as links
from dpviz.ui.session.state import Control, UrlState, format_value
from tests.support.controls import control
from tests.support.links import PAGES, opened
from tests.support.tiers import daily
from tests.ui.test_wavecluster import checked
from tests.ui.test_working_state import link_of, load, visit

TABLE = b"a,b,c,d,e,who,kind\n" + b"".join(
    b"%d.5,%d.5,%d,%d,%d,%d,%d\n"
    % (row % 31, row % 37, row % 11, row % 13, row % 17, row // 3, row % 3)
    for row in range(300)
)

FIVE = b"\n".join(row.rsplit(b",", 2)[0] for row in TABLE.splitlines())

#: Pages that have the data and the settings of a run.
RUNS = ("wavecluster", "kmeans", "compare", "release")

#: Controls that have the same name but another meaning on these pages.
DIFFERENT = {"note", "view", "score", "draws", "points", "with", "seed"}

#: Controls that change only the appearance; a page without maps or curves does not mention them.
LOOKS = {"axes", "lines", "points", "line"}

#: Values that are not defaults, in the form of a link; the first value that a page accepts is set.
VALUES = {
    "data": ("spirals",), "rows": ("readable",), "format": ("names",), "columns": ("b,a", "2"),
    "skip": ("1",), "missing": ("17.5",), "encoding": ("cp1252",),
    "classes": ("kind",), "unit": ("who",), "cap": ("2",),
    "domain": ("0,50;0,60", "0,900000;0,800000"), "outside": ("drop",),
    "neighbours": ("replace_one",), "axes": ("equal",), "lines": ("hidden",),
    "points": ("shown", "3"), "method": ("privthr", "dplloyd"), "methods": ("privthr", "eugkm"),
    "variant": ("published", "sound"), "epsilon": ("0.3",), "alpha": ("0.35",), "g": ("23",),
    "p": ("0.77",), "wavelet": ("db2",), "level": ("2",), "synopsis": ("quadtree",),
    "choose": ("private",), "k": ("7",), "t": ("9",), "start": ("random",),
    "schedule": ("halving",), "geometry": ("cube",), "temperature": ("posterior",),
    "cells": ("refined",), "seed": ("11",), "nhat": ("5000",), "standin": ("spirals",),
    "persons": ("800",), "several": ("no",), "step": ("3",),
    "view": ("counts", "noise", "scores"), "line": ("mean",), "left": ("silent",),
    "draws": ("3", "700"), "low": ("0.2",), "high": ("3",), "epsilons": ("0.5, 1",),
    "values": ("0.2, 0.4",), "score": ("f_measure",), "price": ("0.5",), "evidence": ("code",),
    "technique": ("privqt-sound",), "draw": ("4",), "claim": ("2",), "asked": ("all",),
    "runs": ("900",), "family": ("kmeans",), "group": ("seen",), "kind": ("dense",),
    "value": ("mean",), "paper": ("002",), "case": ("map",), "part": ("scores",),
    "preset": ("000-6",), "i": ("2",), "lesson": ("noise",),
    "projector": ("on",), "note": ("1.3.1",), "with": ("privthr", "eugkm"),
}  # fmt: skip

#: Name of a control in the sentence of a page that does not use the control's value.
CALLED = {
    "epsilon": "ε 0.3", "alpha": "α 0.35", "g": "g 23", "p": "p 0.77", "wavelet": "db2",
    "level": "level 2", "synopsis": "quadtree", "choose": "privately", "k": "K 7", "t": "T 9",
    "start": "random", "schedule": "halving", "geometry": "cube", "temperature": "posterior",
    "cells": "refined", "classes": "class column kind", "domain": "domain",
    "outside": "points outside", "variant": "variant published", "columns": "columns",
}  # fmt: skip


#: Controls whose values can't be made up: rooms of a class, sheets, digests.
NAMELESS = {
    "sheet", "room", "key", "page", "set", "show", "scenario", "i", "axis", "of", "unprotected",
}  # fmt: skip

#: Things that a page always does, without a control.
ALWAYS = {("release", "rows")}

#: Pages with only text.
WORDS = ("about", "docs", "glossary", "papers")

#: Controls that are tested every day because they are lost most easily, as (data, page, control).
DAILY = {
    ("sample", "kmeans", "k"), ("sample", "wavecluster", "g"), ("sample", "compare", "methods"),
    ("own", "kmeans", "columns"), ("own", "kmeans", "domain"), ("own", "release", "k"),
    ("sample", "release", "k"),
    ("own", "compare", "unit"), ("sample", "audit", "variant"),
}  # fmt: skip


#: The part of an explorer that draws.
EXPLORE = Explorer.__dict__["explore"]


def settle(state: UrlState, *given: object) -> bool:
    return True


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages show their controls but draw nothing, so that many visits take little time."""
    monkeypatch.setattr(Explorer, "explore", settle)
    monkeypatch.setattr(compare_view, "_draw", lambda state, request: state.write())
    monkeypatch.setattr(compare_view, "begin_if_new", lambda request, **_: None)
    monkeypatch.setattr(release_view, "rehearsal_panel", lambda *given, **more: None)
    for page in (benchmark, audit_page, learn_page, game, papers, about, docs, glossary):
        monkeypatch.setattr(page, "build", lambda state: state.write())


@cache
def table() -> dict[str, dict[str, Control]]:
    """Controls of all pages, as the pages create them."""
    found: dict[str, dict[str, Control]] = {}
    before = UrlState.__init__

    def note(state: UrlState, page: str, controls: dict[str, Control], *more: object) -> None:
        found[page] = dict(controls)
        before(state, page, controls, *more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(UrlState, "__init__", note)
        for page in PAGES:
            opened(page, {})
    return {page: found[page] for page in PAGES}


def value_of(page: str, name: str) -> Any:
    """A value of a control that differs from the control's default."""
    control = table()[page][name]
    for text in VALUES[name]:
        try:
            value = control.parse(text)
        except ValueError:
            continue
        if value != control.default:
            return value
    raise AssertionError(f"VALUES has none for {name} of {page}")


def names_on(data: str, page: str) -> list[str]:
    """Those controls of a page for which a value can be made up, with a sample set or own data."""
    of_own = (
        "format", "skip", "missing", "encoding", "rows", "columns", "classes", "unit", "cap",
        "persons", "several",
    )  # fmt: skip
    left_out = ("data", "preset") if data == "own" else of_own
    if page not in RUNS:
        left_out = ()
    elif (data, page) == ("sample", "compare"):
        left_out += OF_OWN_DATA  # not on the screen
    return [name for name in table()[page] if name in VALUES and name not in left_out]


def open_page(page: str, *, own: bool) -> AppTest:
    """Open a page in a new session, with a file if it has own data."""
    test = checked(opened(page, {"data": "own"} if own else {}))
    if own:
        load(test, "table.csv", TABLE)
        if page == "release":
            set_by_hand(test, page, "columns", "a,b")
    return test


def set_by_hand(test: AppTest, page: str, name: str, value: Any) -> None:
    """Set a control as a user does, after the page was drawn."""
    test.session_state[f"{page}:{name}"] = value
    checked(test.run())


def held(test: AppTest, page: str, name: str) -> Any:
    return test.session_state[f"{page}:state"].values[name]


def same(one: Any, other: Any) -> bool:
    return one == other or format_value(one) == format_value(other)


def said(test: AppTest) -> str:
    return " ".join(one.value for one in test.caption)


def methods_on(test: AppTest, page: str) -> set[str]:
    if page == "compare":
        return set(held(test, page, "methods"))
    return {held(test, page, "method")} if page in RUNS else set()


def fault(test: AppTest, name: str, value: Any, here: str) -> str:
    """The fault if another page has another value and does not say so; "" if there is no fault."""
    control = table()[here].get(name)
    has = control is not None and control.shared
    if here in WORDS or (here, name) in ALWAYS or (name in LOOKS and not has):
        return ""
    if name in ("method", "methods"):
        shown = methods_on(test, here)
        words = CARDS[value if isinstance(value, str) else value[0]].title
        used = bool(shown & ({value} if isinstance(value, str) else set(value)))
    else:
        shown, words = held(test, here, name) if has else "nothing", CALLED.get(name, name)
        used = has and same(shown, value)
        if name == "data" and here == "compare":
            used = value in shown
        if here == "compare" and name in OF_OWN_DATA:
            used = used and UPLOAD in held(test, here, "data")
    text = said(test)
    if used or (here in OF_THEIR_OWN and OF_THEIR_OWN[here] in text and not has):
        return ""
    # A page that has the control needs a reason for not using the value.
    excused = not has or name in ("columns", "domain", "variant", "method", "methods", "choose")
    excused = excused or (here == "compare" and name in OF_OWN_DATA)
    if excused and words in not_used(test):
        return ""
    way_out = "" if has or here in OF_THEIR_OWN else "; give it a sentence in OF_THEIR_OWN"
    return f"{here} shows {shown} and says {not_used(test)!r}{way_out}"


def not_used(test: AppTest) -> str:
    """The page's sentence about values that it does not use; there is at most one caption."""
    found = [one.value for one in test.caption if one.value.startswith(NOT_USED)]
    assert len(found) < 2
    return "".join(found)


def faults(data: str, page: str, name: str) -> list[str]:
    """Set a control on a page; visit each other page, and return to this page after each visit."""
    test, value = open_page(page, own=data == "own"), value_of(page, name)
    others = [one for one in PAGES if one != page]
    before = {}
    if not table()[page][name].shared:
        before = {here: visit(test, here) for here in others}
        visit(test, page)
    set_by_hand(test, page, name, value)
    link, wrong = link_of(test), []
    if not same(held(test, page, name), value):
        return [f"{name} of {page} becomes {held(test, page, name)}, not {value}"]
    if name == "data" and page == "compare":
        value = value[0]
    for here in others:
        found = visit(test, here)
        if before and found != before[here]:
            wrong.append(f"{name} of {page} changes {here}: {before[here]} becomes {found}")
        elif not before and (what := fault(test, name, value, here)):
            wrong.append(f"{name} = {value} of {page}: {what}")
        if (after := visit(test, page)) != link:
            wrong.append(f"{name} of {page} after a look at {here}: {link} becomes {after}")
    return wrong


@pytest.mark.parametrize(("data", "page", "name"), sorted(DAILY))
def test_a_control_follows_to_every_page_or_the_page_says_that_it_does_not(
    data: str, page: str, name: str
) -> None:
    assert faults(data, page, name) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("data", "page"), [*(("sample", one) for one in PAGES), *(("own", one) for one in RUNS)]
)
def test_every_control_follows_to_every_page_or_the_page_says_that_it_does_not(
    data: str, page: str
) -> None:
    assert [one for name in names_on(data, page) for one in faults(data, page, name)] == []


def test_the_table_forgets_no_control() -> None:
    for page, controls in table().items():
        for name, one in controls.items():
            assert name in VALUES or name in NAMELESS, f"give {name} of {page} a value in VALUES"
            if name in VALUES:
                assert value_of(page, name) != one.default
    # Controls of the same name on two pages of runs are shared, unless their meanings differ.
    for name in {one for page in RUNS for one in table()[page]} - DIFFERENT:
        pages = [page for page in RUNS if name in table()[page]]
        assert len(pages) < 2 or all(table()[page][name].shared for page in pages), name


# -- the first reported cases --------------------------------------------------------------

#: Different bounds for each column of FIVE.
BOUNDS = {"a": "0.0,40.0", "b": "0.0,50.0", "c": "0.0,20.0", "d": "-1.0,30.0", "e": "0.0,60.0"}


FIRST_FIGURE = ("000-6", "button")


def domain_of(*columns: str) -> str:
    return ";".join(BOUNDS[one] for one in columns)


def many_columns(**link: str) -> AppTest:
    """k-means on five columns of a file of own data, with typed bounds."""
    columns = "a,b,c,d,e"
    given = {"data": "own", "columns": columns, "domain": domain_of(*columns.split(",")), **link}
    return load(opened("kmeans", given), "table.csv", FIVE)


def test_own_data_with_many_columns_goes_through_all_pages() -> None:
    test = many_columns()
    set_by_hand(test, "kmeans", "k", 7)
    set_by_hand(test, "kmeans", "epsilon", 0.3)
    set_by_hand(test, "kmeans", "method", "dplloyd")
    before = link_of(test)
    mine = {"data": "own", "columns": "a,b,c,d,e", "domain": domain_of(*"abcde"), "k": "7"}
    assert mine.items() <= before.items()
    compared = visit(test, "compare")
    assert mine.items() <= compared.items()
    assert "dplloyd" in compared["methods"].split(",")
    assert not_used(test) == f"{NOT_USED}: ε 0.3 (ε has a range here)."
    released = visit(test, "release")
    assert (mine | {"epsilon": "0.3", "method": "dplloyd"}).items() <= released.items()
    assert not_used(test) == ""
    assert visit(test, "kmeans") == before
    shown = visit(test, "wavecluster")
    two = {"columns": "a,b", "domain": domain_of("a", "b"), "epsilon": "0.3"}
    assert two.items() <= shown.items()
    said_here = not_used(test)
    for words in ("K 7 (only k-means has it)", "5 columns (a and b are used)", "DPLloyd (Two-"):
        assert words in said_here
    assert visit(test, "kmeans") == before


def test_bounds_belong_to_columns_and_not_to_positions() -> None:
    # If all columns are used, they have the table's order; if only two are used, the axes' order.
    test = many_columns(columns="d,b,a,c,e", method="dplloyd")
    assert link_of(test)["domain"] == domain_of(*"abcde")
    assert visit(test, "wavecluster")["domain"] == domain_of("d", "b")
    assert visit(test, "release")["domain"] == domain_of(*"abcde")
    assert visit(test, "kmeans")["domain"] == domain_of(*"abcde")
    # A box drawn on a picture is marked on each page, even if another value was typed.
    test.session_state[DRAWN_KEY] = domain_of("d", "b")
    visit(test, "wavecluster")
    for page in ("kmeans", "release"):
        visit(test, page)
        assert DRAWN in said(test)
    # If the user changes bounds on one page, the bounds of the same columns change on other pages.
    visit(test, "wavecluster")
    set_by_hand(test, "wavecluster", "domain", "5.0,6.0;7.0,8.0")
    wanted = ";".join([BOUNDS["a"], "7.0,8.0", BOUNDS["c"], "5.0,6.0", BOUNDS["e"]])
    assert visit(test, "kmeans")["domain"] == wanted


@pytest.mark.parametrize(
    ("typed", "domain"),
    [
        ("0, 70", ";".join(["0.0,70.0"] * 5)),
        ("0 40\n0\t50\n0,20\n-1, 30\n0 , 60\n", domain_of(*"abcde")),
        ("0,40;0,50;0,20;-1,30;0,60", domain_of(*"abcde")),
    ],
)
def test_one_box_declares_the_bounds_of_many_columns(typed: str, domain: str) -> None:
    test = many_columns(method="dplloyd")
    set_by_hand(test, "kmeans", "domain", "data")
    set_by_hand(test, "kmeans", "domain", "declared")
    (box,) = (one for one in test.text_area if one.label == "All columns at once")
    checked(box.input(typed).run())
    assert link_of(test)["domain"] == domain
    boxes = [one for one in test.text_input if one.label.endswith(": from, to")]
    assert [one.label[0] for one in boxes] == list("abcde")
    shown = [tuple(map(float, one.value.split(","))) for one in boxes]
    wanted = [tuple(map(float, one.split(","))) for one in domain.split(";")]
    assert shown == wanted
    # Two columns have their two boxes.
    visit(test, "wavecluster")
    assert not any(one.label == "All columns at once" for one in test.text_area)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("0,1;0,2;0,3", "The list has 3 ranges, but there are 5 columns"),
        ("\n".join(["0,1"] * 6), 'for each of "a", "b", "c", "d", "e", in this order'),
        ("5,1", "the first bound must be less"),
        ("here", "is no pair of bounds"),
    ],
)
def test_a_list_of_bounds_that_does_not_fit_is_one_sentence(typed: str, said: str) -> None:
    test = many_columns(method="dplloyd")
    before = link_of(test)
    (box,) = (one for one in test.text_area if one.label == "All columns at once")
    checked(box.input(typed).run())
    (error,) = (one.value for one in test.error)
    assert said in error
    assert link_of(test) == before


@pytest.mark.parametrize("shown", ["wavecluster", "kmeans"])
def test_a_new_comparison_is_of_the_explorer_that_was_shown_last(
    monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    monkeypatch.setattr(Explorer, "explore", EXPLORE)
    monkeypatch.setattr(compare_view, "_draw", lambda state, request: state.write())
    monkeypatch.setattr(compare_view, "begin_if_new", lambda request, **_: None)
    test = opened("wavecluster", {})
    set_by_hand(test, "wavecluster", "method", "privthr")
    visit(test, "kmeans")
    set_by_hand(test, "kmeans", "method", "dplloyd")
    if shown == "wavecluster":  # nothing is chosen there again
        visit(test, "wavecluster")
    methods = visit(test, "compare")["methods"].split(",")
    assert {CARDS[one].family for one in methods} == {shown}
    assert {"wavecluster": "privthr", "kmeans": "dplloyd"}[shown] in methods


def test_the_link_to_a_release_has_the_bounds_in_the_order_of_its_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Explorer, "explore", EXPLORE)
    test = many_columns(columns="d,b,a,c,e", method="dplloyd")
    (link,) = (one.proto for one in test.get("page_link") if "Release once" in one.proto.label)
    found = dict(parse_qsl(link.query_string))
    assert found["columns"] == "d,b,a,c,e"
    assert visit(test, "release", **found)["domain"] == domain_of(*"abcde")
    assert test.session_state["own:released"].shown.current.columns == tuple("abcde")


def test_columns_that_a_page_has_no_room_for_come_back_on_the_same_page() -> None:
    test = many_columns(method="dplloyd")
    visit(test, "compare")
    link = link_of(test)
    set_by_hand(test, "compare", "methods", ["dplloyd", "privqt"])
    assert (link_of(test)["columns"], link_of(test)["domain"]) == ("a,b", domain_of("a", "b"))
    assert "5 columns (a and b are used)" in not_used(test)
    set_by_hand(test, "compare", "methods", ["dplloyd", "eugkm", "hybrid", "dprefine"])
    assert link_of(test) | {"score": link["score"]} == link
    # The explorer also keeps all five columns.
    set_by_hand(test, "compare", "methods", ["privqt"])
    assert visit(test, "kmeans")["columns"] == "a,b,c,d,e"


@pytest.mark.parametrize(
    ("name", "way"),
    daily(product(("000-6", "003-1", "004-1"), ("button", "box")), lambda one: one == FIRST_FIGURE),
)
def test_a_figure_of_a_paper_changes_no_choice(name: str, way: str) -> None:
    test = many_columns(method="dplloyd", epsilon="0.3", k="7", neighbours="replace_one")
    before = link_of(test)
    own = visit(test, "compare")
    choose_figure(test, name)
    (words,) = (one.value for one in test.caption if one.value.startswith("This figure has"))
    assert words.endswith("Your own choices, here and on other pages, stay as they are.")
    assert ("Fifteen Gaussians" in words) == (name == "000-6")
    assert link_of(test)["preset"] == name
    figure = link_of(test)
    for page in ("wavecluster", "release", "audit"):
        visit(test, page)
    assert visit(test, "kmeans") == before
    assert visit(test, "compare") == figure
    # Changes that were made on other pages meanwhile are kept, as if no figure had been chosen.
    visit(test, "kmeans")
    set_by_hand(test, "kmeans", "k", 9)
    set_by_hand(test, "kmeans", "neighbours", "add_remove")
    visit(test, "compare")
    if way == "box":
        choose_figure(test, "none")
    else:
        (button,) = (one for one in test.button if one.label == "Back to your own choices")
        checked(button.click().run())
    assert link_of(test) == own | {"k": "9", "neighbours": "add_remove"}


def choose_figure(test: AppTest, name: str) -> None:
    checked(control(test.selectbox, "compare:preset").set_value(name).run())


def test_a_link_to_a_figure_and_back_in_the_browser_change_no_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    test = many_columns(method="dplloyd")
    before, own = link_of(test), visit(test, "compare")
    choose_figure(test, "000-6")
    figure = link_of(test)
    for link in (own, figure, own, figure):
        test.query_params.clear()
        test.query_params.update(link)
        with monkeypatch.context() as patched:
            patched.setattr(links, "_moved_in_history", lambda: True)
            checked(test.run())
        assert link_of(test) == link
    assert visit(test, "kmeans") == before
    assert visit(test, "compare", **figure) == figure
    assert visit(test, "kmeans") == before
    # A new window has no choices of the user, so the choices of the figure remain.
    alone = opened("compare", figure)
    choose_figure(alone, "none")
    assert link_of(alone)["methods"] == figure["methods"]
    assert "Fifteen Gaussians" not in said(alone)


def test_an_empty_list_on_the_compare_page_changes_no_data_elsewhere() -> None:
    test = many_columns(method="dplloyd")
    before = link_of(test)
    visit(test, "compare")
    set_by_hand(test, "compare", "data", [])
    set_by_hand(test, "compare", "methods", [])
    assert visit(test, "kmeans") == before


def test_compare_begins_with_the_family_that_was_explored() -> None:
    test = opened("kmeans", {})
    assert visit(test, "compare")["methods"] == "dplloyd,eugkm,hybrid,dprefine"
    # After the first visit, the methods of this page change only if the user chooses methods.
    visit(test, "wavecluster")
    assert visit(test, "compare")["methods"] == "dplloyd,eugkm,hybrid,dprefine"
    visit(test, "wavecluster")
    set_by_hand(test, "wavecluster", "method", "baseline")
    found = visit(test, "compare")["methods"].split(",")
    assert found == ["privqt", "privthr", "privthrem", "twostage", "baseline"]
    assert visit(test, "release")["method"] == "baseline"


def test_a_release_of_own_data_keeps_k_but_lets_the_method_choose() -> None:
    test = load(opened("kmeans", {"data": "own", "columns": "a,b"}), "table.csv", TABLE)
    set_by_hand(test, "kmeans", "k", 7)
    found = visit(test, "release")
    assert (found["k"], found["choose"]) == ("7", "private")
    assert not_used(test) == f"{NOT_USED}: K 7 (the method chooses it here)."
    for page in ("kmeans", "release", "wavecluster", "release"):
        found = visit(test, page)
    assert (found["k"], found["choose"]) == ("7", "private")
    # On this page, the user may choose that the value is used.
    set_by_hand(test, "release", "choose", "given")
    assert not_used(test) == ""


STARTING = "starting values for any data, not chosen for yours"


@pytest.mark.parametrize("page", ["wavecluster", "kmeans"])
def test_own_data_do_not_start_with_the_settings_of_a_sample_set(page: str) -> None:
    test = opened(page, {"data": "checkins", "epsilon": "0.3"})
    assert held(test, page, "k" if page == "kmeans" else "g") > 20
    set_by_hand(test, page, "epsilon", 0.3)
    (box,) = (one for one in test.selectbox if one.label == "Data")
    checked(box.set_value("own").run())
    load(test, "table.csv", TABLE)
    found = link_of(test)
    wanted = {"k": "8"} if page == "kmeans" else {"g": "64", "p": "0.5"}
    assert (wanted | {"epsilon": "0.3"}).items() <= found.items()
    assert STARTING in said(test)
    # A release has the same values; no record has decided them.
    assert wanted.items() <= visit(test, "release").items()
    visit(test, page)
    name = next(iter(wanted))
    set_by_hand(test, page, name, 5)
    assert STARTING not in said(test)
    link = link_of(test)
    visit(test, "audit")
    assert visit(test, page) == link


@pytest.mark.parametrize("first", ["kmeans", "wavecluster"])
def test_k_starts_at_the_number_of_classes_and_a_release_says_so(first: str) -> None:
    test = load(opened(first, {"data": "own", "columns": "a,b"}), "table.csv", TABLE)
    set_by_hand(test, first, "classes", "kind")
    assert visit(test, "kmeans")["k"] == "3"
    words = "K 3 was taken from the classes of your data"
    given = {"columns": "a,b", "data": "own", "method": "eugkm", "k": "3"}
    assert visit(test, "release", **given)["k"] == "3"
    assert words in said(test)
    visit(test, "release", **given, choose="private")
    assert words not in said(test)
    # A number that the user chose stays.
    visit(test, "kmeans")
    set_by_hand(test, "kmeans", "k", 7)
    set_by_hand(test, "kmeans", "classes", "")
    set_by_hand(test, "kmeans", "classes", "c")
    assert link_of(test)["k"] == "7"
    visit(test, "release", **given | {"k": "7"})
    assert words not in said(test)


def test_a_link_keeps_its_k_beside_classes() -> None:
    given = {"data": "own", "columns": "a,b", "classes": "kind", "k": "8"}
    test = load(opened("kmeans", given), "table.csv", TABLE)
    assert link_of(test)["k"] == "8"


def test_nobody_who_chose_nothing_reads_of_choices() -> None:
    for first in ("", "kmeans", "compare", "release"):
        test = opened(first or "wavecluster", {})
        for page in PAGES:
            visit(test, page)
            assert not_used(test) == ""
            assert not any(one in said(test) for one in OF_THEIR_OWN.values())
