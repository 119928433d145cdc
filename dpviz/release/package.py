"""Files for a registry, an ethics board and a repository, in addition to a release's report.

All texts are functions of the released document and of the owner's words (:class:`About`). The
table ``registry.toml`` has the source of each fact; files in ``templates`` have the other words.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from dpviz.base.errors import InputError, reason, shown
from dpviz.base.serialize import jsonable
from dpviz.base.tables import read_rows
from dpviz.privacy.explain import (
    all_spent_words,
    guess_words,
    limit_words,
    scale_words,
    times_at_most,
)
from dpviz.release.formatting import printable
from dpviz.release.report import environment, words_on
from dpviz.release.tables import Document, title

if TYPE_CHECKING:
    from jinja2 import Environment

#: The owner's words by name of the fact: a text, or a list of names.
About = Mapping[str, str | list[str]]

#: Longest text of the owner, in characters.
LONGEST = 5000

#: Most bytes of all texts of the owner.
_MOST_BYTES = 200_000

#: Text of a required fact that the owner has not stated.
UNSAID = "(not stated by the owner of the data)"


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A fact of a release, and its source."""

    name: str
    #: Path in a record of the registry, with dots; None if the registry does not have this fact.
    place: str | None = None
    source: Literal["release", "owner", "both"]
    kind: Literal["text", "number", "list"] = "text"
    #: Template over the document.
    text: str = ""
    #: Tier of the registry that asks the owner for this fact; 0 if no tier does.
    tier: int = 0
    required: bool = False
    choices: tuple[str, ...] = ()
    #: Short name on the review sheet and in the form; "" if neither of them asks for this fact.
    label: str = ""
    #: What the owner is asked for.
    help: str = ""


def facts() -> tuple[Fact, ...]:
    """All facts, in the order of the registry's schema."""
    return read_rows(Path(__file__).with_name("registry.toml"), Fact)


def asked() -> dict[str, Fact]:
    """Facts that only the owner knows, by name."""
    return {one.name: one for one in facts() if one.source != "release"}


def read_about(path: str | Path) -> dict[str, str | list[str]]:
    """Read the owner's words from a TOML or YAML file, or raise InputError."""
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(
            f"about = {shown(path, 120)} can't be read ({reason(error)}): name a YAML or TOML file."
        ) from None
    return parsed(str(path), content)


def parsed(name: str, content: bytes) -> dict[str, str | list[str]]:
    """Owner's words from the content of a file; its name says whether it is TOML or YAML."""
    import yaml

    where = f"about = {shown(name, 120)}"
    if len(content) > _MOST_BYTES:
        raise InputError(f"{where} is larger than {_MOST_BYTES:,} bytes: write shorter texts.")
    try:
        text = content.decode("utf-8-sig")
        found = tomllib.loads(text) if name.lower().endswith(".toml") else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        why = reason(error) if mark is None else f"line {mark.line + 1} is no YAML"
        raise InputError(
            f"{where} can't be read ({why}): write lines such as intended_use: city planning, in "
            'TOML intended_use = "city planning".'
        ) from None
    return checked({} if found is None else found, where)


def checked(about: Any, where: str = "about") -> dict[str, str | list[str]]:
    """Return the owner's words in the order of the facts, or raise InputError.

    Empty words count as missing. The owner can't state a fact that follows from the release.
    """
    known = asked()
    if not isinstance(about, Mapping):
        raise InputError(f"{where} has no names: write lines such as intended_use: city planning.")
    for name in about:
        if name not in known:
            follows = any(one.name == name for one in facts())
            why = "follows from the release, so remove it" if follows else "is no known fact"
            raise InputError(f'{where}: "{shown(name)}" {why}; known are {", ".join(known)}.')
    said = {name: _said(one, about.get(name), where) for name, one in known.items()}
    return {name: value for name, value in said.items() if value}


def _said(fact: Fact, value: Any, where: str) -> str | list[str]:
    if fact.kind == "list":
        given = value if isinstance(value, list) else [value]
        return [one for one in (_line(fact, each, where) for each in given) if one]
    return _line(fact, value, where)


def _line(fact: Fact, value: Any, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, date | int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise InputError(f"{where}: {fact.name} is no text: write it as a text.")
    text = value.strip()
    if len(text) > LONGEST or printable(text) != text:
        raise InputError(
            f"{where}: {fact.name} must be up to {LONGEST:,} characters that can be printed."
        )
    if fact.choices and text and text not in fact.choices:
        raise InputError(
            f'{where}: {fact.name} = "{shown(text)}" is not one of {", ".join(fact.choices)}.'
        )
    return text


def package(document: Document, about: About, made: Mapping[str, bytes]) -> dict[str, str]:
    """Write the files for registry, board and repository: their texts by name.

    ``made``: contents of the files that are described, such as ``cells.csv``.
    """
    values = _values(document, about, made)
    return {
        "sheet.html": _rendered("sheet.html.j2", values),
        "registry.yaml": _registry(values),
        "croissant.json": _croissant(values, made),
        "ddi.xml": _rendered("ddi.xml.j2", values | {"tables": _tables(made)}),
        "repeat.ipynb": _notebook("repeat.py.j2", values),
        "open.ipynb": _notebook("open.py.j2", values),
    } | ({"about.yaml": _yaml(about)} if about else {})


def sums(made: Mapping[str, bytes]) -> str:
    """Hash of every file, in the format that ``sha256sum --check`` reads."""
    return "".join(f"{_hash(content)}  {name}\n" for name, content in made.items())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _values(document: Document, about: About, made: Mapping[str, bytes]) -> dict[str, Any]:
    ledger, epsilon = document["privacy"]["ledger"], document["privacy"]["epsilon"]
    spent = epsilon + sum(one["epsilon"] for one in document.get("earlier", []))
    total = document.get("lifetime_budget")
    missing = [one for one in facts() if one.tier and one.name not in about]
    values: dict[str, Any] = {
        **document,
        **words_on(document),
        "title": printable(title(document)),
        "slug": _slug(document, about),
        "guess_words": guess_words(epsilon, f"a given {document['privacy']['unit']}"),
        "times": times_at_most(epsilon),
        "scale_words": scale_words(epsilon),
        "steps": list(dict.fromkeys(spend["step"] for spend in ledger)),
        "mechanisms": list(dict.fromkeys(spend["mechanism"] for spend in ledger)),
        "spent": spent,
        "limit_words": limit_words(total, spent) if total else "",
        "all_spent_words": all_spent_words(total) if total else "",
        "release_hash": _hash(made["release.json"]),
        "tier": min((one.tier - 1 for one in missing), default=3) or 1,
        "about": {name: about.get(name, "") for name in asked()},
        "owners": list(about),
        "asked": asked(),
        "missing": [one.name for one in missing],
        "unsaid": UNSAID,
    }
    return values | {"fact": {one.name: _value(one, values) for one in facts()}}


def _value(fact: Fact, values: Mapping[str, Any]) -> Any:
    own = values["about"].get(fact.name)
    if fact.source == "owner":
        default = [UNSAID] if fact.kind == "list" else UNSAID
        return own or (default if fact.required else None)
    text = _templates().from_string(fact.text).render(values).strip()
    if fact.kind == "number":
        return json.loads(text)
    return f"{text}\n\nThe owner of the data says: {own}" if own else text


def _slug(document: Document, about: About) -> str:
    """Stable name in the registry, by the registry's rule: name, curators, year."""
    parts = (
        printable(title(document)),
        "-".join(about.get("data_curators") or [UNSAID]),
        str(document.get("date", "1900"))[:4],
    )
    return "_".join(re.sub(r"\W+", "_", part.lower()) for part in parts).replace("_", "-")


@cache
def _templates() -> Environment:
    made = environment(escape=False)
    made.filters["code"] = _code
    return made


def _code(text: str) -> str:
    return "`" + re.sub(r"\\+", r"\\", printable(text).replace("`", "'").replace("\n", " ")) + "`"


def _rendered(name: str, values: Mapping[str, Any]) -> str:
    return environment(escape=True).get_template(f"templates/{name}").render(values)


def _registry(values: Mapping[str, Any]) -> str:
    record: dict[str, Any] = {}
    for one in facts():
        value = values["fact"][one.name]
        if one.place is None or value is None:
            continue
        inner = record
        for part in filter(None, one.place.split(".")):
            inner = inner.setdefault(part, {})
        inner[one.name] = value
    head = "# Record for the registry of deployments of differential privacy, written by dpviz.\n"
    if values["missing"]:
        told = ", ".join(values["missing"])
        head += f"# Only the owner of the data knows these facts, and has not said them: {told}.\n"
    return head + _yaml(record)


def _yaml(value: Any) -> str:
    import yaml

    # No text is folded, because the registry refuses folded texts.
    return str(yaml.safe_dump(jsonable(value), sort_keys=False, allow_unicode=True, width=math.inf))


@dataclass(frozen=True, kw_only=True)
class _Table:
    name: str
    columns: tuple[str, ...]
    rows: int

    @classmethod
    def of(cls, name: str, content: bytes) -> _Table:
        reader = csv.reader(io.StringIO(content.decode()))
        columns = tuple(next(reader))
        # Only the header, and names of areas, may have line breaks within a cell.
        rows = content.count(b"\n") - reader.line_num
        return cls(name=name, columns=columns, rows=rows if name != _AREAS else len(list(reader)))

    def kind(self, column: int) -> str:
        """Type of the values of a column: marks and clusters are whole numbers."""
        if self.columns[column] == "area" and self.name == _AREAS:
            return "sc:Text"
        return "sc:Integer" if self.columns[column] in ("cluster", "doubtful") else "sc:Float"

    def about(self, column: int) -> str:
        """Description of a column."""
        name = self.columns[column]
        if name == "area" and self.name == _AREAS:
            return "public name of the area"
        return _COLUMNS.get(name) or f"public or noisy value of {name}, in the units of the data"


_AREAS = "areas.csv"

_COLUMNS = {
    "count": "number of records, with noise",
    "cluster": "number of the cluster; 0 in a table of cells or areas means no cluster",
    "doubtful": "1 if noise alone could have made the cluster, otherwise 0",
}


def _tables(made: Mapping[str, bytes]) -> list[_Table]:
    return [_Table.of(name, made[name]) for name in made if name.endswith(".csv")]


_TYPES = {"csv": "text/csv", "geojson": "application/geo+json", "json": "application/json"}


def _croissant(values: Mapping[str, Any], made: Mapping[str, bytes]) -> str:
    about, fact = values["about"], values["fact"]
    described = [name for name in made if name.endswith((".csv", ".geojson"))]
    document: dict[str, Any] = {
        **json.loads(Path(__file__).with_name("templates").joinpath("croissant.json").read_text()),
        "name": values["title"],
        "description": fact["description"],
        "license": about["license"] or UNSAID,
        "creator": [{"@type": "Organization", "name": name} for name in fact["data_curators"]],
        "datePublished": fact["publication_date"],
        "version": "1.0.0",
        "citeAs": f"{values['title']}. {', '.join(fact['data_curators'])}.",
        "rai:personalSensitiveInformation": " ".join(
            [values["privacy"]["odds"], fact["privacy_unit_details"]]
        ),
        "rai:dataPreprocessingProtocol": fact["preprocessing_and_hyperparameter_tuning"],
        "rai:dataManipulationProtocol": fact["mechanisms"],
        "rai:dataLimitations": f"Every number carries noise. {values['doubt_words']}".strip(),
        "rai:dataUseCases": fact["intended_use"],
        "rai:dataReleaseMaintenancePlan": fact["release_type_details"],
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": name,
                "contentSize": f"{len(made[name])} B",
                "encodingFormat": _TYPES[name.rpartition(".")[2]],
                "sha256": _hash(made[name]),
            }
            for name in described
        ],
        "recordSet": [_record_set(table) for table in _tables(made)],
    }
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _record_set(table: _Table) -> dict[str, Any]:
    stem = table.name.partition(".")[0]
    return {
        "@type": "cr:RecordSet",
        "@id": stem,
        "name": stem,
        "field": [
            {
                "@type": "cr:Field",
                # Names of columns may have characters that an address can't have.
                "@id": f"{stem}/{place}",
                "name": printable(name),
                "description": printable(table.about(place)),
                "dataType": table.kind(place),
                "source": {"fileObject": {"@id": table.name}, "extract": {"column": name}},
            }
            for place, name in enumerate(table.columns)
        ],
    }


def _notebook(name: str, values: Mapping[str, Any]) -> str:
    script = _templates().get_template(f"templates/{name}").render(values)
    cells = []
    for number, part in enumerate(re.split(r"^# %%", script, flags=re.MULTILINE)[1:]):
        kind, _, source = part.partition("\n")
        cell: dict[str, Any] = {"id": f"cell-{number}", "metadata": {}}
        if "markdown" in kind:
            source = re.sub(r"^# ?", "", source, flags=re.MULTILINE)
            cell |= {"cell_type": "markdown"}
        else:
            cell |= {"cell_type": "code", "execution_count": None, "outputs": []}
        cells.append(cell | {"source": source.strip()})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def sheet_pdf(page: bytes) -> bytes:
    """Print the page ``sheet.html`` as PDF/A-3b, with tags and all fonts inside.

    Raises InputError if WeasyPrint, or a library of the system that it needs, is missing.
    """
    try:
        from weasyprint import HTML
    except (ImportError, OSError) as error:
        raise InputError(
            f"--pdf needs WeasyPrint, which can't be used ({reason(error)}): run "
            'pip install "dpviz[pdf]", or print sheet.html in a browser.'
        ) from None
    document = HTML(string=page.decode(), url_fetcher=_refuse)
    made: bytes = document.write_pdf(
        finisher=_without_empty_resources,
        pdf_variant="pdf/a-3b",
        pdf_tags=True,
        pdf_identifier=b"dpviz review sheet",
    )
    return made


def _without_empty_resources(_: Any, pdf: Any) -> None:
    """Remove empty lists of patterns and shadings, which some checkers of PDF/A don't approve."""
    for one in pdf.objects:
        for name in ("Pattern", "Shading"):
            if isinstance(one, dict) and one.get(name) == {}:
                del one[name]


def _refuse(url: str, *_: object) -> NoReturn:
    raise ValueError(url)
