"""One release: checked, rehearsed, debited, drawn, written; in that order."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dpviz.config import Config
from dpviz.data.dataset import Dataset
from dpviz.data.units import cap_records
from dpviz.domain import Domain
from dpviz.errors import InputError
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.methods import KMEANS, WAVECLUSTER
from dpviz.pipeline import Run, Source
from dpviz.privacy.budget import Budget, Entry
from dpviz.privacy.secure import LATTICE, SecureAccountant
from dpviz.release.document import Document, document
from dpviz.release.files import files
from dpviz.release.request import Request

#: Techniques whose noise has to be fine: PrivTHR takes half of the empty cells for positive, which
#: noise in whole numbers, often 0, does not make them.
FINE = ("privthr",)

#: How an accountant is made; tests replay one.
Accounting = Callable[..., SecureAccountant]


@dataclass(frozen=True, kw_only=True, eq=False)
class Released:
    """What a release leaves behind.

    Parameters
    ----------
    entry
        In the lifetime budget.
    remaining
        Epsilon that is left of it.
    document
        What was published, as in ``release.json``.
    folder
        Where the bundle is.
    files
        Contents of the bundle by file name.
    """

    entry: Entry
    remaining: float
    document: Document
    folder: Path
    files: dict[str, bytes]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A request with its data, all that can go wrong behind it: ready to be drawn.

    Parameters
    ----------
    request
        Public choices.
    columns
        Names of the columns.
    material
        What the method reads.
    """

    request: Request
    columns: tuple[str, ...]
    material: Source | Records

    @classmethod
    def build(cls, dataset: Dataset, request: Request) -> Prepared:
        """Bring data and request together.

        Raises
        ------
        PrivacyRefusal
            Where the request must not be released.
        InputError
            Where it does not fit the data.
        """
        request.check()
        if request.persons:
            # The key that chooses a person's records is thrown away.
            dataset = cap_records(dataset, request.config.neighbours.cap, secrets.randbits(63))
        config = request.config
        material: Source | Records
        if isinstance(config, Config):
            material = Source.build(dataset, config.grid, request.domain, request.outside)
        else:
            material = Records.build(dataset, request.domain, request.outside, cut=True)
        return cls(request, dataset.columns, material)

    @property
    def domain(self) -> Domain:
        """Declared bounds."""
        return self.material.domain

    def draw(self, epsilon: float, accounting: Accounting = SecureAccountant) -> Document:
        """Run the method with noise that nobody can repeat; returns all that is published.

        Parameters
        ----------
        epsilon
            What was debited.
        accounting
            Makes the accountant.
        """
        request = self.request.granted(epsilon)
        config = request.config
        unit = 1.0 if isinstance(config, Config) and config.method not in FINE else LATTICE
        accountant = accounting(config.epsilon, config.neighbours, unit=unit)
        run: Run | KMeansRun
        if isinstance(config, Config):
            assert isinstance(self.material, Source)  # noqa: S101 - built for this family
            run = WAVECLUSTER[config.method].run(self.material, config, accountant)
        else:
            assert isinstance(self.material, Records)  # noqa: S101 - built for this family
            run = KMEANS[config.method].run(self.material, config, accountant)
        return document(request, self.domain, self.columns, run, accountant)


def release(
    dataset: Dataset,
    request: Request,
    *,
    budget: Budget,
    source: str,
    total: float | None,
    folder: Path,
) -> Released:
    """Release a clustering once, and write its bundle.

    Everything that can fail is tried before the debit: the method runs once with secure noise
    whose result is thrown away. After the debit a crash loses budget, never privacy.

    Parameters
    ----------
    dataset
        The owner's data; with ``units`` where the privacy unit is a person.
    request
        Public choices.
    budget, source, total
        Lifetime budget, the owner's name for the data, and its total epsilon where it is new.
    folder
        Where the bundle goes; new, or empty.

    Raises
    ------
    PrivacyRefusal
        Where the request must not be released, or the budget does not suffice.
    InputError
        Where request, data, budget file or folder can't be used.
    """
    prepared = Prepared.build(dataset, request)
    files(prepared.draw(request.config.epsilon))
    part = _part(folder)
    try:
        budget.open(source, total)
        entry = budget.debit(source, request.config.epsilon, request.what)
        drawn = prepared.draw(entry.epsilon)
        bundle = files(drawn)
        _publish(bundle, part, folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    entry = budget.mark(entry)
    return Released(
        entry=entry,
        remaining=budget.open(source).remaining,
        document=drawn,
        folder=folder,
        files=bundle,
    )


def _part(folder: Path) -> Path:
    """Make the folder that the bundle is written to before it gets its name."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(
                f'out = "{folder}" is there already and not empty: name a new folder, so that no '
                "release is overwritten."
            )
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = folder.with_name(f"{folder.name}.part-{secrets.token_hex(4)}")
        part.mkdir()
    except OSError as error:
        raise InputError(
            f'out = "{folder}" can\'t be written ({error.strerror}): name another folder.'
        ) from None
    return part


def _publish(bundle: dict[str, bytes], part: Path, folder: Path) -> None:
    """Write all files, then give their folder its name: a bundle is there whole or not at all."""
    try:
        for name, content in bundle.items():
            with (part / name).open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        part.replace(folder)
    except OSError as error:
        raise InputError(
            f'out = "{folder}" can\'t be written ({error.strerror}): the budget is debited all '
            "the same; name another folder for the next release."
        ) from None
