"""Methods in files of their authors, outside of the package, for the audit and the benchmark."""

from __future__ import annotations

from types import ModuleType

from dpviz.audit.external_runs import module_of, words
from dpviz.base.errors import InputError, shown
from dpviz.families import CARDS, FAMILIES
from dpviz.family.card import Card
from dpviz.family.method import method_of
from dpviz.family.parameter import check_option
from dpviz.privacy.secure import LATTICE

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
            f'"{shown(path, 120)}" can\'t be loaded ({shown(words(error), 200)}): give the file of '
            "a method."
        ) from None
    return add_module(module)


def add_module(module: ModuleType) -> str:
    """Add the method of a module, which has a ``CARD`` and ``run`` like those in ``methods``.

    Raises InputError if it has none, spends no epsilon, or has the name of another method.
    """
    name, card = shown(module.__name__), getattr(module, "CARD", None)
    if not isinstance(card, Card) or not callable(getattr(module, "run", None)):
        raise InputError(f"{name} is no method: give it a CARD and a function run.")
    if not card.spends:
        raise InputError(f"{name} spends no epsilon: add epsilon to the parameters of its CARD.")
    check_option("family", card.family, FAMILIES)
    if card.name in CARDS:
        raise InputError(f'method "{shown(card.name)}" exists already: choose another name.')
    FAMILIES[card.family].add(method_of(module, seconds=_SECONDS, unit=LATTICE))
    CARDS[card.name] = card
    return card.name
