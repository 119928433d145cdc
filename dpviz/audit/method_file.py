"""Methods in files of their authors, outside of the package, for the audit and the benchmark."""

from __future__ import annotations

from dpviz.audit.external_runs import module_of, words
from dpviz.base.errors import InputError, shown
from dpviz.families import CARDS, FAMILIES
from dpviz.family.card import Card
from dpviz.family.method import check_method, method_of
from dpviz.family.parameter import check_option
from dpviz.privacy.secure import LATTICE

#: Usual seconds of a draw on 30,000 records; a file may have its own ``SECONDS``.
_SECONDS = 0.025


def add_file(path: str) -> str:
    """Add the method of a file to its family, for this process; return the method's name.

    The file has a ``CARD`` and ``run``, like the files in the folders ``methods``. Raises
    InputError if it can't be loaded, or if its name is that of another method.
    """
    named = f'"{shown(path, 120)}"'
    try:
        module = module_of(path)
        card, _ = module.CARD, module.run
    except (Exception, SystemExit) as error:  # anybody's code may fail in any way
        raise InputError(
            f"{named} can't be loaded ({shown(words(error), 200)}): give a file with a CARD and a "
            "function run."
        ) from None
    if not isinstance(card, Card) or not card.spends:
        raise InputError(f"CARD of {named} is no card of a method that spends epsilon: mend it.")
    check_option("family", card.family, FAMILIES)
    if card.name in CARDS:
        raise InputError(f'method "{shown(card.name)}" exists already: choose another name.')
    FAMILIES[card.family].add(method_of(module, seconds=_SECONDS, unit=LATTICE))
    CARDS[card.name] = card
    return card.name
