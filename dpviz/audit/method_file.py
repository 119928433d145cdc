"""Methods in files of their authors, outside of the package, for the audit and the benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from types import ModuleType
from typing import Any

from dpviz.audit.external_runs import Named, module_of, numbers, own_line, words
from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError, shown
from dpviz.data.dataset import Dataset
from dpviz.families import CARDS, FAMILIES
from dpviz.family.card import Card
from dpviz.family.method import method_of
from dpviz.family.parameter import check_option
from dpviz.grid.domain import Domain
from dpviz.privacy.ledger import Spend
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.noise_source import SeededNoise
from dpviz.privacy.secure import LATTICE

#: Runs of a method's file, as ``audit_external`` takes them.
RUNNER = f"{__name__}:MethodRuns"

#: Usual seconds of a draw on 30,000 records; a file may have its own ``SECONDS``.
_SECONDS = 0.025


def add_file(path: str) -> str:
    """Add the method of a file to its family, for this process; return the method's name.

    Raises InputError if the file can't be loaded, or :func:`add_module` refuses it.
    """
    try:
        module = module_of(path)
    except (Exception, SystemExit) as error:  # anybody's code may fail in any way
        raise InputError(
            f'"{shown(path, 120)}" can\'t be loaded ({shown(words(error), 300)}): give the file of '
            "a method."
        ) from None
    return add_module(module)


def add_module(module: ModuleType) -> str:
    """Add the method of a module, which has a ``CARD`` and ``run`` like those in ``methods``.

    Raises InputError if it has no method, spends no epsilon, or has the name of another method.
    """
    name, card = shown(module.__name__), getattr(module, "CARD", None)
    if not isinstance(card, Card) or not callable(getattr(module, "run", None)):
        raise InputError(
            f"{name} is no method: give it a CARD and a function run, or name a class with fit as "
            "FILE.py:CLASS."
        )
    if not card.variants:
        raise InputError(f"{name} has no variant: give its CARD one, with the reason of its claim.")
    if not card.spends:
        raise InputError(f"{name} spends no epsilon: add epsilon to the parameters of its CARD.")
    check_option("family", card.family, FAMILIES)
    if card.name in CARDS:
        raise InputError(f'method "{shown(card.name)}" exists already: choose another name.')
    FAMILIES[card.family].add(method_of(module, seconds=_SECONDS, unit=LATTICE))
    CARDS[card.name] = card
    return card.name


@contextmanager
def told(path: str) -> Iterator[None]:
    """Raise InputError with the line if the code of a method's file fails in the block."""
    try:
        yield
    except Exception as error:
        if not own_line(error):
            raise
        raise InputError(
            f'"{shown(path, 120)}" fails ({shown(words(error), 300)}): mend the file.'
        ) from None


class MethodRuns:
    """Runs of a method's file in its own process, for the questions of ``external_runs``.

    Result and ledger of a release are compared. So a method that reads records without its
    accountant is also found, if result or ledger show this.
    """

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self.card = CARDS[add_module(module_of(asked["target"]))]
        self.domain = Domain(bounds=tuple((low, high) for low, high in asked["box"]))
        self.unseen = {
            "replaced records, other parameters, and other numbers of columns": "not run; these "
            "runs have the defaults, and two columns",
            "noise of a release": "not drawn; these runs have noise with a seed",
            "printed text": "not read",
        }
        self.last: Floats | None = None

    def facts(self) -> dict[str, Any]:
        """Parameters of the method; each run gets new noise."""
        takes = [one.name for one in self.card.parameters]
        return {"seed": None, "seeded": False, "open": False, "takes": takes}

    def begin(self, given: Mapping[str, Any]) -> None:
        """Use these parameters."""
        self.family = FAMILIES[self.card.family]
        self.config = self.family.config(
            method=self.card.name, variant=self.card.taken("sound"), **given
        )

    def run(self, points: Floats, seed: int) -> Iterator[Named]:
        """Run once; yield the result and the ledger of ``release.json``."""
        if self.last is not points:
            data = Dataset(name="X", points=points)
            # A release accepts any number of records, also none.
            self.material = self.family.material(
                data, self.config, self.domain, "clip", secure=True
            )
            self.last = points
        # A trial's draw numbers its clusters by the true clusters, which a release does not have.
        config = self.config
        accountant = Accountant(SeededNoise(seed), config.epsilon, config.neighbours)
        found = self.family.run(self.material, config, accountant)
        yield from numbers("result", self.family.released(found, self.domain))
        spends = [asdict(one) for one in accountant.ledger]
        for one in fields(Spend):
            yield from numbers(f"ledger, {one.name}", [spend[one.name] for spend in spends])
