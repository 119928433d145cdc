"""The notebook in docs/ runs from top to bottom, shows pictures, and is stored without results."""

from __future__ import annotations

import ast
import json
import warnings
from typing import Any

from tests.support import ROOT

NOTEBOOK = json.loads((ROOT / "docs" / "tour.ipynb").read_text(encoding="utf-8"))
CODE = ["".join(c["source"]) for c in NOTEBOOK["cells"] if c["cell_type"] == "code"]


def run(cell: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; return the value of its last line if it is an expression."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "tour.ipynb", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "tour.ipynb", "eval"), names)


def test_it_is_stored_without_results():
    assert (NOTEBOOK["nbformat"], NOTEBOOK["nbformat_minor"]) >= (4, 5)
    ids = [cell["id"] for cell in NOTEBOOK["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in NOTEBOOK["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_it_runs_and_shows_its_pictures(capsys):
    names: dict[str, Any] = {}
    shown = [run(cell, names) for cell in CODE]
    pictures = [one for one in shown if hasattr(one, "figure")]
    assert len(pictures) == 6
    with warnings.catch_warnings():
        # Without IPython, Plotly has fewer renderers, but this test does not need them.
        for picture in pictures:
            figure = picture.figure()
            assert figure.data
            assert len(picture.frame())
    said = capsys.readouterr().out
    assert "published: claim 1.0, at least" in said
    published, sound = (line for line in said.splitlines() if ": claim" in line)
    assert published.endswith(": refuted")
    assert sound.endswith(": not refuted")
    assert names["model"].ledger_.epsilon == 1.0
    assert names["poor"].n_clusters_ != names["model"].n_clusters_
