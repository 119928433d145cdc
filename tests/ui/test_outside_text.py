"""Text from outside is plain text: in the code, in messages to the browser, and in figures."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from dpviz.experiments.tuning.smallest_epsilon import SmallestEpsilon, Target
from dpviz.figures.kmeans import VIEWS as KMEANS_VIEWS
from dpviz.figures.tuning import goal_curves
from dpviz.figures.wavecluster import VIEWS as WAVECLUSTER_VIEWS
from tests.support import APP, ROOT
from tests.support.controls import control, source_box
from tests.support.hostile import HOST
from tests.ui.test_wavecluster import checked

# ---- the code

#: Only dpviz/ui/messages.py calls these.
MESSAGES = {"error", "warning", "success", "exception", "toast", "write"}

#: Calls whose text Streamlit reads as Markdown: the first argument, or an argument in READ.
MARKDOWN = {
    "info", "caption", "markdown", "title", "header", "subheader", "badge", "metric", "expander",
    "popover", "progress", "spinner", "status", "tabs", "button", "download_button", "link_button",
    "page_link", "form_submit_button", "selectbox", "multiselect", "radio", "segmented_control",
    "pills", "checkbox", "toggle", "number_input", "text_input", "text_area", "slider",
    "file_uploader",
}  # fmt: skip
READ = {"label", "help", "text", "body", "title", "cancel"}

#: Functions of dpviz/ui/widgets/show.py that have a label, and the position of the label.
LABELS = {"csv_button": 2, "job_button": 1, "lazy_expander": 0, "segments": 2}

#: Calls whose options are Markdown, too; the options of other calls are plain text.
OPTIONS = {"radio", "segmented_control", "pills"}

#: Calls whose first argument is not a text.
OTHER_FIRST = {"page_link", "progress"}

#: Functions whose result is only the program's own text.
OWN = {
    "card_text",
    "docs_link",
    "_listed",
    "in_words",
    "sentence",
    "score_of",
    "written",
    "_run_label",
}
OWN |= {
    "where_files_go",
    "times_at_most",
    "len",
    "plain_text",
    "progress_text",
    "decimal",
    "readable",
    "_price",
}

#: Variables that contain only the program's own text.
NAMED = {
    ("reference/about.py", "one.text"),
    ("reference/benchmark.py", "label"),
    ("reference/benchmark.py", "titles"),
    ("compare/controls.py", "CARDS[name].title"),
    ("compare/controls.py", "CARDS[name].paper"),
    ("widgets/parameters.py", "card.paper"),
    ("compare/controls.py", "label"),
    ("compare/controls.py", "one.title"),
    ("compare/view.py", "label"),
    ("explorer/draws.py", "label"),
    ("tuning/searches.py", "sign"),
    ("tuning/common.py", "label"),
    ("session/job.py", "idle"),
    ("explorer/explorer.py", "choice.sentence"),
    ("explorer/explorer.py", "self.choice_title"),
    ("explorer/explorer.py", "sign"),
    ("reference/papers.py", "kinds"),
    ("reference/papers.py", "states"),
    ("widgets/parameters.py", "parameter.help"),
    ("widgets/parameters.py", "parameter.label"),
    ("widgets/show.py", "cancel"),
    ("widgets/show.py", "label"),
    ("widgets/show.py", "options"),
    ("tuning/searches.py", "result.summary"),
}

#: The only text from outside on the audit page is in the corrections of its link.
OWN_PAGE = {"audit/claims.py", "audit/person.py", "audit/stored.py"}

#: Format of a number.
NUMBER = re.compile(r"[+#]?,?(\.\d)?[dgf%]?")


def own(node: ast.AST, file: str) -> bool:
    """Whether an expression has only the program's own text, numbers, and results of plain_text."""
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name) if name.isupper():
            return True
        case ast.Name() | ast.Attribute() if (file, ast.unparse(node)) in NAMED:
            return True
        case ast.Attribute(value=card, attr="title" | "summary") if ast.unparse(card) in (
            "card",
            "one.card",
        ):
            return True
        case ast.Attribute(value=value, attr="title" | "summary" | "__getitem__"):
            return own(value, file)
        case ast.Subscript(value=value):
            return own(value, file)
        case ast.FormattedValue(value=value, format_spec=None):
            return own(value, file)
        case ast.FormattedValue(format_spec=ast.JoinedStr(values=[ast.Constant(value=form)])):
            return bool(NUMBER.fullmatch(form))
        case ast.JoinedStr(values=parts) | ast.Dict(values=parts) | ast.BoolOp(values=parts):
            return all(own(part, file) for part in parts)
        case ast.BinOp(left=one, right=other) | ast.IfExp(body=one, orelse=other):
            return own(one, file) and own(other, file)
        case ast.Call(func=ast.Name(id=name)):
            return name in OWN
        case ast.Call(func=ast.Attribute(value=ast.Constant()), args=[ast.GeneratorExp(elt=part)]):
            return own(part, file)
        case ast.Lambda(body=body):
            return own(body, file)
    return False


def calls() -> Iterator[tuple[str, str, ast.Call, str]]:
    """Calls of methods and of :data:`LABELS` in the app: place, file, called function, name."""
    for file in (*ROOT.glob("dpviz/ui/**/*.py"), *ROOT.glob("pages/*.py"), ROOT / "app.py"):
        place = str(file.relative_to(ROOT)).removeprefix("dpviz/ui/")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr=name)):
                    yield f"{place}:{node.lineno}", place, node, name
                case ast.Call(func=ast.Name(id=name)) if name in LABELS:
                    yield f"{place}:{node.lineno}", place, node, name


def test_messages_are_shown_by_one_module() -> None:
    others = {"_LOG", "state", "stream"}
    found = [
        f"{where}: {ast.unparse(call.func)}"
        for where, file, call, name in calls()
        if name in MESSAGES
        and ast.unparse(call.func).split(".")[0] not in others
        and file != "messages.py"
    ]
    assert not found, "use show_error and the others of dpviz/ui/messages.py: they take any text"


def test_markdown_holds_text_from_outside_as_plain_text_alone() -> None:
    found = []
    for where, file, call, name in calls():
        if name not in MARKDOWN | set(LABELS) or file in OWN_PAGE:
            continue
        read = (
            call.args[LABELS[name] :][:1] if name in LABELS else call.args[name in OTHER_FIRST : 1]
        )
        read += call.args[3:4] if name == "segments" else []  # the titles of its options
        read += [one.value for one in call.keywords if one.arg in READ]
        read += [one.value for one in call.keywords if one.arg == "format_func" and name in OPTIONS]
        found += [f"{where}: {ast.unparse(one)}" for one in read if not own(one, file)]
    assert not found, "use plain_text of dpviz/ui/messages.py: it takes any text"


@pytest.mark.parametrize(
    "code",
    ["error", "str(error)", "f'{name}'", "f'{active.title}'", "dataset.name", "'x' + own.error"],
)
def test_the_rule_knows_text_from_outside(code: str) -> None:
    assert not own(ast.parse(code, mode="eval").body, "data_panel.py")
    assert own(ast.parse(f"plain_text({code})", mode="eval").body, "data_panel.py")


# ---- messages to the browser

EAST, NORTH, PERSON = (
    f"east <a href=//{HOST}/1>$x$</a>",
    f"north ![b](http://{HOST}/2)",
    f"person [c](http://{HOST}/3) :red[d]",
)
NAME = f"<img src=//{HOST}/4> ![e](http://{HOST}/5).csv"


def table() -> bytes:
    """Three places, with coordinates and persons in columns that have hostile names."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(at, 3, (100, 2)) for at in ((20, 20), (70, 60), (40, 80))])
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow((EAST, NORTH, PERSON))
    writer.writerows(
        (f"{x:.2f}", f"{y:.2f}", f"![p](//{HOST}/{row % 90})") for row, (x, y) in enumerate(points)
    )
    return text.getvalue().encode()


def typed_release(test: AppTest, source: str, title: str) -> AppTest:
    """Fill in the release page with the hostile table, and open the review."""
    test.switch_page("pages/release.py").run()
    control(test.segmented_control, "release:kind").set_value("own").run()
    next(one for one in test.multiselect if one.label == "Columns").set_value([EAST, NORTH]).run()
    for box in [one for one in test.text_input if "from, to" in one.label]:
        box.set_value("0,100")
    checked(test.run())
    # Coordinates can't identify persons, so only one column remains.
    control(test.radio, "own:unit").set_value(1)
    test.text_input(key="release:title").set_value(title)
    source_box(test.text_input).set_value(source)
    checked(test.run())
    assert not test.error
    return pressed(test, "Review the release")


def pressed(test: AppTest, label: str) -> AppTest:
    return checked(next(one for one in test.button if one.label.startswith(label)).click().run())


#: Fields that the browser shows without a change, or does not show.
MARKDOWN_FIELDS = {("Markdown", "body"), ("Alert", "body"), ("TextInput", "label")}
MARKDOWN_FIELDS |= {("Expandable", "label")}
AS_IT_IS = {"options", "id", "default", "value", "code_text", "query_string"}


def told(test: AppTest) -> Iterator[tuple[str, str, str]]:
    """All text from outside that the elements of a page contain: kind of element, field, text."""
    protos: list[Any] = [getattr(node, "proto", None) for node in test._tree]
    while protos:
        proto = protos.pop()
        if not isinstance(proto, Message):
            continue
        for field, value in proto.ListFields():
            parts = list(value) if isinstance(value, Iterable) else []
            for one in [value] if isinstance(value, str) else parts:
                if isinstance(one, str) and HOST in one:
                    yield proto.DESCRIPTOR.name, field.name, one
            protos += [value, *parts]


def drawn(value: Any, name: str = "") -> Iterator[str]:
    """All text in a figure's JSON that Plotly may draw."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from drawn(one, key)
    elif isinstance(value, list):
        for one in value:
            yield from drawn(one, name)
    elif isinstance(value, str) and name not in ("uirevision", "meta"):
        yield value


def check_plain(test: AppTest) -> int:
    """Check that text from outside stays plain text; return how often the page contains it."""
    seen = 0
    for kind, field, text in told(checked(test)):
        if field in AS_IT_IS:
            continue
        seen += 1
        assert (kind, field) in MARKDOWN_FIELDS
        # Without escapes, each of these texts would create an element; no address is complete.
        assert not re.search(r"(?<!\\)[<\[\]$]|:red|://", text), text
    for one in test.get("bidi_component"):
        if one.proto.component_name == "dpviz_live_figure":
            raw = one.proto.bytes
            head = json.loads(raw[4 : 4 + int.from_bytes(raw[:4], "little")])
            for text in drawn(head["figure"]):
                seen += HOST in text
                assert not re.search(r"<(a|img)\b|\$", text), text
    return seen


@pytest.fixture
def loaded() -> AppTest:
    """WaveCluster's page with the hostile table."""
    test = AppTest.from_file(APP, default_timeout=120).run()
    control(test.selectbox, "wavecluster:data").set_value("own").run()
    test.file_uploader(key="own:file").set_value((NAME, table(), "text/csv"))
    return checked(test.run())


@pytest.mark.exhaustive(reason="a hostile release, and the Compare page, are checked daily")
@pytest.mark.parametrize(
    ("page", "views", "panels"),
    [
        ("wavecluster", WAVECLUSTER_VIEWS, ("behind", "draws", "diagnosis", "goal")),
        ("kmeans", KMEANS_VIEWS, ("behind", "draws", "goal")),
    ],
)
def test_a_hostile_table_is_plain_text_in_every_panel(loaded, page, views, panels) -> None:
    test = loaded.switch_page(f"pages/{page}.py").run()
    control(test.selectbox, f"{page}:data").set_value("own").run()
    for panel in panels:
        test.session_state[f"{page}:{panel}"] = True
    if page == "kmeans":
        control(test.selectbox, "kmeans:method").set_value("mcmc").run()
    for view in views:
        test.session_state[f"{page}:view"] = view
        assert check_plain(test.run()) >= 2, view
    kind = next(one for one in test.radio if one.key.startswith(f"{page}:domain:kind"))
    kind.set_value("declared").run()
    for box in [one for one in test.text_input if "from, to" in one.label]:
        box.set_value(f"![f](http://{HOST}/6)")
    checked(test.run())
    assert "is no pair of bounds" in test.error[0].value
    assert check_plain(test) >= 5


def test_a_hostile_table_is_plain_text_on_the_compare_page(loaded) -> None:
    test = loaded.switch_page("pages/compare.py").run()
    control(test.multiselect, "compare:data").set_value(["own"]).run()
    assert check_plain(test) >= 1
    control(test.text_input, "compare:epsilons").set_value(f"![f](http://{HOST}/6)").run()
    assert "is not a number" in test.error[0].value
    assert check_plain(test) >= 1


def test_a_hostile_release_is_plain_text(
    loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A browser also accepts one slash in place of two slashes.
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path / f"![h](http:/{HOST}/7)"))
    source = f"![s](http://{HOST}/8)"
    test = typed_release(loaded, source, f"![t](http://{HOST}/9) <img src=//{HOST}/10>")
    # Data, columns, the column of persons, the source (twice), and the text of the sidebar.
    assert sum(text.count(HOST) for _, field, text in told(test) if field == "body") >= 6
    check_plain(test)
    pressed(test, "Debit")
    assert "Released as number 1" in test.success[0].value
    assert any("Also kept in" in text for _, _, text in told(test))
    assert check_plain(test) >= 2
    pressed(test, "Prepare another release")
    # The name is in the list of sources, and in the table of earlier releases.
    said = [text for _, _, text in told(test)]
    assert any("Sources with a budget" in text for text in said)
    assert any("1 earlier entry of" in text for text in said)
    check_plain(test)


def test_the_title_of_a_search_is_plain_text() -> None:
    goal = SmallestEpsilon(
        target=Target("dsg_c", "<=", 0.2),
        share=0.75,
        epsilons=(0.1, 1.0),
        seeds=(0, 1),
        values=np.array([[1.0, 0.5], [0.1, 0.2]]),
        tried=np.array([True, True]),
        epsilon=1.0,
    )
    shown = goal_curves(goal, NAME, "light").layout["title"]["text"]
    assert shown.startswith(f"&lt;img src=//{HOST}/4&gt; ![e]")
