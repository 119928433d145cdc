"""Reads a bundle that a release wrote, and checks that it is whole and unchanged."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from dpviz.base.errors import InputError, reason, shown
from dpviz.base.serialize import jsonable
from dpviz.privacy.budget_log import Account, Entry, decimal
from dpviz.privacy.lifetime_budget import Budget
from dpviz.release.document import FORMAT, VERSION, with_earlier
from dpviz.release.files import files, schema
from dpviz.release.package import About, parsed, sums
from dpviz.release.request import Request

_SUMS = "SHA256SUMS"

#: Largest number of bytes in all files of a bundle; the largest possible release has fewer bytes.
MOST_BYTES = 2**30


@dataclass(frozen=True, kw_only=True, eq=False)
class Bundle:
    """A bundle that passed all checks."""

    document: dict[str, Any]
    #: The owner's words in the bundle.
    about: About
    #: Whether hashes could be checked; bundles of older versions have none.
    hashed: bool
    #: Names of files that the release did not write, so nothing is known about them.
    others: tuple[str, ...]

    def files(self, about: About | None = None) -> dict[str, bytes]:
        """All files, written again by this version; ``about`` replaces the owner's words."""
        return files(self.document, self.about if about is None else about)


def read_bundle(path: str | Path) -> Bundle:
    """Read a folder or a ZIP file, or raise InputError with the first problem."""
    where = f"BUNDLE = {shown(path, 120)}"
    try:
        found = _contents(Path(path))
    except (OSError, ValueError, EOFError, RuntimeError, NotImplementedError,
            zipfile.BadZipFile) as error:  # fmt: skip
        raise InputError(f"{where} can't be read ({reason(error)}): name the folder or the ZIP "
                         "file that a release wrote.") from None  # fmt: skip
    if "release.json" not in found and _SUMS not in found:
        raise InputError(
            f"{where} is no bundle, since it has no release.json: name the folder or the ZIP file "
            "that a release wrote."
        )
    hashed, known = _check_hashes(found, where)
    document = _document(found["release.json"], where)
    try:
        made = files(document)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise InputError(
            f"{where}: parts of release.json contradict each other, so it was changed: ask the "
            "owner of the data for the bundle."
        ) from None
    for name in ("cells.csv", "areas.csv", "centers.csv"):
        if name in made and name in found and found[name] != made[name]:
            raise InputError(
                f"{where}: {name} does not have the numbers of release.json, so one of them was "
                "changed: ask the owner of the data for the bundle."
            )
    about = parsed("about.yaml", found.get("about.yaml", b""))
    others = tuple(sorted(set(found) - known))
    return Bundle(document=document, about=about, hashed=hashed, others=others)


def _contents(path: Path) -> dict[str, bytes]:
    """Files of a folder, or of a ZIP file, which may have one folder around all its files."""
    if path.is_dir():
        inside = [one for one in sorted(path.iterdir()) if one.is_file()]
        _check_size(sum(one.stat().st_size for one in inside))
        return {one.name: one.read_bytes() for one in inside}
    with zipfile.ZipFile(path) as archive:
        members = [one for one in archive.infolist() if not one.is_dir()]
        _check_size(sum(one.file_size for one in members))
        top = {one.filename.rpartition("/")[0] for one in members
               if one.filename.rpartition("/")[2] == "release.json"}  # fmt: skip
        folder = f"{min(top, key=len)}/" if top and "" not in top else ""
        inner = {one.filename.removeprefix(folder): one for one in members
                 if one.filename.startswith(folder)}  # fmt: skip
        return {name: archive.read(one) for name, one in inner.items() if "/" not in name}


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _check_size(many: int) -> None:
    if many > MOST_BYTES:
        raise ValueError(f"{many:,} bytes are more than a release writes")


def _check_hashes(found: Mapping[str, bytes], where: str) -> tuple[bool, frozenset[str]]:
    """Whether there are hashes, and the names of the files that the release wrote."""
    readme = found.get("README.txt", b"").decode("utf-8", "replace")
    listed = set(re.findall(r"^  (\S+)  +\S", readme, flags=re.MULTILINE)) or {"release.json"}
    lines = found.get(_SUMS, b"").decode("utf-8", "replace").splitlines()
    stated = {name: value for value, _, name in (line.partition("  ") for line in lines)}
    for name in sorted(listed | set(stated) | {"release.json"}):
        if name not in found:
            raise InputError(
                f"{where}: {shown(name)} is missing: ask the owner of the data for the whole "
                "bundle."
            )
    # A missing line is an error, like a wrong hash.
    for name in sorted((listed | set(stated)) - {_SUMS}) if stated else ():
        if sums({name: found[name]}) != f"{stated.get(name)}  {name}\n":
            raise InputError(
                f"{where}: {shown(name)} was changed after the release, or {_SUMS} was: ask the "
                "owner of the data for the bundle."
            )
    return bool(stated), frozenset(listed | set(stated) | {_SUMS, "README.txt"})


def _document(content: bytes, where: str) -> dict[str, Any]:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    try:
        document = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{where}: release.json is no JSON ({reason(error)}): ask the owner of the data for "
            "the bundle."
        ) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(
            f"{where}: release.json is not a release of dpviz: name the folder or the ZIP file "
            "that a release wrote."
        )
    version = document.get("version")
    if type(version) is not int or version not in range(1, VERSION + 1):
        raise InputError(
            f"{where}: release.json has version {shown(version)} of the format, and this dpviz "
            f"reads versions 1 to {VERSION}: use the dpviz that wrote it, or a newer one."
        )
    problem = best_match(Draft202012Validator(json.loads(schema())).iter_errors(document))
    if problem is not None:
        place = "/".join(map(str, problem.absolute_path)) or "the top"
        raise InputError(
            f"{where}: release.json does not fit its schema at {shown(place, 60)} "
            f"({shown(problem.message, 120)}): ask the owner of the data for the bundle."
        )
    return document


def entry_of(document: Mapping[str, Any], budget: Budget) -> tuple[Account, Entry]:
    """The debit of a release in a budget file; InputError if no debit is for this release.

    If several debits are equal, the one with the same earlier debits is preferred.
    """
    # The name of the column of persons is not released, so it is left empty here.
    is_person = document["privacy"]["unit"] == "person"
    what = jsonable(Request.of(document, unit="" if is_person else None).what)
    del what["unit_column"]
    epsilon = document["privacy"]["epsilon"]
    fits = [
        (account, one)
        for account in budget.datasets()
        for one in account.entries
        if one.epsilon == epsilon
        and all(one.what.get(name) == value for name, value in what.items())
    ]
    if not fits:
        raise InputError(
            f"--budget-file {shown(budget.path, 120)} has no debit of epsilon {decimal(epsilon)} "
            "for this release: name the budget file that the release debited."
        )

    def is_same(account: Account, entry: Entry) -> bool:
        before = [one for one in account.entries if one.id < entry.id]
        return with_earlier({}, before).get("earlier") == document.get("earlier")

    return next((pair for pair in fits if is_same(*pair)), fits[0])
