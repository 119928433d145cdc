"""Data set, columns, domain, unit and epsilon are one working state of all pages."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpviz.data.background import Background
from dpviz.figures.ground import Ground
from dpviz.ui.compare import runs as compare_runs
from dpviz.ui.data.domain_panel import DRAWN, DRAWN_KEY
from dpviz.ui.data.state import DataState
from dpviz.ui.explorer import kmeans as kmeans_page
from dpviz.ui.explorer import wavecluster as wavecluster_page
from dpviz.ui.explorer.explorer import Explorer
from dpviz.ui.session import state as links
from dpviz.ui.session.cache import part_of
from tests.support import APP
from tests.support.controls import control
from tests.ui.test_wavecluster import checked

SHARED = {
    "data": "spirals",
    "domain": "0.0,900000.0;0.0,900000.0",
    "outside": "drop",
    "neighbours": "replace_one",
    "epsilon": "0.7",
}
TABLE = b"who,a,b,c\n" + b"".join(
    b"%d,%d.5,%d.5,%d\n" % (row // 3, row % 31, row % 37, row % 5) for row in range(300)
)


def opened(page: str, **link: Any) -> AppTest:
    test = AppTest.from_file(APP, default_timeout=120)
    for name, value in link.items():
        test.query_params[name] = str(value)
    return checked(test.switch_page(f"pages/{page}.py").run())


def visit(test: AppTest, page: str, **link: Any) -> dict[str, str]:
    """Go to another page, by the navigation or by a link; return the link of this page."""
    test.query_params.clear()
    test.switch_page(f"pages/{page}.py")
    for name, value in link.items():
        test.query_params[name] = str(value)
    checked(test.run())
    return link_of(test)


def link_of(test: AppTest) -> dict[str, str]:
    return {name: "".join(value) for name, value in test.query_params.items()}


def load(test: AppTest, name: str = "visits.csv", content: bytes = TABLE) -> AppTest:
    test.file_uploader(key="own:file").set_value((name, content, "text/csv"))
    return checked(test.run())


def notes(test: AppTest) -> str:
    return " ".join(one.value for one in (*test.info, *test.caption))


@pytest.mark.parametrize("first", ["wavecluster", "kmeans"])
def test_what_a_link_gives_follows_to_every_page(first: str) -> None:
    test = opened(first, **SHARED)
    for page in ("kmeans", "wavecluster", "kmeans"):
        assert SHARED.items() <= visit(test, page).items()
    release = visit(test, "release")
    assert SHARED.items() <= release.items()
    assert visit(test, "audit")["epsilon"] == "0.7"
    compared = visit(test, "compare")
    assert (compared["data"], compared["neighbours"]) == ("spirals", "replace_one")
    # On that page, bounds are only for own data.
    assert "domain" not in compared
    assert SHARED.items() <= visit(test, "wavecluster").items()


def test_a_change_follows_and_what_a_family_has_of_its_own_does_not() -> None:
    test = opened("kmeans", data="incomes", k=7, method="eugkm")
    checked(control(test.selectbox, "kmeans:data").set_value("shapes").run())
    shapes = link_of(test)
    assert visit(test, "wavecluster")["data"] == "shapes"
    checked(control(test.number_input, "wavecluster:seed").set_value(5).run())
    test.session_state["wavecluster:epsilon"] = 0.3
    checked(test.run())
    found = visit(test, "kmeans")
    # The seed of a run belongs to this run, for example of one that a click on a curve opened.
    assert found == shapes | {"epsilon": "0.3"}
    assert visit(test, "wavecluster")["seed"] == "5"
    visit(test, "kmeans")
    assert found["method"] == "eugkm"
    # Another data set has its own parameters, on the page where it is chosen and on the next page.
    checked(control(test.selectbox, "kmeans:data").set_value("spirals").run())
    there = opened("wavecluster", data="spirals", epsilon=0.3, seed=5)
    assert visit(test, "wavecluster") == link_of(there)


def test_defaults_of_a_page_are_no_news() -> None:
    test = opened("audit", epsilon=2)
    visit(test, "benchmark")
    found = visit(test, "kmeans")
    assert (found["data"], found["epsilon"], found["seed"]) == ("gaussians", "2", "0")


def test_a_chosen_epsilon_wins_over_that_of_a_first_visit() -> None:
    test = opened("wavecluster")
    assert link_of(test)["epsilon"] == "0.02"
    # The epsilon of a first visit is not shared with other pages either.
    assert visit(test, "release")["epsilon"] == "1"
    visit(test, "wavecluster")
    test.session_state["wavecluster:epsilon"] = 1.0
    checked(test.run())
    assert visit(test, "kmeans")["epsilon"] == "1"


def test_a_link_wins_over_the_working_state_and_becomes_it() -> None:
    test = opened("wavecluster", **SHARED)
    alone = opened("kmeans", data="shapes", epsilon=4)
    assert visit(test, "kmeans", data="shapes", epsilon=4) == link_of(alone)
    found = visit(test, "wavecluster")
    assert (found["data"], found["epsilon"]) == ("shapes", "4")
    assert "domain" not in found


def test_bounds_never_go_from_one_data_set_to_another() -> None:
    test = opened("wavecluster", data="spirals", domain="0,1e6;0,5e5")
    assert visit(test, "kmeans")["domain"] == "0.0,1000000.0;0.0,500000.0"
    checked(control(test.selectbox, "kmeans:data").set_value("shapes").run())
    found = visit(test, "wavecluster")
    assert found["data"] == "shapes"
    assert "domain" not in found


@pytest.mark.parametrize("epsilon", ["0.01", "10"])
def test_every_page_takes_any_epsilon_of_the_explorers(epsilon: str) -> None:
    test = opened("wavecluster", epsilon=epsilon)
    assert visit(test, "audit")["epsilon"] == epsilon
    assert visit(test, "release")["epsilon"] == epsilon
    assert visit(test, "kmeans")["epsilon"] == epsilon


def test_own_data_shows_its_name_and_columns_on_every_page() -> None:
    test = load(opened("kmeans", data="own", columns="b,a", unit="who", cap=2))
    for page in ("wavecluster", "release", "compare", "kmeans"):
        found = visit(test, page)
        assert found["data"] == "own"
        assert found["columns"] == "b,a"
        assert (found["unit"], found["cap"]) == ("who", "2")
        assert "Loaded: visits.csv, 4 columns: who, a, b, c." in notes(test)
    # k-means has three columns; the explorer of two columns shows two and keeps the third.
    (every,) = (one for one in test.button_group if str(one.key).startswith("own:every"))
    checked(every.set_value("all").run())
    found = visit(test, "kmeans")
    assert found["columns"] == "b,a,who,c"
    assert visit(test, "wavecluster")["columns"] == "b,a"
    assert visit(test, "kmeans") == found
    # Sample sets have no columns to choose; meanwhile the columns of own data are kept.
    checked(control(test.selectbox, "kmeans:data").set_value("shapes").run())
    assert not {"columns", "unit", "cap"} & set(link_of(test))
    checked(control(test.selectbox, "kmeans:data").set_value("own").run())
    assert link_of(test)["columns"] == "b,a,who,c"


def test_settings_of_own_data_wait_for_the_file_after_a_reload() -> None:
    link = {
        "data": "own", "columns": "b,a", "unit": "who", "cap": "2", "format": "names",
        "domain": "0.0,50.0;0.0,60.0", "epsilon": "0.7", "classes": "c",
    }  # fmt: skip
    test = opened("wavecluster", **link)
    said = (
        f"Choose the file of your data again {DataState.place}: a reload forgets it, but keeps the "
        "settings of this page, with the columns b and a."
    )
    assert [one.value for one in test.info] == [said]
    assert link.items() <= link_of(test).items()
    assert link.items() <= visit(test, "kmeans").items()
    assert said in notes(test)
    load(test)
    assert not test.info
    assert link.items() <= link_of(test).items()
    assert link.items() <= visit(test, "wavecluster").items()
    # Another file has its own columns and bounds.
    load(test, "other.csv", TABLE)
    assert link_of(test)["columns"] == "a,b"
    assert not {"domain", "classes"} & set(link_of(test))


def test_a_column_in_both_boxes_swaps_them() -> None:
    test = load(opened("wavecluster", data="own", columns="a,b", domain="0,50;0,60"))
    (up,) = (one for one in test.selectbox if str(one.key).startswith("own:y"))
    checked(up.set_value("a").run())
    assert not test.error
    assert link_of(test)["columns"] == "b,a"
    assert link_of(test)["domain"] == "0.0,60.0;0.0,50.0"


def test_declared_bounds_come_back_with_their_columns() -> None:
    test = load(opened("kmeans", data="own", columns="b,a", domain="0,50;0,60"))

    def choose(which: str) -> dict[str, str]:
        (every,) = (one for one in test.button_group if str(one.key).startswith("own:every"))
        checked(every.set_value(which).run())
        return link_of(test)

    assert "domain" not in choose("all")  # a third column has no bounds yet
    assert choose("shown")["domain"] == "0.0,50.0;0.0,60.0"
    # Who has chosen the range of the data is not given other bounds.
    kind = next(one for one in test.radio if str(one.key).startswith("kmeans:domain:kind"))
    checked(kind.set_value("data").run())
    choose("all")
    assert choose("shown")["domain"] == "data"


def test_back_brings_columns_and_unit_with_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    test = load(opened("kmeans", data="own", columns="a,b", domain="0,50;0,60", unit="who"))
    before = link_of(test)
    (across,) = (one for one in test.selectbox if str(one.key).startswith("own:x"))
    checked(across.set_value("c").run())
    checked(control(test.selectbox, "own:unit").select("a record").run())
    after = link_of(test)
    assert (after["columns"], "domain" in after, "unit" in after) == ("c,b", False, False)
    for link in (before, after, before):
        test.query_params.clear()
        for name, value in link.items():
            test.query_params[name] = value
        with monkeypatch.context() as patched:
            patched.setattr(links, "_moved_in_history", lambda: True)
            checked(test.run())
        assert link_of(test) == link
        (across,) = (one for one in test.selectbox if str(one.key).startswith("own:x"))
        assert across.value == link["columns"][0]
    # After Back, the other pages also have the earlier state.
    assert visit(test, "wavecluster")["unit"] == "who"


def test_columns_that_others_chose_are_named_in_a_release() -> None:
    test = load(opened("wavecluster", data="own", columns="b,a", domain="0,50;0,60"))
    (link,) = (one.proto for one in test.get("page_link") if "Release once" in one.proto.label)
    assert "columns=b%2Ca" in link.query_string
    assert visit(test, "release")["domain"] == "0.0,50.0;0.0,60.0"
    (columns,) = (one for one in test.multiselect if one.label == "Columns")
    assert columns.value == ["b", "a"]
    assert "whether one person can have several records" in test.error[0].value
    checked(columns.set_value(["b", "c"]).run())
    assert "The domain is not declared" in test.error[0].value
    assert visit(test, "wavecluster")["columns"] == "b,c"


@pytest.mark.exhaustive(reason="other tests of this file follow data to all pages")
def test_compare_shows_a_new_data_set_and_keeps_a_list_that_has_it() -> None:
    test = opened("compare", data="spirals,incomes", methods="privqt", draws=1, points=1)
    assert visit(test, "wavecluster")["data"] == "spirals"
    checked(control(test.selectbox, "wavecluster:data").set_value("incomes").run())
    assert visit(test, "compare")["data"] == "spirals,incomes"
    visit(test, "wavecluster")
    checked(control(test.selectbox, "wavecluster:data").set_value("shapes").run())
    assert visit(test, "compare")["data"] == "shapes"


def test_compare_takes_the_methods_of_the_explorer_that_was_left(monkeypatch) -> None:
    monkeypatch.setattr(compare_runs, "_EAGER", -1.0)
    few = {"data": "tiny8", "draws": 1, "points": 1}
    test = opened("compare", methods="privqt", **few)
    # Nobody chose a method of k-means: the explorer shows its default.
    visit(test, "kmeans")
    assert visit(test, "compare")["methods"] == "privqt"
    method = visit(test, "kmeans", data="tiny8", **{"with": "eugkm"})["method"]
    assert {method, "eugkm"} <= {*visit(test, "compare")["methods"].split(",")}
    # A method that is removed here stays away until an explorer shows it again.
    methods = [one for one in link_of(test)["methods"].split(",") if one != method]
    checked(control(test.multiselect, "compare:methods").set_value(methods).run())
    visit(test, "about")
    assert visit(test, "compare")["methods"] == ",".join(methods)
    # The second method, on the curve under epsilon, comes along.
    visit(test, "wavecluster", data="tiny8", method="privthr", **{"with": "baseline"})
    shown = visit(test, "compare")["methods"].split(",")
    assert {"privthr", "baseline"} <= {*shown}
    assert method not in shown


def test_own_data_waits_on_the_compare_page_too() -> None:
    test = opened("compare", data="own", columns="b,a", methods="privqt", draws=1, points=1)
    assert f"again {DataState.place}" in notes(test)
    assert link_of(load(test))["columns"] == "b,a"


def test_a_release_says_which_columns_nobody_named() -> None:
    test = load(opened("wavecluster", data="own"))
    visit(test, "release")
    said = "a and b were proposed on another page, which looks at the data"
    assert said in notes(test)
    # When the user has made a choice, it is no longer a proposal.
    visit(test, "wavecluster")
    (across,) = (one for one in test.selectbox if str(one.key).startswith("own:x"))
    checked(across.set_value("c").run())
    assert visit(test, "release")["columns"] == "c,b"
    assert "proposed" not in notes(test)


def test_the_column_of_persons_is_no_axis_unless_it_was_chosen_as_one() -> None:
    test = load(opened("wavecluster", data="own"))
    assert link_of(test)["columns"] == "a,b"
    checked(control(test.selectbox, "own:unit").select("a person: column a").run())
    assert "a" not in link_of(test)["columns"].split(",")
    (across,) = (one for one in test.selectbox if str(one.key).startswith("own:x"))
    checked(across.set_value("a").run())
    assert link_of(test)["columns"].startswith("a,")
    checked(control(test.selectbox, "own:unit").select("a record").run())
    checked(control(test.selectbox, "own:unit").select("a person: column a").run())
    assert link_of(test)["columns"].startswith("a,")


def test_all_columns_that_hold_numbers_are_not_named_by_anybody() -> None:
    test = load(opened("kmeans", data="own", columns="b,a"))
    (every,) = (one for one in test.button_group if str(one.key).startswith("own:every"))
    checked(every.set_value("all").run())
    visit(test, "release")
    assert "were proposed on another page, which looks at the data" in notes(test)


def test_a_box_that_was_drawn_on_a_picture_is_told_on_every_page() -> None:
    test = load(opened("wavecluster", data="own", columns="b,a", domain="0,50;0,60"))
    test.session_state[DRAWN_KEY] = "0.0,50.0;0.0,60.0"
    for page in ("wavecluster", "kmeans", "release"):
        visit(test, page)
        assert DRAWN in notes(test)


def test_a_release_never_protects_less_than_was_chosen() -> None:
    link = {"columns": "a,b", "unit": "who", "cap": 2, "domain": "0,50;0,60"}
    test = opened("release", data="own", **link)
    load(test, "visits.csv", TABLE.replace(b"who", b"day"))
    assert link_of(test)["unit"] == "who"
    assert 'no column "who" that identifies persons' in notes(test)
    assert not [one for one in test.button if one.label.startswith("Release")]
    checked(control(test.radio, "own:unit").set_value(0).run())
    assert '"who" that identifies persons' not in notes(test)
    # If another file has no such column, explorers say so.
    test = load(opened("wavecluster", data="own", unit="who", cap=2))
    test.file_uploader(key="own:file").set_value(("o.csv", TABLE.replace(b"who", b"day"), ""))
    test.run()
    assert "unit" not in link_of(test)
    (said,) = (one.value for one in test.error)
    assert said.startswith('Protects is a record now: o.csv has no column "who"')


@pytest.mark.parametrize("epsilon", ["0.02", "8"])
def test_the_audit_page_takes_over_any_budget_of_an_explorer(epsilon):
    test = opened("wavecluster", epsilon=epsilon)
    assert visit(test, "audit")["epsilon"] == epsilon
    assert visit(test, "kmeans")["epsilon"] == epsilon


@pytest.mark.parametrize(("axes", "offered"), [("auto", False), ("lonlat", True), ("equal", False)])
def test_a_city_is_offered_where_a_person_says_that_the_axes_are_degrees(axes, offered):
    test = opened("wavecluster", data="gaussians", axes=axes)
    assert ("A box around a city" in [one.label for one in test.expander]) == offered


@pytest.mark.parametrize(("page", "name"), [(wavecluster_page, "run"), (kmeans_page, "run_kmeans")])
def test_sessions_share_runs_on_samples_and_not_those_on_own_data(
    page: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, drawn = getattr(page, name), []

    def run(source: Any, config: Any, noise: Any) -> Any:
        drawn.append(config.epsilon)
        return before(source, config, noise)

    monkeypatch.setattr(page, name, run)
    here = page.__name__.rsplit(".", 1)[1]
    link = {"data": "spirals", "epsilon": 0.37, "seed": 987_001}
    for given, runs in ((link, 1), (link, 1), (link | {"epsilon": 0.38}, 2), (link, 2)):
        opened(here, **given)
        assert len(drawn) == runs
    drawn.clear()
    for sessions in (1, 2):
        load(opened(here, data="own", epsilon=0.37, seed=987_001))
        assert len(drawn) == sessions


EXPLORERS = {"wavecluster": "WaveClusterExplorer", "kmeans": "KMeansExplorer"}


@pytest.mark.parametrize("page", [wavecluster_page, kmeans_page])
def test_sessions_share_the_parts_of_a_picture_of_a_sample(
    page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = page.__name__.rsplit(".", 1)[1]
    figures, calls = page.__dict__[EXPLORERS[here]].figures, []
    for name in ("panels", "cards"):
        draw = getattr(figures, name)
        monkeypatch.setattr(
            figures, name, lambda *given, draw=draw, name=name: calls.append(name) or draw(*given)
        )

    def drawn(**link: Any) -> list[str]:
        calls.clear()
        test = opened(here, **link)
        if link["data"] == "own":
            load(test)
        return sorted(calls)

    link = {"data": "spirals", "epsilon": 0.36, "seed": 987_002}
    both = ["cards", "panels"]
    assert drawn(**link) == both
    assert drawn(**link) == []
    assert drawn(**link | {"points": "shown"}) == both
    assert drawn(**link | {"epsilon": 0.35}) == both
    assert drawn(**link) == []
    for _ in range(2):
        assert drawn(**link | {"data": "own"}) == both


@dataclass(frozen=True)
class APicture:
    run: object
    ground: Ground
    again: Any = None


def test_parts_of_a_drag_are_not_those_of_a_rest() -> None:
    """Other runs of "Three ε" may be rough during a drag, although the picture's own run is not."""
    run, drawn = object(), []
    for settled, parts in ((False, 1), (True, 2), (True, 2), (False, 2)):
        shown = SimpleNamespace(
            is_sketch=False, size=9, picture=APicture(run, Ground()),
            settings=SimpleNamespace(settled=settled, active=SimpleNamespace(is_sample=True)),
        )  # fmt: skip
        Explorer.once(shown, "epsilons", lambda: drawn.append(1) or object())  # type: ignore[arg-type]
        assert len(drawn) == parts


def test_parts_are_shared_as_runs_are_and_hold_nothing_of_a_session() -> None:
    run, drawn = object(), []

    def part(picture: APicture, name: str = "map", *, size: int = 9, is_sample: bool = True) -> int:
        return part_of(
            picture, name, lambda: drawn.append(1), size=size, is_sample=is_sample
        ) or len(drawn)

    mine, theirs = APicture(run, Ground(), again=object()), APicture(run, Ground(), again=object())
    assert [part(one) for one in (mine, theirs, mine)] == [1, 1, 1]
    assert part(mine, "strip") == 2
    assert part(APicture(object(), Ground())) == 3
    assert part(APicture(run, Ground(axes="equal"))) == 4
    # Own data, a large run, and a map with lines from a user's file.
    lines = Background(name="own", lines=None)
    for count, draw in enumerate((
        lambda: part(mine, is_sample=False),
        lambda: part(mine, size=2**15 + 1),
        lambda: part(APicture(run, Ground(own=lines))),
    ), 1):  # fmt: skip
        assert [draw(), draw()] == [2 * count + 3, 2 * count + 4]
