"""Reads figures that were measured once: a JSON file as the dataclasses that describe it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Row = TypeVar("Row")


@cache
def read_rows(path: Path, kind: type[Row]) -> tuple[Row, ...]:
    """Return the rows of a file with a list of objects, in their order; each file is read once."""
    rows: tuple[Row, ...] = read_measured(path, tuple[kind, ...])  # type: ignore[valid-type]
    return rows


def read_measured(path: Path, shape: Any) -> Any:
    """Return the content of a file.

    Parameters
    ----------
    path
        The file.
    shape
        A dataclass for an object, ``tuple[X, ...]`` for a list, ``Mapping[str, X]`` for names with
        values of one shape, a plain type or a union of them, or Any.

    Raises
    ------
    ValueError
        If the content has another shape: one sentence with file and place.
    """
    return _shape(json.loads(path.read_text(encoding="utf-8")), shape, path.name)


def _shape(value: Any, shape: Any, place: str) -> Any:
    origin, parts = get_origin(shape), get_args(shape)
    if is_dataclass(shape):
        types, needed = _fields(shape)  # type: ignore[arg-type]
        _check(isinstance(value, dict), value, "an object", place)
        _check(needed <= value.keys() <= types.keys(), list(value), f"fields {[*types]}", place)
        return shape(  # type: ignore[operator]
            **{name: _shape(one, types[name], f"{place}, {name}") for name, one in value.items()}
        )
    if origin is tuple:
        _check(isinstance(value, list), value, "a list", place)
        return tuple(_shape(one, parts[0], f"{place}, {i}") for i, one in enumerate(value))
    if origin is Mapping:
        _check(isinstance(value, dict), value, "an object", place)
        return {name: _shape(one, parts[1], f"{place}, {name}") for name, one in value.items()}
    if shape is not Any:
        # JSON writes 1 for 1.0.
        plain = shape | int if float in (shape, *parts) else shape
        _check(isinstance(value, plain), value, shape, place)
    return value


@cache
def _fields(shape: Any) -> tuple[dict[str, Any], set[str]]:
    """Types of the fields of a dataclass, and the names of those without a default."""
    hints, own = get_type_hints(shape), fields(shape)
    needed = {one.name for one in own if one.default is one.default_factory is MISSING}
    return {one.name: hints[one.name] for one in own}, needed


def _check(fits: bool, value: Any, shape: Any, place: str) -> None:
    if not fits:
        raise ValueError(f"{place}: {value!r:.80} is not {shape}: measure the file again.")
