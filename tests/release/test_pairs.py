"""No record may influence whether a release is published, or the message of a refusal.

Otherwise a refusal alone would reveal something. 2,000 random pairs of neighbouring inputs pass all
steps from bytes to files; 200 of these pairs run every day. The two inputs differ in one record,
with any content, or in one person's records.
"""

from __future__ import annotations

import io
import math
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpviz.base.errors import InputError, PrivacyRefusal
from dpviz.commands.command_line import main
from dpviz.data.dataset import Dataset
from dpviz.data.reading.read import read_counts, read_table
from dpviz.families import CARDS
from dpviz.family.parameter import CHOOSE
from dpviz.grid.domain import Domain
from dpviz.kmeans import grid as kmeans_grid
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.methods import gupt, mcmc
from dpviz.kmeans.parameters import CELLS, DEFAULTS, STARTS, KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.schedule import SCHEDULES
from dpviz.kmeans.space import GEOMETRIES, Space
from dpviz.privacy.ledger import RELATIONS, Neighbours
from dpviz.privacy.lifetime_budget import Budget
from dpviz.privacy.secure import CertifiedSpend, SecureAccountant
from dpviz.release import Request, release
from dpviz.release.draw import Prepared
from dpviz.release.files import files
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.methods import synopses
from dpviz.wavecluster.parameters import SYNOPSES, Config
from dpviz.wavecluster.pipeline import Source
from tests.support.tiers import daily

#: The second batch runs every day and includes all methods.
PAIRS, BATCH, DAILY = 2000, 50, 50

#: One pair in this number of pairs is debited and released with release noise.
WHOLE = 20

SPENDING = tuple(name for name, card in CARDS.items() if card.spends)

KMEANS_SPENDING = tuple(name for name in SPENDING if name in KMEANS)

WAVELETS = ("haar", "db2", "bior1.3", "bior2.2", "bior3.1", "sym4")

#: Contents of a cell that should be a number, as bytes that may be invalid UTF-8.
ODD = (
    b"", b" ", b"abc", b"nan", b"NaN", b"inf", b"-Infinity", b"1e301", b"-1e400", b"1e-320", b"NA",
    b"null", b"2020-01-01", b"12:30", b"true", b"0x10", b"1,5", b"1.234,5", b"1 000", b'"3.5"',
    b'" 7 "', b'"a ""b"" c"', b'"', b'"5', b'5"', b'""', b"\xff", b"\x00", b"J\xc3\xbcrg",
    b"\xd9\xa3", b"\xef\xbc\x95", b"+4", b".5", b"5.", b"1e2", b"1_0", b"9" * 30, b"-0",
    b"=1+1", b"# 3", b"<b>", b"99999999999999999999", b"1/2", b"\xe2\x80\x8b5", b"5;5", b"5\t5",
    b"5,5", b"5|5",
)  # fmt: skip


class Cheap(SecureAccountant):
    """Accountant with the ledger of a release, but with fast noise that is not secure."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.random = np.random.default_rng()
        self.nested: list[float] = []

    def _chain(self, levels: Any, values: Any, scales: Any) -> Any:
        # Nested counts have the unit 1. Their noise is drawn before their certificates are added,
        # for all levels, the finest level first.
        self.nested = list(scales)
        return super()._chain(levels, values, scales)

    def _drawn(self, measurement: Any, whole: NDArray[np.int64]) -> NDArray[np.object_]:
        spend = self._spends[-1]
        unit = spend.unit if isinstance(spend, CertifiedSpend) else 1.0
        scale = self.nested.pop() if self.nested else spend.scale / unit
        noise = np.rint(self.random.laplace(0, scale, whole.shape))
        return whole.astype(object) + noise.astype(int)


@dataclass(frozen=True)
class Case:
    """All public parts of a release, and two neighbouring inputs."""

    request: Callable[[], Request]
    load: Callable[[Any], Dataset]
    pair: tuple[Any, Any]
    #: Input without any record: an error message about it can't contain a number from a record.
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
        if CARDS[method].parameter("choose"):
            given["choose"] = rng.choice(CHOOSE.options)
        return given
    given["clusters"] = rng.choice([1, 2, 3, 5, 20])
    options = {
        "iterations": [1, 2, 5, 20],
        "start": STARTS,
        "schedule": SCHEDULES,
        "geometry": GEOMETRIES,
        "temperature": ["printed", "posterior"],
        "cells": CELLS,
        "choose": CHOOSE.options,
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
    """CSV with up to 60 rows. Neighbours differ in one row, or in all rows of one person."""
    ndim = rng.choice([1, 2, 2, 2, 2, 3, 4])
    extra = rng.choice([0, 0, 1])
    width, mark = ndim + extra, rng.choice([b",", b",", b";", b"\t", b"|"])
    odd = rng.choice([0.0, 0.02, 0.3, 1.0])
    rows = [row(rng, width, mark, odd) for _ in range(rng.choice([0, 0, 1, 2, 3, 20, 60]))]
    unit = None
    cap = 1
    other = list(rows)
    relation = rng.choice(RELATIONS)
    whole = 0.9 if rng.random() < 0.5 else 0.0  # for the record that differs
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
    """A grid of counts. Neighbours differ by one record in a cell, or by one moved record."""
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
    """Names of the files, or type and message of a refusal; fail on any other error."""
    try:
        return tuple(make())
    except (InputError, PrivacyRefusal) as error:
        return type(error).__name__, str(error)


def drawn(case: Case, content: Any) -> Any:
    request = case.request()
    # One null set runs the same code as 39 null sets.
    drawn = Prepared.build(case.load(content), request).draw(
        request.config.epsilon, Cheap, null_sets=1
    )
    return files(drawn)


def debited(case: Case, content: Any, folder: Path) -> Any:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
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
    """Lower public limits make the methods faster; they still run the same steps."""
    monkeypatch.setattr(kmeans_grid, "MAX_CELLS", 2**9)
    monkeypatch.setattr(synopses, "_MOST_LEAVES", 2**9)
    monkeypatch.setattr(gupt, "MOST_BLOCKS", 4)
    monkeypatch.setattr(mcmc, "STEPS", 200)


@pytest.mark.parametrize("first", daily(range(0, PAIRS, BATCH), DAILY.__eq__))
def test_one_record_decides_nothing_about_the_outcome(
    first: int, quick: None, tmp_path: Path
) -> None:
    for seed in range(first, first + BATCH):
        case = case_of(seed)
        run = partial(debited, folder=tmp_path / str(seed)) if seed % WHOLE == 0 else drawn
        one, two = (outcome(partial(run, case, content)) for content in case.pair)
        assert one == two, (seed, case.text)
        if "report.html" not in one:
            # A message about no data can't contain a number that was read from data.
            assert one == outcome(partial(run, case, case.nothing)), (seed, case.text)


def test_pairs_for_every_day_meet_all_methods() -> None:
    methods = {case_of(seed).request().config.method for seed in range(DAILY, DAILY + BATCH)}
    assert methods == set(SPENDING)


# -- the cases by name ---------------------------------------------------------------------

#: One additional row, with any content.
ROWS = {
    "outside": b"90,90",
    "text": b"abc,1",
    "too large": b"1e301,1",
    "infinite": b"inf,1",
    "not a number": b"nan,1",
    "empty": b",",
    "blank": b"",
    "decimal comma": b'"1,5",1',
    "ragged": b"1,2,3",
    "too short": b"1",
    "open quotation mark": b'"1,2',
    "no UTF-8": b"\xff,1",
    "NUL": b"\x00,1",
    "date": b"2020-01-01,1",
    "truth value": b"true,1",
    "huge whole number": b"9" * 400 + b",1",
    "hexadecimal": b"0x10,1",
}


@pytest.mark.some(1)
@pytest.mark.daily("2-clip", "3-drop")
@pytest.mark.parametrize("outside", ["clip", "drop"])
@pytest.mark.parametrize("others", [b"", b"1,2\n", b"90,90\n", b",\n"], ids=["none", "1", "2", "3"])
def test_the_command_says_the_same_whatever_one_row_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, others: bytes, outside: str
) -> None:
    given = ["release", "--method", "privqt", "--grid", "4", "--epsilon", "1", "--total", "999"]
    given += ["--domain", "0,10;0,10", "--outside", outside, "--budget-file", tmp_path / "b.db"]
    for refused in (False, True):
        seen = set()
        for number, row in enumerate([None, *ROWS.values()]):
            path = tmp_path / "households.csv"
            path.write_bytes(b"x,y\n" + others + (b"" if row is None else row + b"\n"))
            folder = tmp_path / f"{refused}-{number}"
            more = ["--level", "5"] if refused else []
            status = main([str(one) for one in (*given, path, "--out", folder, *more)])
            names = sorted(one.name for one in folder.iterdir()) if folder.exists() else None
            # The first release opens the budget and prints a message about it.
            said = "" if not refused and not number else capsys.readouterr().err
            seen.add((status, str(names), said))
            capsys.readouterr()
        assert len(seen) == 1, seen
        assert next(iter(seen))[0] == (2 if refused else 0)


@pytest.mark.some(6)
@pytest.mark.parametrize("method", SPENDING)
@pytest.mark.parametrize(
    ("content", "outside"),
    [
        (b"x,y\n", "clip"),
        (b"x,y\n,\n,\n", "clip"),
        (b"x,y\n90,90\n-5,4\n", "clip"),
        (b"x,y\n90,90\n-5,4\n", "drop"),
        (b"x,y\n1,2\n", "drop"),
    ],
    ids=["none", "missing", "clipped", "dropped", "one"],
)
def test_empty_data_are_released_by_every_method(
    method: str, content: bytes, outside: Any, tmp_path: Path
) -> None:
    data = read_table(content, name="t.csv", unreadable="missing").select(unreadable="missing")
    kind = Config if method in WAVECLUSTER else KMeansConfig
    request = Request(
        config=kind(method=method, epsilon=1.0), domain=Domain(((0, 9), (0, 9))), outside=outside
    )
    budget = Budget(tmp_path / "b.db")
    done = release(data, request, budget=budget, source="s", total=1.0, folder=tmp_path / "out")
    assert "report.html" in done.files
    assert done.remaining == 0


@pytest.mark.some(6)  # the release of a grid is the same code for all methods of a family
@pytest.mark.daily(besides=("dprefine",))
@pytest.mark.parametrize("method", [*KMEANS_SPENDING, *SYNOPSES, "privthr", "privthrem", "privqt"])
def test_grids_of_any_number_of_records_are_released(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Public numbers limit the number of cells of a method's noisy grid.
    monkeypatch.setattr(kmeans_grid, "MAX_CELLS", 2**12)
    monkeypatch.setattr(synopses, "_MOST_LEAVES", 2**12)
    monkeypatch.setattr(gupt, "MOST_BLOCKS", 64)
    more = {"method": "baseline", "synopsis": method} if method in SYNOPSES else {"method": method}
    config: Any = KMeansConfig(**more, clusters=3) if method in KMEANS else Config(**more)
    request = Request(config=config, domain=Domain(((0, 6), (0, 5))))
    for total in (0, 1, 10**8, 10**8 + 1, 2**40, 2**53 - 1, 2**53, 2**53 + 1):
        counts = np.zeros((6, 5), dtype=np.int64)
        counts[2, 3] = total // 2
        counts[4, 1] = total - total // 2
        file = io.BytesIO()
        np.save(file, counts)
        data = read_counts(file.getvalue(), name="g.npy", any_total=True)
        assert data.counts is not None
        # Each cell is clipped separately at a public number, so that the total is exact in floats.
        np.testing.assert_array_equal(data.counts, np.minimum(counts, 2**53 // 30))
        assert "report.html" in files(Prepared.build(data, request).draw(1.0, null_sets=1))


@pytest.mark.parametrize("odd", ODD)
def test_one_cell_changes_how_no_other_is_read(odd: bytes) -> None:
    def load(one: bytes, mark: bytes) -> Dataset:
        lines = [b"x#y#who", b"1#2#7", one + b"#5#8", b"3.5#4#007", b"1e2#.5#p", b"5#6#" + one]
        content = b"\n".join(lines).replace(b"#", mark)
        found = read_table(content, name="t.csv", unreadable="missing")
        return found.select(["x", "y"], unit="who", unreadable="missing")

    usual = [[1, 2], [3.5, 4], [100, 0.5]]
    for mark in (b",", b";", b"\t", b"|"):
        data = load(odd, mark)
        assert data.points is not None
        assert data.units is not None
        known = [one in usual for one in data.points.tolist()]
        assert [one for one in data.points.tolist() if one in usual] == usual
        assert data.units[known].tolist() == ["7", "007", "p"]
        assert sum(known) >= data.n - 2


@pytest.mark.parametrize(
    "odd",
    ["abc", None, np.nan, np.inf, 1e301, 10**400, b"5", b"\xff", True, "\ud800", "1,5", object()],
)
def test_one_cell_of_a_frame_changes_how_no_other_is_read(odd: object) -> None:
    cells = {"x": [1.5, odd, 2], "y": ["3", "4", "5"], "who": ["a", "b", odd]}
    frame = pd.DataFrame(cells, dtype=object)
    data = read_table(frame, unreadable="missing").select(
        ["x", "y"], unit="who", unreadable="missing"
    )
    assert data.points is not None
    assert data.points[0].tolist() == [1.5, 3.0]
    assert data.n <= 3


@pytest.mark.parametrize("rows", [0, 1])
def test_typed_files_may_hold_no_row(rows: int) -> None:
    frame = pd.DataFrame({"x": np.zeros(rows), "y": np.zeros(rows, dtype=np.int64)})
    parquet, npy = io.BytesIO(), io.BytesIO()
    frame.to_parquet(parquet)
    np.save(npy, np.zeros((rows, 2)))
    for source in (frame, parquet.getvalue(), npy.getvalue(), np.zeros((rows, 2))):
        found = read_table(source, unreadable="missing").select(unreadable="missing")
        assert (found.n, found.ndim) == (rows, 2)


def test_identifiers_that_rounding_has_made_equal_count_as_missing() -> None:
    data = Dataset(name="", points=np.ones((4, 2)), units=np.array([1.0, 2.0**53, 1e17, 2.0]))
    request = Request(
        config=Config(method="privqt", epsilon=20.0, grid=2, neighbours=Neighbours(cap=1)),
        domain=Domain(((0, 1), (0, 1))),
        unit="who",
    )
    assert Prepared.build(data, request).material.n == 2


def test_points_that_can_not_be_computed_with_are_left_out() -> None:
    points = np.array([[0.5, 0.5], [np.nan, 0], [np.inf, 0], [1e301, 0]])
    data = Dataset(name="", points=points, units=np.arange(4))
    for config in (Config(method="privqt"), KMeansConfig(method="eugkm")):
        request = Request(config=config, domain=Domain(((0, 1), (0, 1))))
        assert Prepared.build(data, request).material.n == 1


def test_counts_that_can_not_be_computed_with_are_cut_one_by_one() -> None:
    counts = np.array([[2**62, 2**62], [7, -3]])
    request = Request(config=Config(method="privqt"), domain=Domain(((0, 1), (0, 1))))
    found = Prepared.build(Dataset(name="", counts=counts), request).material
    assert isinstance(found, Source)
    assert found.counts.tolist() == [[2**51, 2**51], [7, 0]]


def test_no_refusal_tells_the_number_of_records(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Tests all refusals, with a number of records that does not occur in a sentence by chance."""
    number = 7919
    path = tmp_path / "t.csv"
    usual = ["--method", "privqt", "--grid", "4", "--epsilon", "1", "--total", "1"]
    usual += ["--domain", "0,1;0,1"]
    refused = [
        ["--domain", "data"],
        ["--domain", "5,6;7"],
        ["--domain", "0,1;0,1;0,1"],
        ["--grid", "1"],
        ["--grid", "4,4,4"],
        ["--grid", "99999"],
        ["--level", "9"],
        ["--wavelet", "none"],
        ["--density", "2"],
        ["--variant", "published"],
        ["--epsilon", "21"],
        ["--epsilon", "5"],
        ["--columns", "x"],
        ["--columns", "x,z"],
        ["--columns", "x,x"],
        ["--outside", "keep"],
        ["--unit", "none", "--cap", "1"],
        ["--cap", "2"],
        ["--no-header"],
        ["--method", "wavecluster"],
        ["--method", "kmeans"],
        ["--counts"],
        ["--title", "x" * 999],
    ]
    said: dict[int, list[tuple[int, str]]] = {}
    for rows in (0, number):
        path.write_bytes(b"x,y\n" + b"90,90\n" * rows)
        said[rows] = []
        for options in refused:
            given = ["release", path, *usual, *options, "--out", tmp_path / "out"]
            status = main([str(one) for one in (*given, "--budget-file", tmp_path / "b.db")])
            said[rows].append((status, capsys.readouterr().err))
            assert status in (2, 3), options
    for (status, one), (other, two), options in zip(*said.values(), refused, strict=True):
        digits = "".join(char for char in two if char.isdigit() or char == " ").split()
        assert str(number) not in digits, two
        # The message that a table is not a grid of counts is about the file, not about a record.
        if options != ["--counts"]:
            assert (status, one) == (other, two)


# -- k-means on counts: records by their weight ----------------------------------------------


def weighed(counts: NDArray[np.int64]) -> Records:
    data = Dataset(name="", counts=counts)
    return Records.build(data, Domain(((0, 4), (-1, 1), (2, 9))[: counts.ndim]), cut=True)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("shape", [(4, 4), (2, 3), (3, 2, 4)])
def test_a_record_more_in_a_cell_changes_sums_by_the_sensitivity(
    geometry: Any, shape: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(0)
    for highest in (3, 10**9, 2**53 // 64):
        counts = rng.integers(0, highest, shape)
        other = counts.copy()
        other[tuple(rng.integers(0, shape))] += 1
        one, two = weighed(counts), weighed(other)
        space = Space(one.domain, geometry)
        centers = space.placed(rng.uniform(-1, 1, (3, len(shape))))
        tables = [
            # Beyond 2^53 units not all whole numbers are floats, so such sums are clipped.
            np.clip(found, -(2**33), 2**33)
            for found in (one.sums(space, centers), two.sums(space, centers))
        ]
        assert np.abs(tables[1] - tables[0]).sum() <= space.sensitivity
        if highest == 3:
            sets = np.stack([centers, -centers])
            more = two.excess(space, sets) - one.excess(space, sets)
            assert (more >= 0).all()
            assert more.max() <= 4 * len(shape)


def test_sums_of_any_number_of_records_are_exact() -> None:
    counts = np.full((4, 8), 2**48)
    found = weighed(counts)
    space = Space(found.domain)
    points, most = found.scaled(space), 2**40 // (32 * 2)
    total = found.sums(space, np.zeros((1, 2)))
    assert total[:, 0].tolist() == [32 * most]
    exact = [most * sum(map(Fraction, column)) for column in points.T.tolist()]
    assert [Fraction(one) for one in total[0, 1:].tolist()] == exact
    corners = [-1, 1]
    far = found.excess(space, np.array([[[one, one]] for one in corners], dtype=float))
    cut = np.array(
        [
            [math.floor(sum((Fraction(x) - one) ** 2 for x in point) * 2**20) for one in corners]
            for point in points.tolist()
        ],
        dtype=object,
    )
    more = (cut - cut.min(axis=1)[:, None]).sum(axis=0) * most
    assert far.tolist() == (more / 2**20).tolist()


def test_weights_stand_for_records_one_by_one() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, (5, 4))
    heavy = weighed(counts)
    assert heavy.weights is not None
    light = Records(
        points=np.repeat(heavy.points, heavy.weights, axis=0), domain=heavy.domain, cut=True
    )
    space = Space(heavy.domain)
    centers = rng.uniform(-1, 1, (3, 2))
    assert heavy.n == light.n == counts.sum()
    one, two = heavy.sums(space, centers), light.sums(space, centers)
    np.testing.assert_array_equal(one, two)
    sets = rng.uniform(-1, 1, (5, 3, 2))
    np.testing.assert_array_equal(heavy.excess(space, sets), light.excess(space, sets))


def test_records_of_a_cell_join_sets_by_draws_of_their_own() -> None:
    """Each of the two tests has a false alarm with probability 1e-6."""
    heavy = weighed(np.array([[1000, 0], [0, 3]]))
    generator = np.random.default_rng(0)
    seen = np.array([list(heavy.shares(4, generator)) for _ in range(500)])  # (draw, set, cell)
    assert (seen.sum(axis=1) == [1000, 3]).all()
    # The margins of a multinomial are binomial: 1000 records with p = 1/4, and 3 records in one set
    # of 4.
    statistic = ((seen[:, :, 0] - 250) ** 2 / 250).sum()
    assert stats.chi2(3 * 500).sf(statistic) > 5e-7 < stats.chi2(3 * 500).cdf(statistic)
    together = (seen[:, :, 1].max(axis=1) == 3).sum()
    assert stats.binomtest(int(together), 500, 4 / 64).pvalue > 1e-6
    space = Space(heavy.domain)
    dealt = heavy.dealt(space, 4, generator)
    np.testing.assert_array_equal(dealt.sum(axis=0)[0], 1003)
    assert dealt.shape == (4, 3)
