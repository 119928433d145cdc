"""Licences of packages and data: ``python -m dpviz.docs.licences > NOTICE`` rewrites the list."""

from __future__ import annotations

import tomllib
from pathlib import Path

from dpviz.data.samples import sample, sample_names

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

PACKAGES: dict[str, str] = _TABLES["packages"]

#: Packages of each extra, ``pip install "dpviz[dask]"``, with their licences.
EXTRAS: dict[str, dict[str, str]] = _TABLES["extras"]

#: Data files from other projects: path in the package, and description.
FILES: dict[str, str] = _TABLES["files"]


def notice() -> str:
    """Return the text of the file NOTICE."""
    lines = [
        "dpviz",
        "Copyright the dpviz maintainers",
        "",
        "Licence: Apache-2.0, see LICENSE.",
        "",
    ]
    lines += ["Data in the package, and where they come from:", ""]
    lines += [f"* dpviz/{name}: {what}." for name, what in FILES.items()]
    for one in map(sample, sample_names()):
        lines.append(f"* dpviz/sample_data/{one.file}: {one.credit.rstrip('.')} ({one.licence}).")
    lines += ["", "Packages that are installed together with dpviz, but are not part of it:", ""]
    lines += [f"* {name}: {licence}" for name, licence in PACKAGES.items()]
    for extra, packages in EXTRAS.items():
        lines += [f"* {name}: {licence} (extra: {extra})" for name, licence in packages.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    print(notice())
