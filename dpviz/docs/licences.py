"""Licences of packages and data, which the file NOTICE repeats: tables of licences.toml."""

from __future__ import annotations

from typing import Any

from dpviz.base.tables import read_beside

LICENCES: dict[str, Any] = read_beside(__file__, Any)
