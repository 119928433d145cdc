"""Words and marks in tables that the readers know, from the file words.toml."""

from __future__ import annotations

from typing import Any

from dpviz.base.tables import read_beside

TABLES: dict[str, Any] = read_beside(__file__, Any)
WORDS: dict[str, list[str]] = TABLES["words"]
