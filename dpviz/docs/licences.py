"""Licences of packages and data, which the file NOTICE repeats: tables of licences.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

LICENCES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
