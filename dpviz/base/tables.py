"""Reads JSON and TOML files that belong to modules into the dataclasses that describe them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

Row = TypeVar("Row")


@cache
def read_rows(path: Path, kind: type[Row]) -> tuple[Row, ...]:
    """Return the rows of a JSON list, or of the only array of a TOML file; files are read once."""
    shape: Any = tuple[kind, ...]  # type: ignore[valid-type]
    if path.suffix == ".toml":
        (rows,) = read_table_file(path, Mapping[str, shape]).values()
    else:
        rows = read_table_file(path, shape)
    return tuple(rows)


def read_table_file(path: Path, shape: Any) -> Any:
    """Return the content of a JSON or TOML file in a shape, or raise ValueError with the place.

    A shape is a dataclass for an object, ``tuple[X, ...]`` for a list, ``Mapping[str, X]`` for an
    object with values of shape X, or a plain type, a Literal, a union of types, or Any.
    """
    text = path.read_text(encoding="utf-8")
    found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    return _shape(found, shape, path.name)


def read_beside(file: str, shape: Any, name: str = "") -> Any:
    """Return the content of the TOML file beside a module; its default name is the module's."""
    path = Path(file)
    return read_table_file((path.with_stem(name) if name else path).with_suffix(".toml"), shape)


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
    if origin in (Mapping, dict):
        _check(isinstance(value, dict), value, "an object", place)
        return {name: _shape(one, parts[1], f"{place}, {name}") for name, one in value.items()}
    if origin is Literal:
        _check(value in parts, value, shape, place)
    elif shape is not Any:
        # JSON may have 1 instead of 1.0.
        plain = shape | int if float in (shape, *parts) else shape
        _check(isinstance(value, plain), value, shape, place)
    return value


@cache
def _fields(shape: Any) -> tuple[dict[str, Any], set[str]]:
    hints, own = get_type_hints(shape), fields(shape)
    needed = {one.name for one in own if one.default is one.default_factory is MISSING}
    return {one.name: hints[one.name] for one in own}, needed


def _check(fits: bool, value: Any, shape: Any, place: str) -> None:
    if not fits:
        raise ValueError(f"{place}: {value!r:.80} is not {shape}.")
