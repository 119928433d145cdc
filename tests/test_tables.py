"""Tables in files are read with their types; invalid tables are refused, and the place is named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from dpviz.base.tables import read_rows, read_table_file


@dataclass(frozen=True, kw_only=True)
class Inner:
    low: float


@dataclass(frozen=True, kw_only=True)
class Outer:
    name: str
    inner: Inner
    most: float | None = None
    kind: Literal["few", "many"] = "few"
    tags: tuple[str, ...] = ()
    others: Mapping[str, Inner] | None = None


GOOD = {"name": "a", "inner": {"low": 1}, "most": 2.5, "tags": ["x", "y"]}


def test_rows_are_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([GOOD, {"name": "b", "inner": {"low": 0.5}}]), encoding="utf-8")
    assert read_rows(path, Outer) == (
        Outer(name="a", inner=Inner(low=1), most=2.5, tags=("x", "y")),
        Outer(name="b", inner=Inner(low=0.5)),
    )
    path = tmp_path / "named.toml"
    path.write_text("[a]\nlow = 3\n", encoding="utf-8")
    assert read_table_file(path, Mapping[str, Inner]) == {"a": Inner(low=3)}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"name": 3}, "0, name"),
        ({"inner": {"low": "1"}}, "0, inner, low"),
        ({"inner": {}}, "0, inner"),
        ({"inner": {"low": 1, "high": 2}}, "0, inner"),
        ({"inner": [1]}, "0, inner"),
        ({"most": "2"}, "0, most"),
        ({"tags": "xy"}, "0, tags"),
        ({"tags": ["x", 1]}, "0, tags, 1"),
        ({"more": 1}, "0"),
        ({"kind": "none"}, "0, kind"),
    ],
)
def test_another_shape_is_refused_with_its_place(tmp_path: Path, change: dict, place: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([GOOD | change]), encoding="utf-8")
    with pytest.raises(ValueError, match=f"^rows.json, {place}: "):
        read_table_file(path, tuple[Outer, ...])
