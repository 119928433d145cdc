"""Files for a registry, an ethics board and a repository, and the check of a bundle."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
import warnings
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pandas as pd
import pikepdf
import pikepdf.pdfa
import pytest
import yaml
from jinja2 import DebugUndefined, nodes
from jinja2.visitor import NodeVisitor

from dpviz.base.errors import InputError
from dpviz.commands.command_line import main
from dpviz.privacy.lifetime_budget import Budget
from dpviz.release import repeat
from dpviz.release.bundle import entry_of, read_bundle
from dpviz.release.draw import Prepared
from dpviz.release.files import files
from dpviz.release.package import checked, facts, parsed, read_about, sheet_pdf
from dpviz.release.request import Request
from dpviz.release.tables import title
from tests.release.test_areas import request as areas_request
from tests.release.test_areas import table
from tests.release.test_files import DOCUMENTS, a_grid
from tests.release.test_release import CASES, dataset, name_of, request_of
from tests.support import ROOT

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "releases.json").read_text("utf-8"))
RELEASED = {name: one["document"] for name, one in GOLDEN.items() if name != "schema"}
SOFTWARE = {"dpviz": "0.1.0", "opendp": "0.16.0"}
DDI = "{ddi:codebook:2_5}"

WORDS: dict[str, Any] = {
    "data_curators": ["City of Example", "<Office & Co.>"],
    "intended_use": 'City planning: "where" do people wait? #1\n\nAnd when?',
    "data_product_region": "Example",
    "data_product_sector": "Government",
    "data_source_type": "Static",
    "data_source_type_details": "Collected in 2025.",
    "justification": "The board chose it.",
    "registry_authors": ["A. Author"],
    "contact": "office@example.org",
    "license": "https://creativecommons.org/licenses/by/4.0/",
}

#: Facts of a record in the registry of deployments, by place. A name after "?" may be absent, and
#: the values in a list are the only possible values.
RECORD = {
    "": "url_slug status tier",
    "deployment.basic": "name data_curators* intended_use data_product_type data_product_region "
    "description publication_date ?data_product_sector",
    "deployment.dp_variant": "?variant_name ?data_domain ?unprotected_quantities",
    "deployment.privacy_loss": "?privacy_unit ?privacy_unit_details ?privacy_parameters_details",
    "deployment.privacy_loss.privacy_parameters": "?epsilon",
    "deployment.deployment_model": "?model_name ?model_name_details ?actors ?release_type "
    "?release_type_details ?data_source_type ?data_source_type_details ?access_type "
    "?access_type_details",
    "deployment.accounting": "?post_processing ?composition",
    "deployment.implementation": "?preprocessing_and_hyperparameter_tuning ?mechanisms "
    "?justification",
    "deployment.administrative": "?sources ?notes registry_authors*",
}
CHOICES = {
    "status": ["Draft"],
    "tier": [1, 2, 3],
    "data_product_type": ["Summary statistics", "Machine learning model"],
    "data_product_sector": [
        "Technology", "Healthcare", "Education", "Government", "Energy", "Finance",
    ],
    "variant_name": ["Pure DP"],
    "model_name": ["Central"],
    "release_type": ["One release", "Many releases"],
    "data_source_type": ["Static", "Dynamic"],
    "access_type": ["Non-interactive"],
}  # fmt: skip


def leaves(record: dict[str, Any], place: str = "") -> dict[str, dict[str, Any]]:
    """Values of a record by place."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            found |= leaves(value, f"{place}.{name}".strip("."))
        else:
            found.setdefault(place, {})[name] = value
    return found


def released(name: str) -> dict[str, Any]:
    return {**RELEASED[name], "software": SOFTWARE}


@pytest.fixture(scope="module", params=[*RELEASED])
def bundle(request: pytest.FixtureRequest) -> dict[str, bytes]:
    """Files of a golden release, with the owner's words for every second one."""
    place = [*RELEASED].index(request.param)
    return files(released(request.param), WORDS if place % 2 else None)


# Every method's golden release


def test_the_registry_s_record_has_its_facts_and_no_other(bundle: dict[str, bytes]) -> None:
    record = yaml.safe_load(bundle["registry.yaml"])
    found = leaves(record)
    assert set(found) == set(RECORD)
    for place, names in RECORD.items():
        needed = {one.rstrip("*") for one in names.split() if not one.startswith("?")}
        known = {one.strip("?*") for one in names.split()}
        assert needed <= set(found[place]) <= known
        for name, value in found[place].items():
            if f"{name}*" in names:
                assert value
                assert all(isinstance(one, str) and one for one in value)
            elif name not in ("epsilon", "tier"):
                assert isinstance(value, str), name
                assert value.strip(), name
            if name in CHOICES:
                assert value in CHOICES[name]
    epsilon = found["deployment.privacy_loss.privacy_parameters"]["epsilon"]
    assert epsilon == json.loads(bundle["release.json"])["privacy"]["epsilon"]
    # The registry refuses folded texts and two backslashes.
    for token in yaml.scan(bundle["registry.yaml"].decode()):
        assert getattr(token, "style", None) in (None, "'", '"', "|")
    assert record["tier"] == (3 if "about.yaml" in bundle else 1)


@pytest.mark.skipif(
    "DPVIZ_REGISTRY_SCHEMA" not in os.environ,
    reason="DPVIZ_REGISTRY_SCHEMA does not name deployments-schema.yaml of the registry",
)
def test_the_record_fits_the_registry_s_own_schema(bundle: dict[str, bytes]) -> None:
    schema = yaml.safe_load(Path(os.environ["DPVIZ_REGISTRY_SCHEMA"]).read_text("utf-8"))
    checker = jsonschema.Draft7Validator.FORMAT_CHECKER
    validator = jsonschema.Draft7Validator(schema, format_checker=checker)
    validator.validate(yaml.safe_load(bundle["registry.yaml"]))


def test_croissant_describes_the_table_as_it_is(
    bundle: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that mlcroissant imports
        import mlcroissant

        for name, content in bundle.items():
            (tmp_path / name).write_bytes(content)
        found = mlcroissant.Dataset(jsonld=tmp_path / "croissant.json")
        (records,) = found.metadata.record_sets
        rows = [[*row.values()] for row in found.records(records.uuid)]
    issues = found.metadata.issues
    assert not issues.errors
    assert not issues.warnings
    (table,) = (name for name in bundle if name.endswith(".csv"))
    expected = pd.read_csv(io.BytesIO(bundle[table]))
    assert [one.source.extract.column for one in records.fields] == list(expected.columns)
    kept = [[float("nan") if one is None else one for one in row] for row in rows]
    np.testing.assert_allclose(np.array(kept, dtype=float), expected.to_numpy(dtype=float))


#: Elements of DDI Codebook 2.5 in the order of its schema; only those that a release uses.
ORDER = {
    "codeBook": "stdyDscr fileDscr dataDscr",
    "stdyDscr": "citation stdyInfo method dataAccs",
    "citation": "titlStmt rspStmt prodStmt distStmt verStmt",
    "titlStmt": "titl",
    "rspStmt": "AuthEnty",
    "prodStmt": "producer prodDate software",
    "distStmt": "distrbtr contact distDate",
    "verStmt": "version",
    "stdyInfo": "subject abstract sumDscr notes",
    "subject": "keyword topcClas",
    "sumDscr": "geogCover anlyUnit universe dataKind",
    "method": "dataColl notes",
    "dataColl": "collSitu cleanOps",
    "dataAccs": "useStmt",
    "useStmt": "conditions disclaimer",
    "fileDscr": "fileTxt",
    "fileTxt": "fileName dimensns fileType",
    "dimensns": "caseQnty varQnty",
    "dataDscr": "var",
    "var": "labl varFormat",
}


def check_ddi(text: bytes) -> ElementTree.Element:
    """Check the order of elements; the schema allows no other order."""
    root = ElementTree.fromstring(text)
    for one in root.iter():
        names = [child.tag.removeprefix(DDI) for child in one]
        order = ORDER.get(one.tag.removeprefix(DDI), "").split()
        assert set(names) <= set(order), one.tag
        assert names == sorted(names, key=order.index)
    return root


def test_ddi_has_what_a_repository_reads(bundle: dict[str, bytes]) -> None:
    root = check_ddi(bundle["ddi.xml"])
    study = f"{DDI}stdyDscr/{DDI}citation"
    document = json.loads(bundle["release.json"])
    assert root.findtext(f"{study}/{DDI}titlStmt/{DDI}titl") == title(document)
    assert root.findtext(f"{study}/{DDI}rspStmt/{DDI}AuthEnty")
    assert root.findtext(f"{DDI}stdyDscr/{DDI}stdyInfo/{DDI}abstract")
    (table,) = (name for name in bundle if name.endswith(".csv"))
    rows = list(csv.reader(io.StringIO(bundle[table].decode())))
    assert [one.get("name") for one in root.iter(f"{DDI}var")] == rows[0]
    assert root.findtext(f".//{DDI}caseQnty") == str(len(rows) - 1)
    contact = root.find(f"{study}/{DDI}distStmt/{DDI}contact")
    assert (contact is not None) == ("about.yaml" in bundle)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_any_name_of_a_column_is_written_so_that_it_is_read(name: str) -> None:
    made = files(DOCUMENTS[name](), WORDS)
    check_ddi(made["ddi.xml"])
    ElementTree.fromstring(made["sheet.html"].partition(b"\n")[2])
    assert yaml.safe_load(made["registry.yaml"])["deployment"]["basic"]["name"]
    assert json.loads(made["croissant.json"])["recordSet"][0]["field"]
    assert parsed("about.yaml", made["about.yaml"]) == checked(WORDS)
    for notebook in ("open.ipynb", "repeat.ipynb"):
        for cell in json.loads(made[notebook])["cells"]:
            if cell["cell_type"] == "code":
                compile(cell["source"], notebook, "exec")


def test_a_changed_word_of_the_owner_changes_only_the_files_for_others() -> None:
    plain, said = files(a_grid()), files(a_grid(), WORDS)
    others = {"sheet.html", "registry.yaml", "croissant.json", "ddi.xml", "SHA256SUMS",
              "about.yaml", "README.txt", "report.html"}  # fmt: skip
    assert {name for name in said if said[name] != plain.get(name)} <= others
    assert said["sheet.html"].count(b"The owner says:") == 5
    assert b"The owner says:" not in plain["sheet.html"]


# Sources of the facts


class _Names(NodeVisitor):
    """Names that a template reads."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Name(self, node: nodes.Name) -> None:  # noqa: N802 - the name decides
        if node.ctx == "load":
            self.found.add(node.name)


#: Words that are computed from the released document alone, beside its own fields.
COMPUTED = {
    "slug", "title", "tier", "run_line", "headline", "counting_words", "earlier_words",
    "limit_words", "steps", "mechanisms", "owners",
}  # fmt: skip


@pytest.mark.parametrize("fact", facts(), ids=lambda fact: fact.name)
def test_each_fact_is_from_the_release_or_the_owner(fact: Any) -> None:
    from jinja2 import Environment

    names = _Names()
    environment = Environment(undefined=DebugUndefined)
    environment.filters |= dict.fromkeys(("number", "code", "plural"), str)
    names.visit(environment.parse(fact.text))
    document = json.loads(files(a_grid())["release.schema.json"])["properties"]
    assert names.found - {"column", "loop"} <= set(document) | COMPUTED
    assert (fact.source == "owner") == (not fact.text)
    assert (fact.source != "release") == bool(fact.help)


def test_every_fact_of_the_registry_has_a_source_and_no_other_fact_has_a_place() -> None:
    stated = {(place, one.strip("?*")) for place, names in RECORD.items() for one in names.split()}
    assert {(one.place, one.name) for one in facts() if one.place is not None} == stated
    assert sum(one.source == "release" for one in facts()) >= 20


def test_words_of_the_owner_are_told_from_the_release() -> None:
    about = {"actors": "Our auditor."}
    record = yaml.safe_load(files(a_grid(), about)["registry.yaml"])["deployment"]
    assert record["deployment_model"]["actors"].endswith("The owner of the data says: Our auditor.")
    assert record["administrative"]["notes"].endswith("which dpviz can't check: actors.")


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("a.yaml", "epsilon: 0.1", '"epsilon" follows from the release'),
        ("a.yaml", "intention: x", '"intention" is no known fact'),
        ("a.yaml", "data_product_sector: Cheese", '"Cheese" is not one of Technology'),
        ("a.yaml", "contact: [a, b]", "contact is no text"),
        ("a.yaml", "contact: true", "contact is no text"),
        ("a.yaml", f"notes: {'x' * 5001}", "up to 5,000 characters"),
        ("a.yaml", 'notes: "\\0"', "can be printed"),
        ("a.yaml", "- a", "has no names"),
        ("a.yaml", "a: [", "can't be read"),
        ("a.yaml", "[" * 1500, "can't be read"),
        ("a.yaml", f"notes: {'x' * 300_000}", "larger than"),
        ("a.toml", "contact: a", "can't be read"),
        ("a.yaml", "a: !!python/object:os.system {}", "can't be read"),
    ],
)
def test_unusable_words_are_refused_in_one_sentence(name: str, text: str, match: str) -> None:
    with pytest.raises(InputError, match=match) as error:
        parsed(name, text.encode())
    assert "\n" not in str(error.value)


def test_words_are_read_from_toml_and_yaml_alike(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('data_curators = ["A", "B"]\nnotes = "n"\n')
    (tmp_path / "a.yaml").write_text("notes: n\ndata_curators: [A, B]\ncontact:\n")
    assert read_about(tmp_path / "a.toml") == read_about(tmp_path / "a.yaml")
    assert list(read_about(tmp_path / "a.yaml")) == ["data_curators", "notes"]
    assert checked({"data_curators": "A"}) == {"data_curators": ["A"]}
    with pytest.raises(InputError, match="name a YAML or TOML file"):
        read_about(tmp_path / "none.yaml")


# A bundle, read again


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(files(a_grid(), WORDS), tmp_path / "bundle")


def written(made: dict[str, bytes], folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, content in made.items():
        (folder / name).write_bytes(content)
    return folder


def zipped(folder: Path, inside: str = "") -> Path:
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for one in folder.iterdir():
            archive.write(one, f"{inside}{one.name}")
    return path


@pytest.mark.parametrize("inside", ["folder", "", "a/b/"])
def test_a_bundle_is_read_and_written_again_byte_by_byte(folder: Path, inside: str) -> None:
    path = folder if inside == "folder" else zipped(folder, inside)
    found = read_bundle(path)
    assert found.hashed
    assert not found.others
    assert found.files() == {one.name: one.read_bytes() for one in folder.iterdir()}
    assert "about.yaml" not in found.files({})


def old(folder: Path) -> Path:
    """Make a bundle as a version without hashes and files for others wrote it."""
    readme = [
        line
        for line in (folder / "README.txt").read_text("utf-8").splitlines(keepends=True)
        if not any(f"  {name} " in line for name in NEW)
    ]
    for name in NEW:
        (folder / name).unlink(missing_ok=True)
    (folder / "README.txt").write_text("".join(readme), "utf-8")
    return folder


NEW = ("sheet.html", "registry.yaml", "croissant.json", "ddi.xml", "open.ipynb", "repeat.ipynb",
       "about.yaml", "SHA256SUMS")  # fmt: skip


def test_a_bundle_of_the_version_before_is_read_and_gets_the_new_files(home: Path) -> None:
    """An older version of dpviz wrote this bundle, in version 1 of the format."""
    path = Path(__file__).with_name("version_1.zip")
    found = read_bundle(path)
    assert (found.document["version"], found.hashed) == (1, False)
    assert command("report", path, "--out", home / "again") == 0
    assert {one.name for one in (home / "again").iterdir()} >= set(NEW) - {"about.yaml"}
    assert read_bundle(home / "again").hashed
    with zipfile.ZipFile(path) as archive:
        for name in ("release.json", "cells.csv"):
            assert archive.read(name) == (home / "again" / name).read_bytes()


def change(name: str, old: str, new: str) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        text = (folder / name).read_text("utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1), "utf-8")

    return act


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def new_count(folder: Path) -> None:
    lines = (folder / "cells.csv").read_text("utf-8").splitlines()
    lines[1] = lines[1].replace(",", ",1", 1)
    (folder / "cells.csv").write_text("\n".join(lines), "utf-8")


def emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


#: Change of a bundle, part of the message, and which bundles have this message.
WRONG: list[tuple[Callable[[Path], None], str, str]] = [
    (change("report.html", "records", "RECORDS"), "report.html was changed", "new"),
    (change("release.json", '"epsilon": 1.0', '"epsilon": 0.1'), "release.json was changed",
     "new"),
    (change("about.yaml", "Example", "Else"), "about.yaml was changed", "new"),
    (new_count, "cells.csv (was changed|does not have the numbers)", "new old"),
    (remove("cells.csv"), "cells.csv is missing", "new old"),
    (remove("counts.svg"), "counts.svg is missing", "new old"),
    (remove("SHA256SUMS"), "SHA256SUMS is missing", "new"),
    (remove("release.json"), "release.json is missing|no bundle", "new old"),
    (change("release.json", '"version": 1', '"version": 9'), "has version 9", "old"),
    (change("release.json", '"version": 1', '"version": "1"'), "has version 1 of", "old"),
    (change("release.json", '"version": 1', '"version": true'), "has version True", "old"),
    (change("release.json", '"dpviz release"', '"else"'), "not a release of dpviz", "old"),
    (change("release.json", '"cap": 1', '"cap": 0'), "schema at privacy/cap", "old"),
    (change("release.json", "{", "["), "no JSON", "old"),
    (change("release.json", '"cap": 1', '"cap": NaN'), "NaN is no number", "old"),
    (change("release.json", '"block": 2', '"block": 1'), "contradict each other", "old"),
    (change("SHA256SUMS", "  report.html", "  release.json"), "report.html was changed", "new"),
    (emptied, "no bundle", "new old"),
]  # fmt: skip


@pytest.mark.some(1000)
@pytest.mark.parametrize(
    ("act", "match", "age"),
    [(act, match, age) for act, match, ages in WRONG for age in ages.split()],
)
def test_what_is_wrong_with_a_bundle_is_one_sentence(
    folder: Path, act: Callable[[Path], None], match: str, age: str
) -> None:
    if age == "old":
        old(folder)
    act(folder)
    for path in (folder, zipped(folder)):
        with pytest.raises(InputError, match=match) as error:
            read_bundle(path)
        assert "\n" not in str(error.value)
        assert str(error.value).endswith(".")


@pytest.mark.parametrize("what", ["missing", "text", "empty.zip", "cut.zip"])
def test_what_is_no_bundle_is_said(folder: Path, what: str) -> None:
    path = folder.parent / what
    if what != "missing":
        whole = zipped(folder).read_bytes()
        path.write_bytes({"text": b"x", "empty.zip": b"", "cut.zip": whole[:900]}[what])
    with pytest.raises(InputError, match="name the folder or the ZIP file"):
        read_bundle(path)


def test_a_zip_file_that_unpacks_to_too_much_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(folder)
    monkeypatch.setattr("dpviz.release.bundle.MOST_BYTES", 1000)
    for one in (folder, path):
        with pytest.raises(InputError, match="more than a release writes"):
            read_bundle(one)


def test_a_hash_that_was_made_for_a_changed_table_does_not_help(folder: Path) -> None:
    from dpviz.release.package import sums

    new_count(folder)
    made = {one.name: one.read_bytes() for one in folder.iterdir() if one.name != "SHA256SUMS"}
    (folder / "SHA256SUMS").write_text(sums(made))
    with pytest.raises(InputError, match="does not have the numbers of"):
        read_bundle(folder)


def test_a_file_of_others_is_named(folder: Path) -> None:
    (folder / "letter.txt").write_text("x")
    assert read_bundle(folder).others == ("letter.txt",)


# The plan of a release, from its document


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_the_request_of_a_document_is_the_request_of_the_release(case: dict[str, Any]) -> None:
    request = request_of(case)
    document = released(name_of(case))
    found = Request.of(document)
    assert found.config.neighbours == request.config.neighbours
    assert found.domain == request.domain
    assert found.what == request.what


def drawn(case: dict[str, Any]) -> dict[str, Any]:
    """A release with secure noise, whose numbers are not rounded."""
    return Prepared.build(dataset(0, 300), request_of(case)).draw(0.7, null_sets=2)


def test_a_repeated_release_has_the_same_steps() -> None:
    document = drawn({"method": "privthr"})
    again = repeat(document, dataset(3, 200))
    steps = [
        [(one["step"], one["epsilon"], one["scale"]) for one in each["privacy"]["ledger"]]
        for each in (document, again)
    ]
    assert steps[0] == steps[1]
    assert again["result"]["counts"] != document["result"]["counts"]


# Areas instead of cells


def on_areas() -> dict[str, Any]:
    points = np.random.default_rng(3).uniform([-3, 10], [3, 12], (500, 2))
    return Prepared.build(table(points), areas_request()).draw(0.7, null_sets=2)


def test_a_release_on_areas_has_the_same_files_and_the_same_plan(tmp_path: Path) -> None:
    document = on_areas()
    made = files(document, WORDS)
    root = check_ddi(made["ddi.xml"])
    assert [one.get("name") for one in root.iter(f"{DDI}var")][:3] == ["area", "count", "cluster"]
    assert root.findtext(f".//{DDI}caseQnty") == str(len(document["result"]["names"]))
    assert json.loads(made["croissant.json"])["recordSet"][0]["field"][0]["dataType"] == "sc:Text"
    assert (
        "public areas"
        in yaml.safe_load(made["registry.yaml"])["deployment"]["dp_variant"]["data_domain"]
    )
    found = read_bundle(written(made, tmp_path / "bundle"))
    assert found.files() == made
    assert Request.of(found.document).what == areas_request().what
    points = np.random.default_rng(4).uniform([-3, 10], [3, 12], (90, 2))
    again = repeat(found.document, table(points))
    assert again["result"]["polygons"] == document["result"]["polygons"]


@pytest.mark.exhaustive(reason="the notebooks of a release on a grid are run daily")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_both_notebooks_run_on_areas(tmp_path: Path) -> None:
    folder = written(files(on_areas()), tmp_path / "bundle")
    points = np.random.default_rng(4).uniform([-3, 10], [3, 12], (90, 2))
    pd.DataFrame(points, columns=["longitude", "latitude"]).to_csv(folder / "a.csv", index=False)
    assert "application/vnd.plotly.v1+json" in executed(folder / "open.ipynb")
    said = executed(folder / "repeat.ipynb", ("data.csv", "a.csv"))
    assert any("release " in one and "repeated" in one for one in said)


# The command


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path / "home"))
    return tmp_path


def command(*arguments: object) -> int:
    return main([*map(str, arguments)])


def made_release(home: Path, out: str, *more: object) -> Path:
    arguments = ("gaussians", "--method", "privthr", "--epsilon", 0.5, "--grid", 16)
    budget = ("--budget-file", home / "budget.db", "--out", home / out)
    assert command("release", *arguments, *budget, *more) == 0
    return home / out


def test_a_report_checks_the_bundle_and_the_debit(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "about.yaml").write_text("contact: a@example.org\n")
    one = made_release(home, "one", "--total", 3, "--about", home / "about.yaml")
    made_release(home, "two")
    capsys.readouterr()
    budget = home / "budget.db"
    for place, name in enumerate(("one", "two"), 1):
        out = home / f"{name}-again"
        given = (home / name, "--budget-file", budget, "--out", out, "--json")
        assert command("report", *given) == 0
        said = json.loads(capsys.readouterr().out)
        assert said["hashed"] is True
        assert (said["entry"]["id"], said["entry"]["state"]) == (place, "released")
        assert [Path(file).read_bytes() for file in said["files"]] == [
            (home / name / Path(file).name).read_bytes() for file in said["files"]
        ]
    assert command("report", one) == 0
    assert "unchanged" in capsys.readouterr().out
    account, entry = entry_of(read_bundle(one).document, Budget(budget))
    assert (account.id, entry.epsilon) == ("gaussians", 0.5)
    # A budget file of another release has no such debit.
    made_release(home / "other", "x", "--total", 1, "--density", 0.9)
    made_release(home / "other", "y", "--epsilon", 0.25)
    assert command("report", one, "--budget-file", home / "other" / "budget.db") == 2
    assert "has no debit of epsilon 0.5 for this release" in capsys.readouterr().err
    assert command("report", one, "--out", one) == 2
    assert "exists already" in capsys.readouterr().err
    assert command("report", one, "--about", home / "about.yaml") == 2
    assert "--about needs --out" in capsys.readouterr().err


@pytest.mark.exhaustive(reason="the debit of a release of records is found, daily")
def test_a_debit_for_persons_is_found_without_the_name_of_their_column(home: Path) -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.random((60, 2)), columns=["x", "y"]).assign(who=np.arange(60) % 20)
    table.to_csv(home / "rides.csv", index=False)
    given = ("--columns", "x,y", "--unit", "who", "--cap", 2, "--domain", "0,1;0,1")
    method = ("--method", "twostage", "--choose", "private", "--epsilon", 1)
    budget = ("--budget-file", home / "budget.db", "--total", 2, "--out", home / "out")
    assert command("release", home / "rides.csv", *given, *method, *budget) == 0
    document = read_bundle(home / "out").document
    assert entry_of(document, Budget(home / "budget.db"))[1].what["unit_column"] == "who"


def test_unusable_words_cost_no_budget(home: Path) -> None:
    (home / "about.yaml").write_text("epsilon: 3\n")
    given = ("gaussians", "--method", "privthr", "--epsilon", 0.5, "--out", home / "out")
    budget = ("--budget-file", home / "budget.db", "--total", 1)
    assert command("release", *given, *budget, "--about", home / "about.yaml") == 2
    assert not (home / "budget.db").exists()


# The review sheet as PDF


needs_pdf = pytest.mark.skipif(
    find_spec("weasyprint") is None, reason="the extra pdf is not installed"
)


@pytest.mark.exhaustive(reason="tests/browser/test_release.py prints a sheet daily")
@needs_pdf
def test_a_report_writes_the_sheet_as_pdf(home: Path) -> None:
    one = made_release(home, "one", "--total", 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that WeasyPrint imports
        assert command("report", one, "--out", home / "again", "--pdf") == 0
    check_pdf((home / "again" / "sheet.pdf").read_bytes())


@pytest.mark.exhaustive(reason="the PDF of one release is checked daily")
@needs_pdf
def test_the_sheet_of_every_method_becomes_pdf(bundle: dict[str, bytes]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that WeasyPrint imports
        check_pdf(sheet_pdf(bundle["sheet.html"]))


def check_pdf(made: bytes) -> None:
    """The file has two pages, and a checker that knows all of its parts approves it as PDF/A-3b."""
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert len(pdf.pages) == 2
        found = pikepdf.pdfa.check(pdf, "3b")
    assert found.passed, found.summary


def test_without_the_extra_the_way_to_a_pdf_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    assert command("report", folder, "--out", folder.parent / "again", "--pdf") == 2
    assert 'pip install "dpviz[pdf]"' in capsys.readouterr().err
    assert not (folder.parent / "again").exists()


# The notebooks


def executed(path: Path, change: tuple[str, str] = ("", "")) -> list[str]:
    """Run a notebook in its folder; return the types of what it shows."""
    import nbclient
    import nbformat

    book = nbformat.read(path, as_version=4)
    for cell in book.cells:
        cell.source = cell.source.replace(*change)
    client = nbclient.NotebookClient(
        book, timeout=300, resources={"metadata": {"path": str(path.parent)}}
    )
    # The kernel runs in the folder of the notebook, and reads this checkout.
    paths = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    client.execute(env={**os.environ, "PYTHONPATH": paths})
    return [kind for cell in book.cells for out in cell.get("outputs", ()) for kind in
            (*out.get("data", ()), *([out["text"]] if "text" in out else []))]  # fmt: skip


@pytest.mark.exhaustive(reason="tests/test_notebook.py runs a notebook daily")
@pytest.mark.daily("privthr")
@pytest.mark.parametrize("case", CASES, ids=name_of)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_both_notebooks_run(case: dict[str, Any], tmp_path: Path) -> None:
    folder = written(files(drawn(case)), tmp_path / "bundle")
    points = pd.DataFrame(dataset(4, 300).points, columns=["x <y>", "z"])
    points.to_csv(folder / "mine.csv", index=False)
    assert "application/vnd.plotly.v1+json" in executed(folder / "open.ipynb")
    said = executed(folder / "repeat.ipynb", ("data.csv", "mine.csv"))
    assert any("release " in one and "repeated" in one for one in said)
    assert not any("False" in one for one in said)
