"""Licences of packages and data, which the file NOTICE repeats."""

from __future__ import annotations

import tomllib
from pathlib import Path

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

PACKAGES: dict[str, str] = _TABLES["packages"]

#: Packages of each extra, ``pip install "dpviz[dask]"``, with their licences.
EXTRAS: dict[str, dict[str, str]] = _TABLES["extras"]

#: Data files from other projects: path in the package, and description.
FILES: dict[str, str] = _TABLES["files"]
