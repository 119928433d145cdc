"""One release, in this order: check, rehearsal run, debit, final run, files."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpviz.base.errors import InputError, PrivacyRefusal, reason, shown
from dpviz.data.dataset import Dataset
from dpviz.data.engine.choice import Local
from dpviz.data.engine.tables import Engine
from dpviz.data.geographic import check_bounds, lon_first, map_axes
from dpviz.data.stored import ParquetPart, Stored, whole_rows
from dpviz.data.units import cap_records
from dpviz.family.family import Material
from dpviz.grid.areas import Areas
from dpviz.grid.counts import MAX_EXACT
from dpviz.privacy.budget_log import Account, Entry, decimal, granted
from dpviz.privacy.lifetime_budget import Budget
from dpviz.privacy.secure import SecureAccountant
from dpviz.release.document import Document, document, with_earlier
from dpviz.release.files import files
from dpviz.release.package import About
from dpviz.release.request import Request

#: A larger budget gives almost no protection, and the factor e^epsilon has no practical meaning.
MOST_EPSILON = 20.0

#: Names of values that must be equal in all releases of a source. Otherwise the budgets of these
#: releases don't add up.
ALIKE = ("neighbours", "unit", "unit_column")

#: Makes an accountant; tests pass an accountant with stored noise.
Accounting = Callable[..., SecureAccountant]


@dataclass(frozen=True, kw_only=True, eq=False)
class Released:
    """Result of a release."""

    entry: Entry
    #: Number of this release among the debits of its source, from 1.
    number: int
    #: Remaining epsilon of the budget; None if it could not be read after the release.
    remaining: float | None
    #: The published document, as in ``release.json``.
    document: Document
    folder: Path
    #: Contents of the bundle by file name.
    files: dict[str, bytes]

    @property
    def place(self) -> str:
        """Which release of its source this is, in words."""
        beyond = self.entry.id != self.number
        return f'number {self.number} of "{self.entry.source}"' + (
            f", entry {self.entry.id} of the budget file" * beyond
        )

    @property
    def left(self) -> str:
        """Remaining lifetime budget in words."""
        if self.remaining is None:
            return "the remaining lifetime budget can't be read"
        return f"{decimal(self.remaining)} of the lifetime budget is left"


@dataclass(frozen=True, eq=False)
class Prepared:
    """A request with its data, after all checks; ready for the final run."""

    request: Request
    columns: tuple[str, ...]
    #: Data in the form that the method reads.
    material: Material
    #: Whether the data were given as a grid of counts.
    counted: bool = False

    @classmethod
    def build(cls, dataset: Dataset, request: Request) -> Prepared:
        """Check data and request, and combine them.

        Success does not depend on anything that one record may change. Data without records, data
        with all records outside the domain, and data with numbers that can't be used for computing
        are as valid as any other data. Raises PrivacyRefusal if the request must not be released,
        and InputError if it does not fit the columns or the grid of counts.
        """
        request.check()
        _check_names(dataset)
        if request.areas is not None:
            dataset = _on_areas(dataset, request.areas)
        check_bounds(dataset.columns, request.domain)
        dataset = _usable(dataset)
        if request.persons:
            # The key that selects each person's records is not stored.
            dataset = cap_records(dataset, request.config.neighbours.cap, secrets.randbits(63))
        material = request.family.material(
            dataset, request.config, request.domain, request.outside, secure=True
        )
        return cls(request, dataset.columns, material, counted=dataset.counts is not None)

    @classmethod
    def of_stored(cls, source: Stored, request: Request, engine: Engine) -> Prepared:
        """Check stored records and request, and combine them.

        The records are in Parquet files, because the type of each column shows that it contains
        numbers (see :func:`check_parts`). If the privacy unit is a person, no person has more
        records than the cap.
        """
        request.check()
        if request.areas is not None:
            raise InputError("areas need data in memory: name a single file and no engine.")
        check_parts(source)
        check_bounds(source.columns, request.domain)
        material = request.family.stored(
            source, request.config, request.domain, request.outside, engine, secure=True
        )
        return cls(request, source.columns, material)

    @property
    def what(self) -> dict[str, Any]:
        """Content of the entry in the lifetime budget."""
        request = self.request
        chosen = () if self.counted else request.family.chosen(request.config)
        given = {name: list(value) for name, value in self.given.items() if name not in chosen}
        return request.what | given

    @property
    def given(self) -> dict[str, Any]:
        """Parameters that were derived from the data."""
        return self.request.family.given_by_data(self.material)

    def draw(
        self,
        epsilon: float,
        accounting: Accounting = SecureAccountant,
        null_sets: int | None = None,
    ) -> Document:
        """Run the method with noise that nobody can reproduce; return the published document.

        ``epsilon`` is the debited epsilon.
        """
        request = self.request.granted(epsilon)
        config, family = request.config, request.family
        # Counts of areas are whole; only the wavelet needs a finer lattice.
        unit = 1.0 if request.areas else family.methods[config.method].unit
        accountant = accounting(config.epsilon, config.neighbours, unit=unit)
        run = family.run(self.material, config, accountant)
        return document(
            request, run, accountant, columns=self.columns, domain=self.material.domain,
            given=self.given, counted=self.counted, null_sets=null_sets,
        )  # fmt: skip


def check_parts(source: Stored) -> None:
    """Refuse a release part by part if a file is not a Parquet file.

    The type of a Parquet column shows that it contains numbers. In other files, one text cell that
    is not a number would stop the release, and so reveal something about its record.
    """
    for part in source.parts:
        if not isinstance(part, ParquetPart):
            raise InputError(
                f"{shown(part.title, 120)} can't be released part by part, since a text cell "
                "that is not a number would stop the release and so reveal something about a "
                "record: write Parquet files, or name a single file and no engine."
            )


def release(
    dataset: Dataset | Stored,
    request: Request,
    *,
    engine: Engine | None = None,
    budget: Budget,
    source: str,
    total: float | None,
    folder: Path,
    about: About | None = None,
    before: Callable[[], object] | None = None,
) -> Released:
    """Release a clustering once, and write its bundle.

    Everything that can fail is tested before the debit: the method runs once with secure noise, and
    this result is discarded. A crash after the debit loses budget, never privacy. Raises
    PrivacyRefusal if the request must not be released, the budget does not suffice, or the files
    belong to another source. Raises InputError if request, data, budget file or folder can't be
    used.

    Parameters
    ----------
    dataset
        The owner's data; with ``units`` if the privacy unit is a person. In stored records, no
        person may have more records than the cap.
    engine
        Engine that reads stored records; by default threads of this process.
    budget, source, total
        Lifetime budget, the owner's name for the data, and the total epsilon if the source is new.
        The names of the files from which the data were read are stored with the data, and the
        budget stores the source of these files. That source is debited. If the data were read in
        another way, or from a copy with the same bytes, the caller must name the source.
    folder
        Folder of the bundle; must be new or empty.
    about
        The owner's words for registry, repository and ethics board
        (:func:`dpviz.release.package.read_about`). These words are published unchanged.
    before
        Function that is called after all checks, right before the debit.
    """
    # All tests before the debit use the epsilon that the debit will grant.
    request = _by_name(request.granted(granted(request.config.epsilon)), dataset)
    if isinstance(dataset, Stored):
        prepared = Prepared.of_stored(dataset, request, engine or Local())
    else:
        prepared = Prepared.build(dataset, request)
    budget.owner(dataset.origins, source)
    account = _check_budget(budget, source, request.config.epsilon)
    trial = prepared.draw(request.config.epsilon, null_sets=1)
    before_it = account.entries if account else ()
    files(with_earlier(trial, before_it, account.total if account else total), about)
    # Path.absolute() would keep "out/..", which names an existing folder.
    folder = Path(os.path.abspath(folder))
    with _part(folder) as part:
        if before is not None:
            before()
        entry = budget.debit(
            source, request.config.epsilon, prepared.what, total=total, alike=ALIKE,
            origins=dataset.origins,
        )  # fmt: skip
        try:
            account = budget.open(source)
            before_it = tuple(one for one in account.entries if one.id < entry.id)
            drawn = with_earlier(prepared.draw(entry.epsilon), before_it, account.total)
            bundle = files(drawn, about)
            _publish(bundle, part, folder)
        except (InputError, PrivacyRefusal) as error:
            said = f"{str(error).rstrip('.')}; the budget is debited nevertheless."
            raise type(error)(said) from None
    # The release is now public, so later failures must not suggest that it is not public.
    remaining = None
    with suppress(InputError):
        entry = budget.mark(entry)
        remaining = budget.open(source).remaining
    return Released(
        entry=entry,
        number=len(before_it) + 1,
        remaining=remaining,
        document=drawn,
        folder=folder,
        files=bundle,
    )


def write_folder(made: dict[str, bytes], folder: Path) -> None:
    """Write files to a new or empty folder, either completely or not at all."""
    folder = Path(os.path.abspath(folder))
    with _part(folder) as part:
        _publish(made, part, folder)


def repeat(document: Document, dataset: Dataset, unit: str | None = None) -> Document:
    """Run the plan of a released document on data, with new secure noise and without a debit.

    ``unit`` is the column of persons, which the document does not name. The result must not be
    published if the data are private.
    """
    request = _by_name(Request.of(document, unit), dataset)
    return Prepared.build(dataset, request).draw(request.config.epsilon)


def _by_name(request: Request, data: Dataset | Stored) -> Request:
    """The request, with the persons' column given by its name, because its number may change."""
    if request.unit is not None and data.unit is None and isinstance(data, Stored):
        raise InputError(
            f'unit = "{shown(request.unit)}" needs stored records with a limited number per '
            "person: open them with dpviz.data.stored_units.capped."
        )
    if request.unit is None or data.unit in (None, request.unit):
        return request
    if not str(request.unit).isdigit():
        raise InputError(
            f'unit = "{shown(request.unit)}" is not what was read: the data have the persons of '
            f'column "{shown(data.unit)}".'
        )
    return replace(request, unit=data.unit)


def _check_names(dataset: Dataset) -> None:
    """Refuse column names that may be values of a first record, because names are published."""
    if dataset.doubtful:
        # The error does not repeat the names, because they may be values.
        raise InputError(
            "column names look like values of a first record: write names that begin with a letter "
            'into the first line, or give the header that is missing, for example "x,y".'
        )


def _on_areas(dataset: Dataset, areas: Areas) -> Dataset:
    if dataset.counts is not None or dataset.ndim != 2:
        raise InputError("areas need records with two columns, for example longitude and latitude.")
    dataset = dataset.select(lon_first(dataset.columns))
    if map_axes(dataset.columns, areas.domain.bounds) != (0, 1):
        x, y = map(shown, dataset.columns)
        raise InputError(
            f"columns {x} and {y} don't say which one is horizontal: rename them to x and y, or to "
            "longitude and latitude."
        )
    return replace(dataset, areas=areas)


def _usable(dataset: Dataset) -> Dataset:
    if dataset.counts is not None:
        # The total stays below 2^53, where floats are exact, and one record still changes one cell
        # by 1.
        most = MAX_EXACT // dataset.counts.size
        return replace(dataset, counts=np.clip(dataset.counts, 0, most))
    # Known classes are for exploring only. Nothing in a release may depend on them.
    dataset, points = replace(dataset, classes=None), dataset.points
    assert points is not None  # noqa: S101 - a Dataset holds one of the two
    keep = whole_rows(points)
    return dataset if keep is None else dataset.take(keep)


def _check_budget(budget: Budget, source: str, epsilon: float) -> Account | None:
    """Refuse early every request that the debit would refuse; the debit decides in the end."""
    if not epsilon <= MOST_EPSILON:
        raise PrivacyRefusal(
            f"epsilon = {epsilon:g} hides almost nothing: release with {MOST_EPSILON:g} or less."
        )
    account = budget.find(source)
    if account:
        account.check(epsilon)
    return account


@contextmanager
def _part(folder: Path) -> Iterator[Path]:
    try:
        part = folder.with_name(f"{folder.name}.part")
        folder.parent.mkdir(parents=True, exist_ok=True)
        taken = folder.is_symlink() or (
            folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        )
    except (OSError, ValueError) as error:
        raise InputError(_unwritable(folder, error)) from None
    if taken:
        raise InputError(
            f"out = {shown(folder, 80)} exists already and is not an empty folder: name a new "
            "folder, so that no release is overwritten."
        )
    try:
        part.mkdir(mode=0o700)
        part.chmod(0o700)  # A umask may have removed the owner's rights, too.
    except FileExistsError:
        raise InputError(
            f"out = {shown(folder, 80)} is being written by another release, or a release was "
            f"interrupted: name another folder, or remove {shown(part.name, 80)}."
        ) from None
    except OSError as error:
        raise InputError(_unwritable(folder, error)) from None
    try:
        yield part
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _unwritable(folder: Path, error: Exception) -> str:
    return f"out = {shown(folder, 80)} can't be written ({reason(error)}): name another folder."


def _publish(bundle: dict[str, bytes], part: Path, folder: Path) -> None:
    try:
        for name, content in bundle.items():
            with (part / name).open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            rights = (part / name).stat().st_mode & 0o777
        # The bundle will be published, so everyone who may read its files may also read the folder.
        part.chmod(rights | (rights & 0o444) >> 2 | 0o700)
        part.replace(folder)
        _settle(folder.parent)
    except OSError as error:
        raise InputError(_unwritable(folder, error)) from None


def _settle(folder: Path) -> None:
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
