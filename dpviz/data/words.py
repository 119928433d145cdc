"""Words and marks in tables that the readers know, from the file words.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
WORDS: dict[str, list[str]] = TABLES["words"]
