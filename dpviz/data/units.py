"""Persons behind records: keep at most m records of each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import InputError
from dpviz.base.numbers import counted
from dpviz.data.dataset import Dataset
from dpviz.data.reading.cells import NUMBER, cell_text
from dpviz.data.reading.kinds import MISSING
from dpviz.grid.counts import MAX_EXACT

# Passes over records without persons do without pandas, which takes 40 MB.
if TYPE_CHECKING:
    import pandas as pd

#: Longer texts name nobody: Unicode's forms of a long one take quadratic time.
_LONGEST = 1_000

#: A digest stands for longer ones: how long identifiers are must not tell whether they fit.
SHORT = 40

#: Numbers with more digits than this are compared as text.
_MOST_DIGITS = 400

#: Key of the hash that puts the rows of a person together.
_KEY = "persons together"

#: Rows whose persons are looked at together.
_ROWS = 2**18

#: A number with an exponent, as programs and spreadsheets write it: it may have been rounded. They
#: write a sign or a decimal mark; without both, as in 12e3, it is a code and a name of its own. So
#: it is with an exponent that no double has.
_EXPONENT = re.compile(
    r"[+-]?((\d+[eEdD][+-]|(\d+[.,]\d*|[.,]\d+)[eEdD][+-]?)([0-2]?\d{1,2}|3[0-2]\d)"
    r"|(?i:inf|infinity))",
    re.ASCII,
)

#: A whole number as programs write it that hold it as a float.
_FLOAT = re.compile(r"[+-]?0*([1-9]\d{15,})\.0*", re.ASCII)

#: Parts of seconds at the end of a time: other programs write more zeros, or none.
_SECONDS = re.compile(r"(:\d\d)(?:\.0*|(\.\d*[1-9])0*)(Z?)$", re.ASCII)

#: What spreadsheets show for a result that failed, in any language, or that is too wide: #VALUE!,
#: #DIV/0!, #NV, ####.
_FAILED = re.compile(r"#+|#[^\W\d_]+(/0)?[!?]|#N/?[A-Z]|Err:\d{3}")

#: What is said of rows whose identifier may be that of several persons.
ROUNDED = (
    "an identifier is rounded or has an exponent, so several persons may share it; write "
    "identifiers in full, or as text with a letter in front"
)


def cap_records(dataset: Dataset, cap: int, seed: int = 0) -> Dataset:
    """Keep at most ``cap`` records of each person, of points with ``units``.

    The choice depends on that person's rows and a key of the run alone: the rows with the smallest
    keyed hashes remain. A shuffle over all rows would change it for everybody when one person
    joins. Exploring always uses the key of one ``seed``, so that screen and command line show the
    same records; a release uses a secret one.

    Raises InputError where the data has no unit column or ``cap`` is below 1.
    """
    if dataset.units is None or dataset.points is None:
        raise InputError("cap needs a unit column: name the column that tells persons apart.")
    check_cap(cap)
    points, units = dataset.points, dataset.units

    def pick(rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], int]:
        """Of some rows at most so many of each person, and how many rows have a person."""
        persons = identified(units[rows])
        known = persons.codes >= 0
        rows, persons = rows[known], persons[known]
        return rows[smallest_hashes(points[rows], persons, cap, seed)], len(rows)

    # What all rows leave is among what some leave: no person fills the memory.
    some = [pick(np.arange(rows.start, rows.stop)) for rows in _batches(len(units))]
    chosen = np.concatenate([rows for rows, _ in some])
    if len(some) > 1:
        few = [pick(chosen[rows])[0] for rows in _few_persons(units[chosen])]
        chosen = np.sort(np.concatenate(few))
    alone = sum(known for _, known in some)
    notes = {
        f"nobody is named, or {ROUNDED}": dataset.n - alone,
        f"at most {cap} of each person are kept": alone - len(chosen),
    }
    said = [f"{counted(many, 'record')} left out: {why}." for why, many in notes.items() if many]
    return replace(dataset.take(chosen), notes=(*dataset.notes, *said)) if said else dataset


def check_cap(cap: int) -> None:
    """Refuse a cap below 1."""
    if cap < 1:
        raise InputError(f"cap = {cap}: keep a whole number of at least 1 record per person.")


def _batches(rows: int) -> list[slice]:
    """Some rows at a time; one batch, though there may be no row."""
    return [slice(start, min(start + _ROWS, rows)) for start in range(0, max(rows, 1), _ROWS)]


def _few_persons(units: NDArray[np.generic]) -> Iterator[NDArray[np.intp]]:
    """Places of the rows of some persons at a time, in their order: all at once may be too many."""
    batches = _batches(len(units))
    part = np.empty(len(units), dtype=np.uint16)
    for rows in batches:
        part[rows] = hash_places(identified(units[rows]), len(batches))
    for number in range(len(batches)):
        yield np.flatnonzero(part == number)


def hash_places(persons: pd.Categorical, places: int) -> NDArray[np.intp]:
    """One of so many places (n,) for the rows of each person; no secret, no part of the choice."""
    import pandas as pd

    names = persons.categories.to_numpy()
    found = pd.util.hash_array(names, hash_key=_KEY) % np.uint64(places)
    # The last one is of the rows without a person, whose code is -1.
    return np.asarray(np.append(found, np.uint64(0)).astype(np.intp)[persons.codes])


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


def identified(units: NDArray[np.generic], *, rounded: bool = False) -> pd.Categorical:
    """Text of every identifier (n,), independent of the type of its column.

    One unusual identifier can turn a column of whole numbers into decimals or text, so 7, 7.0 and
    007 are always one person: else that identifier would change the choice of everybody's records.
    There is none (code -1) where the cell names nobody, or where rounding may have made those of
    several persons equal, unless ``rounded`` ones are wanted, as of classes. A refusal would reveal
    one record.
    """
    import pandas as pd

    if units.dtype.kind in "biuf":
        values, spell = units, cell_text if units.dtype.kind == "f" and not rounded else str
    else:
        # Mixed types become text at once: 1 and True are equal, but two persons.
        cells = units.tolist() if units.dtype.kind == "O" else units
        texts = [one if type(one) is str else cell_text(one) for one in cells]
        values, spell = np.array(texts, dtype=object), str
    codes, known = pd.factorize(values, use_na_sentinel=False)
    names = [
        None
        if one is None or (not rounded and is_rounded(one))
        else (_canonical if rounded else short_name)(one)
        for one in (plain_text(spell(value)) for value in known)
    ]
    found, different = pd.factorize(np.array(names, dtype=object))
    return pd.Categorical.from_codes(found[codes], categories=pd.Index(different, dtype=object))


def plain_text(text: str) -> str | None:
    """Text of an identifier without what nobody sees; None where it names nobody.

    One name in two forms of Unicode is one person.
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    text = text.strip()
    # Two persons with unreadable names must not become one.
    names_nobody = not text or text in (*MISSING, "NaT") or "\ufffd" in text
    return None if names_nobody or _FAILED.fullmatch(text) else text


def short_name(text: str) -> str:
    """One spelling of an identifier of up to 1,000 characters, in at most 40."""
    name = _canonical(text)
    if len(name) <= SHORT:
        return name
    return f"text {blake2b(name.encode(errors='replace'), digest_size=16).hexdigest()}"


def is_rounded(text: str) -> bool:
    """Tell whether an identifier may be what rounding left of several ones.

    So may a number with an exponent, an infinite one, and a whole float of at least 2**53.
    """
    whole = _FLOAT.fullmatch(text)
    return float(whole[1]) >= MAX_EXACT if whole else _EXPONENT.fullmatch(text) is not None


def _canonical(text: str) -> str:
    """One spelling of a number, or of a time; any other text as it is."""
    if not re.search(NUMBER, text, re.ASCII) or re.search("[eE][0-9]", text):
        return _SECONDS.sub(r"\1\2\3", text) if ":" in text else text
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        return text.lower()
    if not number.is_finite() or abs(number.adjusted()) > _MOST_DIGITS:
        return text.lower()
    plain = f"{number or abs(number):f}"  # no -0
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
