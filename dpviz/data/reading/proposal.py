"""Which two columns of a table to show first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpviz.data.reading.files import enough_memory

# Whoever asks for the words alone does without Arrow's functions, which take 30 MB.
if TYPE_CHECKING:
    from dpviz.data.reading.table import Table

Floats = NDArray[np.float64]

#: Words for the axis across and the one upwards, from the surest pair on.
PAIRS = (
    # Longitude and latitude in English, French; Spanish and Portuguese; Italian; German; the
    # languages of the north; Dutch; Turkish; Indonesian; Russian; Ukrainian; Chinese and Japanese;
    # Korean; Finnish; Vietnamese; usual mistakes. The first words are the most usual ones.
    (
        (
            *("longitude", "long", "lon", "lng", "lons", "longitudes", "longitud", "longitudine"),
            *("längengrad", "laengengrad", "længdegrad", "lengdegrad", "längdgrad", "lengtegraad"),
            *("boylam", "bujur", "долгота", "довгота", "经度", "經度", "経度", "경도"),
            *("pituusaste", "kinh", "longtitude", "longitute", "longditude"),
        ),
        (
            *("latitude", "lat", "lats", "latitudes", "latitud", "latitudine"),
            *("breitengrad", "breddegrad", "breddgrad", "breedtegraad"),
            *("enlem", "lintang", "широта", "纬度", "緯度", "위도"),
            *("leveysaste", "vĩ", "vi", "lattitude", "latitute", "latidude"),
        ),
    ),
    (("easting", "east"), ("northing", "north")),
    (("x",), ("y",)),
)

#: Words in the names of columns that number or name the rows instead of measuring anything.
NUMBERING = frozenset(("id", "ids", "uuid", "guid", "index", "idx", "key", "row", "unnamed"))

#: Different values for each row with which a column is as continuous as any.
ENOUGH = 0.1

#: Rows that tell how continuous a column is.
LOOKED_AT = 20_000


def first_columns(
    table: Table, numeric: Sequence[str], but: Collection[str] = ()
) -> tuple[str, str]:
    """Return the columns for the axes across and upwards.

    A pair that is named as a place is (``lon`` and ``lat``, ``pickup_x`` and ``pickup_y``) comes
    first, then the two columns that look most continuous, in the order of the table: those with
    fractions before those without, then by the number of different values, up to a tenth of that of
    the rows. Columns that number the rows come last, and constant ones, or ones with cells that are
    no numbers, are never proposed where two others are left.

    Parameters
    ----------
    table
        The table.
    numeric
        Its columns to choose from, two or more, also those that are nearly numeric.
    but
        Columns that are taken only where no two others are left that vary.
    """
    numeric = list(numeric)
    seen: dict[str, Floats] = {}
    if len(numeric) > 2:
        with enough_memory(table.name):
            seen = _first_rows(table, numeric)
        varied = [name for name, column in seen.items() if np.unique(column).size > 1]
        free = [name for name in varied if name not in but]
        numeric = next(some for some in (free, varied, numeric) if len(some) > 1 or some is numeric)
    words = {name: words_of(name) for name in numeric}
    for pair in PAIRS:
        found = [{without(words[one], axis): one for one in reversed(numeric)} for axis in pair]
        for across in numeric:
            rest = without(words[across], pair[0])
            if rest is not None and rest in found[1]:
                return across, found[1][rest]
    clean = [name for name in numeric if name not in table.nearly_numeric]
    numeric = clean if len(clean) > 1 else numeric
    if len(numeric) > 2:
        numeric = _most_continuous({name: seen[name] for name in numeric}, words)
    return numeric[0], numeric[1]


def words_of(name: str) -> tuple[str, ...]:
    """Words and numbers of a name, in lower case: pickupLat_2 is pickup, lat, 2."""
    # One letter may be written as two characters, such as a and a diaeresis.
    apart = unicodedata.normalize("NFKC", name)
    apart = re.sub(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", apart)
    # GPSLat is GPS, Lat; IDs is one word.
    apart = re.sub(r"([A-ZÀ-ÖØ-Þ])([A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{2})", r"\1 \2", apart)
    apart = re.sub(r"([a-zß-öø-ÿ])([A-ZÀ-ÖØ-Þ])", r"\1 \2", apart)
    return tuple(re.findall(r"[^\W_]+", apart.lower()))


def without(words: tuple[str, ...], axis: Sequence[str]) -> tuple[str, ...] | None:
    """The other words of a name that has exactly one word for the axis; None for other names."""
    left = tuple(one for one in words if one not in axis)
    return left if len(left) == len(words) - 1 else None


def _first_rows(table: Table, numeric: Sequence[str]) -> dict[str, Floats]:
    """Finite numbers in the first rows of each column."""
    values = table.first_numbers([table.columns.index(name) for name in numeric], LOOKED_AT)
    finite = np.isfinite(values)
    return {name: values[finite[:, at], at] for at, name in enumerate(numeric)}


def _most_continuous(seen: dict[str, Floats], words: dict[str, tuple[str, ...]]) -> list[str]:
    """The two columns that look most continuous, in the order of the table."""
    numeric, ranks = list(seen), []
    for place, (name, column) in enumerate(seen.items()):
        different = np.unique(column)
        fractions = bool((column % 1 != 0).any())
        in_a_row = different.size == column.size and bool((np.diff(different) == 1).all())
        numbering = (in_a_row and not fractions) or bool(NUMBERING & set(words[name]))
        # Many different values are enough: rounding alone decides which column has more.
        levels = min(different.size, column.size * ENOUGH)
        ranks.append((not numbering, fractions, levels, -place))
    best = sorted(range(len(numeric)), key=ranks.__getitem__)[-2:]
    return [numeric[place] for place in sorted(best)]
