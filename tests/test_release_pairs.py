"""Whether a bundle comes, and what is said instead, hangs on no record: it would be an answer.

2,000 random pairs of neighbouring inputs go the whole way from bytes to files. What differs between
them is one record, whatever stands in it, or one person's records.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from dpviz.command_line import main
from dpviz.config import SYNOPSES, Config
from dpviz.data.dataset import Dataset
from dpviz.data.read import read_counts, read_table
from dpviz.domain import Domain
from dpviz.errors import InputError, PrivacyRefusal
from dpviz.kmeans import grid as kmeans_grid
from dpviz.kmeans.config import DEFAULTS, STARTS, KMeansConfig
from dpviz.kmeans.schedule import SCHEDULES
from dpviz.kmeans.space import GEOMETRIES
from dpviz.methods import CARDS, KMEANS, WAVECLUSTER, gupt, mcmc, synopses
from dpviz.privacy.budget import Budget
from dpviz.privacy.ledger import RELATIONS, Neighbours
from dpviz.privacy.secure import SecureAccountant
from dpviz.release import Request, release
from dpviz.release.draw import Prepared
from dpviz.release.files import files

PAIRS, BATCH = 2000, 100

#: Every so many pairs are debited and drawn with the noise of a release.
WHOLE = 20

SPENDING = tuple(name for name, card in CARDS.items() if card.spends)

WAVELETS = ("haar", "db2", "bior1.3", "bior2.2", "bior3.1", "sym4")

#: What stands in a cell where a number should, as bytes of UTF-8 or of none.
ODD = (
    b"", b" ", b"abc", b"nan", b"NaN", b"inf", b"-Infinity", b"1e301", b"-1e400", b"1e-320", b"NA",
    b"null", b"2020-01-01", b"12:30", b"true", b"0x10", b"1,5", b"1.234,5", b"1 000", b'"3.5"',
    b'" 7 "', b'"a ""b"" c"', b'"', b'"5', b'5"', b'""', b"\xff", b"\x00", b"J\xc3\xbcrg",
    b"\xd9\xa3", b"\xef\xbc\x95", b"+4", b".5", b"5.", b"1e2", b"1_0", b"9" * 30, b"-0",
    b"=1+1", b"# 3", b"<b>", b"99999999999999999999", b"1/2", b"\xe2\x80\x8b5", b"5;5", b"5\t5",
    b"5,5", b"5|5",
)  # fmt: skip


class Cheap(SecureAccountant):
    """Spends as a release does, with noise that costs little and is no secret."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.random = np.random.default_rng()

    def _noisy(self, measurement: Any, whole: NDArray[np.int64]) -> NDArray[np.float64]:
        scale = self._spends[-1].scale / self.unit
        return (whole + np.rint(self.random.laplace(0, scale, whole.shape))) * self.unit


@dataclass(frozen=True)
class Case:
    """Everything that is public about a release, and two inputs that are neighbours."""

    request: Callable[[], Request]
    load: Callable[[Any], Dataset]
    pair: tuple[Any, Any]
    #: With no record at all: what is said of it can hold no number of any.
    nothing: Any
    text: str


def case_of(seed: int) -> Case:
    rng = random.Random(seed)
    return counted(rng) if rng.random() < 0.2 else table(rng)


# -- requests ------------------------------------------------------------------------------


def epsilon_of(rng: random.Random) -> float:
    return rng.choice([1e-6, 1e-3, 0.1, 1 / 3, 1.0, 5.0, 20.0, 20.0, 21.0])


def config_of(rng: random.Random, ndim: int, neighbours: Neighbours) -> dict[str, Any]:
    method = rng.choice(SPENDING)
    given: dict[str, Any] = {
        "method": method,
        "epsilon": epsilon_of(rng),
        "neighbours": neighbours,
        "variant": "published" if rng.random() < 0.02 else "sound",
    }
    if method in WAVECLUSTER:
        most = {1: 40, 2: 16, 3: 8, 4: 5}[ndim]
        sides = tuple(rng.randint(2, most) for _ in range(ndim))
        given |= {
            "grid": sides if rng.random() < 0.7 else sides[0],
            "density": rng.choice([0.01, 0.3, 0.5, 0.99]),
            "wavelet": rng.choice(WAVELETS),
            "level": rng.choice([1, 1, 1, 2, 3]),
        }
        if CARDS[method].parameter("alpha"):
            given["alpha"] = rng.choice([0.05, 0.5, 0.95])
        if method == "baseline":
            given["synopsis"] = rng.choice(SYNOPSES)
        return given
    given["clusters"] = rng.choice([1, 2, 3, 5, 20])
    options = {
        "iterations": [1, 2, 5, 20],
        "start": STARTS,
        "schedule": SCHEDULES,
        "geometry": GEOMETRIES,
        "temperature": ["printed", "posterior"],
    }
    for name in DEFAULTS[method]:
        if rng.random() < 0.6:
            given[name] = rng.choice(options[name])
    return given


def domain_of(rng: random.Random, ndim: int) -> Domain | None:
    bounds = [(0.0, 10.0), (-5.0, 5.0), (0.0, 1e-6), (-1e299, 1e299), (100.0, 101.0), (-1.0, 1.0)]
    if rng.random() < 0.02:
        return None
    return Domain(tuple(rng.choice(bounds) for _ in range(ndim)), declared=rng.random() < 0.98)


def asked(given: dict[str, Any], domain: Domain | None, **more: Any) -> Callable[[], Request]:
    kind = Config if given["method"] in WAVECLUSTER else KMeansConfig
    return lambda: Request(config=kind(**given), domain=domain, **more)


# -- tables --------------------------------------------------------------------------------


def cell(rng: random.Random, odd: float) -> bytes:
    if rng.random() < odd:
        return rng.choice(ODD)
    value = rng.choice([rng.uniform(-6, 11), rng.randint(-3, 12), 0.0, 10.0, 5e300, 1e299, 1e-7])
    return repr(value).encode()


def row(rng: random.Random, width: int, mark: bytes, odd: float) -> bytes:
    fields = [cell(rng, odd) for _ in range(width)]
    if rng.random() < odd / 5:
        fields = fields[: rng.randint(0, width)] + [b"1"] * rng.randint(0, 3)
    return mark.join(fields)


def table(rng: random.Random) -> Case:
    """CSV of up to 60 rows; neighbours differ in one row, or in all rows of one person."""
    ndim = rng.choice([1, 2, 2, 2, 2, 3, 4])
    extra = rng.choice([0, 0, 1])
    width, mark = ndim + extra, rng.choice([b",", b",", b";", b"\t", b"|"])
    odd = rng.choice([0.0, 0.02, 0.3, 1.0])
    rows = [row(rng, width, mark, odd) for _ in range(rng.choice([0, 0, 1, 2, 3, 20, 60]))]
    unit = None
    cap = 1
    other = list(rows)
    relation = rng.choice(RELATIONS)
    whole = 0.9 if rng.random() < 0.5 else 0.0  # of the record that differs
    if extra and rng.random() < 0.6:
        unit, cap = "c0", rng.choice([1, 2, 5])
        names = [rng.choice([b"p1", b"p2", b"7", b"007", b"", b"1e17", *ODD]) for _ in rows]
        rows = [name + mark + one.partition(mark)[2] for name, one in zip(names, rows, strict=True)]
        gone = rng.choice(names) if names else b"p3"
        rest = [one for one, name in zip(rows, names, strict=True) if name != gone]
        joined = [
            b"new" + mark + row(rng, width - 1, mark, whole) for _ in range(rng.randint(0, 4))
        ]
        other = rest + joined if relation == "replace_one" else rest
    elif relation == "replace_one" and rows:
        other[rng.randrange(len(rows))] = row(rng, width, mark, whole)
    elif rows and rng.random() < 0.5:
        del other[rng.randrange(len(rows))]
    else:
        other.insert(rng.randint(0, len(rows)), row(rng, width, mark, whole))
    line = mark.join(b"c%d" % number for number in range(width))
    header, first = (line.decode(), []) if rng.random() < 0.2 else (None, [line])
    ends = rng.choice([b"\n", b"\r\n"])
    last = rng.choice([b"", ends])
    columns = [f"c{number}" for number in range(extra, width)]
    neighbours = Neighbours(relation=relation, cap=cap)
    given = config_of(rng, ndim, neighbours)
    outside = rng.choice(["clip", "drop"])
    request = asked(given, domain_of(rng, ndim), outside=outside, unit=unit)

    def load(content: bytes) -> Dataset:
        found = read_table(content, name="t.csv", header=header, unreadable="missing")
        return found.select(columns, unit=unit, unreadable="missing")

    pair = tuple(ends.join([*first, *part]) + last for part in (rows, other))
    return Case(request, load, (pair[0], pair[1]), ends.join(first), f"{given} {outside} {unit}")


# -- grids of counts -----------------------------------------------------------------------


def counted(rng: random.Random) -> Case:
    """A grid of counts; neighbours differ by one record in one cell, or have one moved."""
    ndim = rng.choice([2, 2, 2, 3])
    shape = tuple(rng.randint(2, 9 if ndim == 2 else 4) for _ in range(ndim))
    highest = rng.choice([0, 0, 1, 5, 10**8, 10**13, 2**53 - 2])
    counts = np.array(
        [rng.choice([0, rng.randint(0, highest)]) for _ in range(int(np.prod(shape)))],
        dtype=np.int64,
    ).reshape(shape)
    relation = rng.choice(RELATIONS)
    other = counts.copy()
    other[tuple(rng.randrange(side) for side in shape)] += 1
    filled = np.argwhere(counts)
    if relation == "replace_one" and len(filled):
        other[tuple(filled[rng.randrange(len(filled))])] -= 1
    given = config_of(rng, ndim, Neighbours(relation=relation))
    request = asked(given, domain_of(rng, ndim))
    as_text = ndim == 2 and rng.random() < 0.5

    def packed(cells: NDArray[np.int64]) -> bytes:
        if as_text:
            return "\n".join(",".join(map(str, line)) for line in cells.tolist()).encode()
        file = io.BytesIO()
        np.save(file, cells)
        return file.getvalue()

    name = "g.csv" if as_text else "g.npy"
    return Case(
        request,
        lambda content: read_counts(content, name=name, any_total=True),
        (packed(counts), packed(other)),
        packed(np.zeros(shape, dtype=np.int64)),
        f"counts {given} {shape}",
    )


# -- outcomes ------------------------------------------------------------------------------


def outcome(make: Callable[[], Any]) -> Any:
    """Names of the files, or which refusal and all it says; any other error is a failure."""
    try:
        return tuple(make())
    except (InputError, PrivacyRefusal) as error:
        return type(error).__name__, str(error)


def drawn(case: Case, content: Any) -> Any:
    request = case.request()
    return files(Prepared.build(case.load(content), request).draw(request.config.epsilon, Cheap))


def debited(case: Case, content: Any, folder: Path) -> Any:
    done = release(
        case.load(content),
        case.request(),
        budget=Budget(folder / "budget.db"),
        source="households",
        total=1000.0,
        folder=folder / "out",
    )
    assert {one.name for one in done.folder.iterdir()} == set(done.files)
    return done.files


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller public limits: with these the methods do the same, and sooner."""
    monkeypatch.setattr(kmeans_grid, "MAX_CELLS", 2**9)
    monkeypatch.setattr(synopses, "_MOST_LEAVES", 2**9)
    monkeypatch.setattr(gupt, "MOST_BLOCKS", 4)
    monkeypatch.setattr(mcmc, "STEPS", 200)


@pytest.mark.parametrize("first", range(0, PAIRS, BATCH))
def test_one_record_decides_nothing_about_the_outcome(
    first: int, quick: None, tmp_path: Path
) -> None:
    for seed in range(first, first + BATCH):
        case = case_of(seed)
        run = drawn
        if seed % WHOLE == 0:
            folders = iter([tmp_path / f"{seed}-{name}" for name in "abc"])

            def run(case: Case, content: Any, folders: Any = folders) -> Any:
                folder = next(folders)
                folder.mkdir()
                return debited(case, content, folder)

        one, two = (outcome(lambda content=content: run(case, content)) for content in case.pair)
        assert one == two, (seed, case.text)
        if "report.html" not in one:
            # Said of no data, it can hold no number that was read off data.
            assert one == outcome(lambda: run(case, case.nothing)), (seed, case.text)
