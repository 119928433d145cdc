"""All packages and all data of other authors are named with their licences."""

import re
import tomllib
from importlib.metadata import metadata

import pytest

from dpviz.data.samples import sample, sample_names
from dpviz.ui.reference.about import LICENCES
from tests.support import ROOT

PACKAGES, EXTRAS, FILES = (LICENCES[name] for name in ("packages", "extras", "files"))


def test_all_packages_are_named():
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert list(PACKAGES) == re.findall(r"^([\w-]+)", text, flags=re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {name: list(packages) for name, packages in EXTRAS.items()} == {
        name: [re.match(r"[\w-]+", one)[0] for one in needed]
        for name, needed in project["optional-dependencies"].items()
    }


@pytest.mark.parametrize("package", [*PACKAGES, *EXTRAS["dask"], *EXTRAS["pdf"]])
def test_a_package_s_licence_is_the_one_that_it_states(package):
    about = metadata(package)
    stated = " ".join(
        [
            about.get("License-Expression") or "",
            *(one for one in about.get_all("Classifier") or [] if one.startswith("License")),
            (about.get("License") or "")[:2000],
        ]
    )
    licence = {**PACKAGES, **EXTRAS["dask"], **EXTRAS["pdf"]}[package]
    assert licence.partition("-")[0] in stated


def test_the_notice_is_up_to_date():
    samples = [sample(name) for name in sample_names()]
    wanted = [f"dpviz/{name}: {what}." for name, what in FILES.items()]
    wanted += [
        f"dpviz/sample_data/{one.file}: {one.credit.rstrip('.')} ({one.licence})."
        for one in samples
    ]
    wanted += [f"{name}: {licence}" for name, licence in PACKAGES.items()]
    wanted += [
        f"{name}: {licence} (extra: {extra})"
        for extra, packages in EXTRAS.items()
        for name, licence in packages.items()
    ]
    text = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert re.findall(r"^\* (.*)$", text, flags=re.MULTILINE) == wanted
    for name in FILES:
        assert (ROOT / "dpviz" / name).exists()
