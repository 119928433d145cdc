"""Licences of packages and data: ``python -m dpviz.docs.licences > NOTICE`` rewrites the list."""

from __future__ import annotations

from dpviz.data.samples import sample, sample_names

PACKAGES = {
    "streamlit": "Apache-2.0",
    "plotly": "MIT",
    "numpy": "BSD-3-Clause",
    "pywavelets": "MIT",
    "scipy": "BSD-3-Clause",
    "scikit-learn": "BSD-3-Clause",
    "opendp": "MIT",
    "threadpoolctl": "BSD-3-Clause",
    "shapely": "BSD-3-Clause",
    "numba": "BSD-2-Clause",
    "joblib": "BSD-3-Clause",
    "pandas": "BSD-3-Clause",
    "pyarrow": "Apache-2.0",
    "segno": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "markdown": "BSD-3-Clause",
    "pyogrio": "MIT",
    "python-calamine": "MIT",
}

#: Packages of each extra, ``pip install "dpviz[dask]"``, with their licences.
EXTRAS = {"dask": {"dask": "BSD-3-Clause"}, "docs": {"notebook": "BSD-3-Clause"}}

#: Data files from other projects: path in the package, and description.
FILES = {
    "data/natural_earth": "coastlines, borders and cities of Natural Earth "
    "(https://www.naturalearthdata.com), public domain",
    "privacy/confusables.txt": "look-alike characters of Unicode, Inc. (Unicode-3.0), as packaged "
    "by confusable_homoglyphs (MIT); both licences are in the file",
}


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
