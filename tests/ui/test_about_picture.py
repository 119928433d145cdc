"""“About this picture”: every figure of the screen has its text, and no text is unused."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dpviz.figures.registry import PICTURES
from dpviz.ui.tuning.panel import PARTS
from dpviz.ui.widgets.about_picture import ABOUT
from tests.support import ROOT
from tests.support.links import opened

#: Names that the code composes from parts, or reads from the link.
FROM_ELSEWHERE = {f"find {part}" for part in PARTS} | {
    view for pictures in PICTURES.values() for view in pictures.VIEWS
}


def in_code() -> Iterator[str]:
    """Names that the code gives to the texts of figures."""
    for path in sorted((ROOT / "dpviz" / "ui").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            given: list[ast.expr] = []
            if isinstance(node, ast.keyword) and node.arg == "about":
                given = [node.value]
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "about_picture":
                given = node.args
            for one in given:
                if isinstance(one, ast.IfExp):
                    yield from (ast.literal_eval(part) for part in (one.body, one.orelse))
                elif isinstance(one, ast.Constant):
                    yield one.value


def test_every_figure_has_its_words_and_no_words_are_left_over():
    assert {*in_code(), *FROM_ELSEWHERE} == set(ABOUT)


def test_words_are_sentences_for_newcomers():
    for about in ABOUT.values():
        for text in (about.shows, about.read, about.attempt):
            assert text[0].isupper()
            assert text.endswith((".", "?"))
            # Sentences are short and without symbols, because they have to explain the symbols.
            assert max(map(len, text.replace("?", ".").split(". "))) <= 160, text
            assert "ε" not in text


def toggles(page: str, link: dict[str, str]) -> list[str]:
    test = opened(page, link)
    assert not test.exception
    return [
        one.proto.body for one in test.get("html") if '<details class="dpv-about"' in one.proto.body
    ]


def test_a_view_is_explained_by_its_own_words():
    for view in ("clusters", "threshold"):
        (shown,) = toggles("wavecluster", {"view": view})
        assert ABOUT[view].shows in shown
