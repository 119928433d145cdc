"""Persons behind records: keep at most m records of each."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpviz.counts import MAX_EXACT
from dpviz.data.dataset import Dataset
from dpviz.data.reading.cells import NUMBER
from dpviz.errors import InputError
from dpviz.numbers import counted

# Passes over records without persons do without pandas, which takes 40 MB.
if TYPE_CHECKING:
    import pandas as pd

#: Numbers with more digits than this are compared as text.
_MOST_DIGITS = 400


def cap_records(dataset: Dataset, cap: int, seed: int = 0) -> Dataset:
    """Keep at most ``cap`` records of each person.

    The selection depends only on that person's rows and a key of the run: the rows with
    the smallest keyed hashes remain. A shuffle over all rows would change the selection
    for everybody when one person joins.

    Parameters
    ----------
    dataset
        Points with ``units``.
    cap
        Maximum number of records of one person, at least 1.
    seed
        Source of the key. Exploring always uses one key, so that screen and command line show
        the same records; a release uses a secret key.

    Raises
    ------
    InputError
        Where the data has no unit column or ``cap`` is below 1.
    """
    if dataset.units is None or dataset.points is None:
        raise InputError("cap needs a unit column: name the column that tells persons apart.")
    if cap < 1:
        raise InputError(f"cap = {cap}: keep a whole number of at least 1 record per person.")
    known = dataset.take(unrounded(dataset.units))
    assert known.units is not None  # noqa: S101 - those of the data set
    assert known.points is not None  # noqa: S101 - likewise
    keep = smallest_hashes(known.points, identified(known.units), cap, seed)
    notes = {
        "identifiers of more than 15 digits among decimals can't be told apart; write them as "
        "text, with a letter in front": dataset.n - known.n,
        f"at most {cap} of each person are kept": known.n - len(keep),
    }
    said = [f"{counted(many, 'record')} left out: {why}." for why, many in notes.items() if many]
    return replace(known.take(keep), notes=(*dataset.notes, *said))


def smallest_hashes(
    points: NDArray[np.float64], persons: pd.Categorical, cap: int, seed: int
) -> NDArray[np.intp]:
    """Places, in their order, of the ``cap`` rows of each person that have the smallest hashes.

    Those of all rows are among those of any batches of the rows.
    """
    import pandas as pd

    key = f"{np.random.default_rng(seed).integers(10**16):016d}"
    frame = pd.DataFrame(points)
    frame["unit"] = persons
    hashes = pd.util.hash_pandas_object(frame, index=False, hash_key=key).to_numpy()
    order = np.lexsort((hashes, persons.codes))
    rank = pd.Series(persons.codes[order]).groupby(persons.codes[order]).cumcount().to_numpy()
    return np.sort(order[rank < cap])


def unrounded(units: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Mask (n,) of the identifiers that no rounding has made equal to others.

    The others count as missing: a refusal would reveal one record.
    """
    if units.dtype.kind not in "fO":
        return np.ones(len(units), dtype=bool)
    return np.array(
        [not (isinstance(unit, float) and abs(unit) >= MAX_EXACT) for unit in units.tolist()],
        dtype=bool,
    )


def identified(units: NDArray[np.generic]) -> pd.Categorical:
    """Text of every identifier (n,), independent of the type of its column.

    One unusual identifier can turn a column of whole numbers into decimals or text. So 7, 7.0 and
    007 are always one person; otherwise that identifier would change the selection of everybody's
    records. The documentation says so to owners.
    """
    import pandas as pd

    numbers = units.dtype.kind in "biuf"
    # Mixed types become text at once: 1 and True are equal, but two persons.
    values = units if numbers else np.array([str(one).strip() for one in units], dtype=object)
    codes, known = pd.factorize(values, use_na_sentinel=False)
    spell = str if units.dtype.kind in "iu" else _canonical
    found, names = pd.factorize(np.array([spell(str(one)) for one in known], dtype=object))
    return pd.Categorical.from_codes(found[codes], categories=pd.Index(names, dtype=object))


def _canonical(text: str) -> str:
    """One spelling of a number; any other text as it is.

    So is 12e3, which is rather a code than 12,000: two persons must not become one.
    """
    if not re.search(NUMBER, text, re.ASCII) or re.search("[eE][0-9]", text):
        return text
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        return text.lower()
    if not number.is_finite() or abs(number.adjusted()) > _MOST_DIGITS:
        return text.lower()
    plain = f"{number or abs(number):f}"  # no -0
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
