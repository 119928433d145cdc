"""Keep at most m records of each person."""

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

from dpviz.base.arrays import Floats, Indices
from dpviz.base.errors import InputError
from dpviz.base.numbers import counted
from dpviz.data.dataset import Dataset
from dpviz.data.reading.cells import NUMBER, cell_text
from dpviz.data.reading.kinds import MISSING
from dpviz.grid.counts import MAX_EXACT

# Passes over records without persons do not load pandas, which needs 40 MB.
if TYPE_CHECKING:
    import pandas as pd

#: Largest length of an identifier, because normalizing a long Unicode text takes quadratic time.
_LONGEST = 1_000

#: Largest length of a name; a digest replaces longer names, so memory does not show their length.
SHORT = 40

#: Numbers with more digits than this are compared as text.
_MOST_DIGITS = 400

#: Key of the hash that assigns all rows of a person to the same file or batch.
_KEY = "persons together"

#: Number of rows whose persons are processed together.
_ROWS = 2**18

#: A number with an exponent, which a program or a spreadsheet may have rounded. Programs write a
#: sign in the exponent, or a decimal mark. A text with neither a sign nor a mark, such as 12e3, is
#: a code that identifies a person. A text is also a code if its exponent is too large for a double.
_EXPONENT = re.compile(
    r"[+-]?((\d+[eEdD][+-]|(\d+[.,]\d*|[.,]\d+)[eEdD][+-]?)([0-2]?\d{1,2}|3[0-2]\d)"
    r"|(?i:inf|infinity))",
    re.ASCII,
)

#: A whole number as written by programs that store it as a float.
_FLOAT = re.compile(r"[+-]?0*([1-9]\d{15,})\.0*", re.ASCII)

#: Fractions of seconds at the end of a time. Programs write different numbers of zeros at the end.
_SECONDS = re.compile(r"(:\d\d)(?:\.0*|(\.\d*[1-9])0*)(Z?)$", re.ASCII)

#: Text that spreadsheets in any language show if a formula fails or a column is too narrow:
#: #VALUE!, #DIV/0!, #NV, ####.
_FAILED = re.compile(r"#+|#[^\W\d_]+(/0)?[!?]|#N/?[A-Z]|Err:\d{3}")

#: Message about rows whose identifier may belong to several persons.
ROUNDED = (
    "an identifier is rounded or has an exponent, so several persons may share it; write "
    "identifiers in full, or as text with a letter in front"
)


def cap_records(dataset: Dataset, cap: int, seed: int = 0) -> Dataset:
    """Keep at most ``cap`` records of each person, for points with ``units``.

    The rows with the smallest keyed hashes remain, so the choice depends only on the rows of the
    person and on a key of the run. (If all rows were shuffled, one more person would change all
    choices.) For exploring, the key is made from ``seed``; for a release, it is secret. InputError
    if the data have no unit column or ``cap`` is below 1.
    """
    if dataset.units is None or dataset.points is None:
        raise InputError("cap needs a unit column: name the column that identifies persons.")
    check_cap(cap)
    points, units = dataset.points, dataset.units

    def pick(rows: Indices) -> tuple[Indices, int]:
        """Keep at most ``cap`` of these rows per person; count the rows with a person."""
        persons = identified(units[rows])
        known = persons.codes >= 0
        rows, persons = rows[known], persons[known]
        return rows[smallest_hashes(points[rows], persons, cap, seed)], len(rows)

    # To save memory, choose in each batch first: rows chosen from all rows are also chosen there.
    some = [pick(np.arange(rows.start, rows.stop)) for rows in _batches(len(units))]
    chosen = np.concatenate([rows for rows, _ in some])
    if len(some) > 1:
        few = [pick(chosen[rows])[0] for rows in _few_persons(units[chosen])]
        chosen = np.sort(np.concatenate(few))
    alone = sum(known for _, known in some)
    notes = {
        f"no person is named, or {ROUNDED}": dataset.n - alone,
        f"at most {counted(cap, 'record')} of each person {'is' if cap == 1 else 'are'} kept": (
            alone - len(chosen)
        ),
    }
    said = [f"{counted(many, 'record')} left out: {why}." for why, many in notes.items() if many]
    return replace(dataset.take(chosen), notes=(*dataset.notes, *said)) if said else dataset


def check_cap(cap: int) -> None:
    """Raise InputError if the cap is below 1."""
    if cap < 1:
        raise InputError(f"cap = {cap}: give a whole number of records per person, at least 1.")


def _batches(rows: int) -> list[slice]:
    return [slice(start, min(start + _ROWS, rows)) for start in range(0, max(rows, 1), _ROWS)]


def _few_persons(units: NDArray[np.generic]) -> Iterator[Indices]:
    """Positions of the rows of a few persons at a time; all rows may be too many for memory."""
    batches = _batches(len(units))
    part = np.empty(len(units), dtype=np.uint16)
    for rows in batches:
        part[rows] = hash_places(identified(units[rows]), len(batches))
    return (np.flatnonzero(part == number) for number in range(len(batches)))


def hash_places(persons: pd.Categorical, places: int) -> Indices:
    """For each row (n,), a number below ``places`` that depends only on the person; not secret."""
    import pandas as pd

    names = persons.categories.to_numpy()
    found = pd.util.hash_array(names, hash_key=_KEY) % np.uint64(places)
    # Rows without a person have the code -1, which selects the appended number.
    return np.asarray(np.append(found, np.uint64(0)).astype(np.intp)[persons.codes])


def smallest_hashes(points: Floats, persons: pd.Categorical, cap: int, seed: int) -> Indices:
    """Positions of the ``cap`` rows per person with the smallest hashes, in increasing order."""
    # A row that is chosen from all rows is also chosen from any batch that contains it.
    import pandas as pd

    key = f"{np.random.default_rng(seed).integers(10**16):016d}"
    frame = pd.DataFrame(points)
    frame["unit"] = persons
    hashes = pd.util.hash_pandas_object(frame, index=False, hash_key=key).to_numpy()
    order = np.lexsort((hashes, persons.codes))
    rank = pd.Series(persons.codes[order]).groupby(persons.codes[order]).cumcount().to_numpy()
    return np.sort(order[rank < cap])


def identified(units: NDArray[np.generic], *, rounded: bool = False) -> pd.Categorical:
    """Text of every identifier (n,), independent of the type of its column."""
    # One unusual identifier can turn a column of whole numbers into decimals or text, and must not
    # change the choice for others. So 7, 7.0 and 007 always mean the same person. The code is -1 if
    # a cell does not identify a person. It is also -1 if rounding may have made identifiers equal,
    # except with ``rounded`` (for classes). An error would reveal one record.
    import pandas as pd

    if units.dtype.kind in "biuf":
        values, spell = units, cell_text if units.dtype.kind == "f" and not rounded else str
    else:
        # Convert mixed types to text first: 1 and True are equal, but mean two persons.
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
    """Text of an identifier without invisible characters, in one Unicode form; None if empty."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    text = text.strip()
    # An unreadable name is not used, because two unreadable names would become one person.
    names_nobody = not text or text in (*MISSING, "NaT") or "\ufffd" in text
    return None if names_nobody or _FAILED.fullmatch(text) else text


def short_name(text: str) -> str:
    """Standard spelling of an identifier; a digest if the spelling has more than 40 characters."""
    name = _canonical(text)
    if len(name) <= SHORT:
        return name
    return f"text {blake2b(name.encode(errors='replace'), digest_size=16).hexdigest()}"


def is_rounded(text: str) -> bool:
    """Whether rounding may have made several identifiers equal to this identifier."""
    # This is so for numbers with an exponent, infinite numbers, and whole floats from 2**53 on.
    whole = _FLOAT.fullmatch(text)
    return float(whole[1]) >= MAX_EXACT if whole else _EXPONENT.fullmatch(text) is not None


def _canonical(text: str) -> str:
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
