"""Reads results about methods that were measured once and are stored in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpviz.base.tables import read_rows
from dpviz.families import CARDS
from dpviz.family.method import check_method


def rows_about(method: str | None, path: Path, kind: Any) -> tuple[Any, ...]:
    """Return a file's rows about one method (None: all); InputError if it is unknown."""
    rows = read_rows(path, kind)
    if method is None:
        return rows
    check_method(method, CARDS)
    return tuple(row for row in rows if row.method == method)
