"""The sets of ``make bench-utility``: named before any constant of a new method is fixed.

Sets with ``seen`` may have been looked at while constants were chosen, of others those with
``known`` by the families in it. Grid, density and number of clusters are public choices, made
without noise and the same for all methods:

* a grid has about four records a cell, from 32 to 128 cells a side, in steps of 8;
* the density is, of .05, .1, ..., .9, the one with which WaveCluster without noise agrees best with
  the known classes (ARI); without classes the one with the most clusters of at least 1% of the
  records; the smaller one where two are equal;
* the number of clusters is that of the known classes; without classes 15, and 25 above 100,000
  records.

All sets but the last twenty were ``known`` to WaveCluster at Two-stage's last change. Each time
that all its constants were fixed, twenty sets of at least 1,000 records, five each of thin, sparse,
dense and geographic, were named before any method ran on them, and looked at once. Of the first
twenty, 103 of 120 cells were won, and Two-stage was changed again, on sets with ``seen`` alone; of
the second, 109, and it was changed again, on all sets so far; of the third, 113, and one was even,
and it was changed again, on all sets so far. One of the second, birch-rg1, turned out to be birch1
in other units, and one of the third, strong, was earthquakes once more: it is no longer in the
list, and of the other 19 107 of 114 cells were won.

Of the fourth, 115 were won. But four of them share records with known ones (spiral with
spiralsquare, 2d-4c with 2d-10c, smile1 and donut1 with dartboard1): of the other 16, 91 of 96 were
won. Then pools turned out to be biased where some counts are low, on generated data, and are used
no longer there: again 91 of 96. Four sets that were named in the place of those four are won in 15
of 24 cells: long1 in all, cassini in all but one, fourty (25 records in each of 40 clusters) from
epsilon 0.5 on, circle in one, since its records are spread evenly. None of these twenty shares a
fifth of its records with another set. Two-stage was changed again, on all sets so far.

The fifth twenty are real records alone, from repositories of which no set was before. None of them
shares a fifth of its records with another set, as ``tests/experiments/test_bench_utility.py``
checks. 118 of 120 cells are won; lost are stains at epsilon 0.05 and polls at 0.1.

The reference sets and the samples keep those of the papers and of the samples. The box of all sets
is the range of the records, taken as public for all methods alike; samples have a declared one.
``python -m tests.benchmarks.sets`` prints, for each set that is here, what these rules give.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from dpviz.data.dataset import Classes, Dataset
from dpviz.data.samples import load_sample, sample, sample_names
from dpviz.grid.domain import Domain
from dpviz.metrics.matching import adjusted_rand, contingency
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source as Grid
from dpviz.wavecluster.truth import Truth

#: Folder with checkouts of the repositories that sets and peers come from.
VARIABLE = "DPVIZ_CHECKOUTS"

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "data"


class MissingError(Exception):
    """A set or a peer is not on this machine; the message says why."""


class Source(Protocol):
    """Where the records of a set come from."""

    def read(self, checkouts: Path | None) -> Dataset:
        """Read the records, or raise MissingError."""
        ...

    @property
    def classed(self) -> bool:
        """Whether the records have known classes."""
        ...

    def classes(self, checkouts: Path | None) -> np.ndarray[Any, Any]:
        """Known classes in the order of ``read``, whole numbers from 0 on, or MissingError."""
        ...


@dataclass(frozen=True, kw_only=True)
class BenchSet:
    """A set of the benchmark.

    Parameters
    ----------
    name, title
        Key in tables; name for people.
    kind
        Thin, sparse, dense, geographic, mixture or measured.
    seen
        Whether constants of both families may have been chosen on it.
    n, ndim
        Records and columns; checked on reading.
    source
        Where the records come from.
    credit
        Whose data it is, with its licence where one is stated.
    grid, density
        Cells per axis and p for WaveCluster; None where that family leaves it out.
    clusters
        K for k-means; None where that family leaves it out.
    known
        Further families whose results on it were known when one of their methods was last changed:
        its constants may have been chosen on it, too.
    """

    name: str
    title: str
    kind: str
    seen: bool
    n: int
    ndim: int
    source: Source
    credit: str
    known: tuple[str, ...] = ()
    grid: int | None = None
    density: float | None = None
    clusters: int | None = None

    @property
    def families(self) -> tuple[str, ...]:
        """Families that run on it."""
        fits = {"wavecluster": self.grid, "kmeans": self.clusters}
        return tuple(name for name, given in fits.items() if given is not None)

    def read(self, checkouts: Path | None) -> Dataset:
        """Read the records and declare their range as the box, or raise MissingError."""
        found = self.source.read(checkouts)
        assert found.points is not None
        if found.points.shape != (self.n, self.ndim):
            raise MissingError(
                f"{self.name} has shape {found.points.shape} and not {(self.n, self.ndim)}: "
                "this is another version of it."
            )
        return replace(found, name=self.name, domain=found.domain or _range(found.points))

    def with_classes(self, checkouts: Path | None) -> Dataset:
        """Read the records with their known classes, or raise MissingError."""
        codes = np.unique(self.source.classes(checkouts), return_inverse=True)[1]
        names = tuple(map(str, range(codes.max() + 1)))
        known = Classes(column="class", names=names, codes=codes)
        return replace(self.read(checkouts), classes=known)


def _range(points: np.ndarray[Any, Any]) -> Domain:
    """Range of the records; a column with one value gets room around it."""
    lows, highs = points.min(axis=0), points.max(axis=0)
    flat = highs <= lows
    return Domain(tuple(zip((lows - flat).tolist(), (highs + flat).tolist(), strict=True)))


@dataclass(frozen=True)
class Reference:
    """A file of the papers' reference data, with the column of its classes."""

    file: str
    column: str | None = None

    def read(self, checkouts: Path | None) -> Dataset:
        points = self._table().drop(columns=[self.column] if self.column else [])
        # Some files list class by class: a method that cuts the list would see the answer.
        return _shuffled(points.to_numpy(dtype=float))

    @property
    def classed(self) -> bool:
        return self.column is not None

    def classes(self, checkouts: Path | None) -> np.ndarray[Any, Any]:
        codes = pd.factorize(self._table()[self.column])[0]
        return codes[_order(len(codes))]

    def _table(self) -> pd.DataFrame:
        """The file, or MissingError."""
        path = REFERENCE / self.file
        if not path.exists():
            raise MissingError(f"reference data {self.file} is not here.")
        return pd.read_csv(path, header=0 if self.file.endswith(".gz") else None)


@dataclass(frozen=True)
class OfSamples:
    """A sample set of the app."""

    name: str

    def read(self, checkouts: Path | None) -> Dataset:
        return load_sample(self.name)

    @property
    def classed(self) -> bool:
        return load_sample(self.name).classes is not None

    def classes(self, checkouts: Path | None) -> np.ndarray[Any, Any]:
        known = load_sample(self.name).classes
        assert known is not None
        return known.codes


@dataclass(frozen=True)
class OfRepository:
    """A file of a public repository, read from a checkout (bare or not).

    ``columns`` are names, or positions in a list or in a table without names, whose columns
    ``separator`` parts; ``repeat`` is the column with the number of
    records that a line stands for; ``places`` is the column with a place, or a list of places, the
    first two numbers of which are a record; ``unclassed`` says of a format with classes that this
    file has none.
    """

    repository: str
    file: str
    columns: tuple[str | int, ...] = ()
    repeat: str | int | None = None
    places: str | None = None
    unclassed: bool = False
    separator: str = ","

    def read(self, checkouts: Path | None) -> Dataset:
        content = contents(checkouts, self.repository, self.file)
        if self.file.endswith(".gz"):
            points = np.loadtxt(io.BytesIO(gzip.decompress(content)), ndmin=2)
        elif self.file.endswith(".arff"):
            points = self._chosen(_attributes(content))
        elif self.file.endswith((".csv", ".dat")):
            header = 0 if isinstance(self.columns[0], str) else None
            given = io.BytesIO(content)
            points = self._chosen(
                pd.read_csv(given, encoding="latin-1", header=header, sep=self.separator)
            )
        else:
            if self.file.endswith(".js"):
                content = content[content.index(b"[") : content.rindex(b"]") + 1]
            found = json.loads(content)
            if isinstance(found, dict):
                found = [feature["geometry"] for feature in found["features"]]
            table = pd.DataFrame(found)
            if self.places is not None:
                table = _listed(table[self.places])
            elif "coordinates" in table:
                table = pd.DataFrame(table["coordinates"].dropna().tolist())
            points = self._chosen(table)
        return _shuffled(points)

    def _chosen(self, table: pd.DataFrame) -> np.ndarray[Any, Any]:
        """Chosen columns of the complete lines."""
        wanted = [*self.columns, *(() if self.repeat is None else (self.repeat,))]
        found = table[wanted].apply(pd.to_numeric, errors="coerce").dropna().to_numpy(dtype=float)
        if self.repeat is None:
            return found
        return np.repeat(found[:, :-1], found[:, -1].astype(int), axis=0)

    @property
    def classed(self) -> bool:
        return self.file.endswith((".data.gz", ".arff")) and not self.unclassed

    def classes(self, checkouts: Path | None) -> np.ndarray[Any, Any]:
        if self.file.endswith(".arff"):
            table = _attributes(contents(checkouts, self.repository, self.file))
            return pd.factorize(table[2])[0][_order(len(table))]
        labels = self.file.replace(".data.gz", ".labels0.gz")
        found = np.loadtxt(
            io.BytesIO(gzip.decompress(contents(checkouts, self.repository, labels)))
        )
        return found[_order(len(found))].astype(int)


def _attributes(content: bytes) -> pd.DataFrame:
    """Lines of a file of ARFF, with the positions of its attributes as column names."""
    lines = content.decode("latin-1").splitlines()
    begin = next(at for at, line in enumerate(lines) if line.strip().lower() == "@data")
    rows = io.StringIO("\n".join(lines[begin + 1 :]))
    return pd.read_csv(rows, header=None, comment="%", skipinitialspace=True)


def _listed(places: pd.Series[Any]) -> pd.DataFrame:
    """A line for each place of a column with places or lists of places."""
    first = places.dropna()
    if isinstance(first.iloc[0][0], list):
        first = first.explode()
    return pd.DataFrame([place[:2] for place in first])


@dataclass(frozen=True)
class Mixture:
    """Gaussians of different sizes and widths in the unit cube, from a fixed seed."""

    n: int
    ndim: int
    clusters: int
    seed: int
    width: float = 0.05

    def read(self, checkouts: Path | None) -> Dataset:
        cube = Domain(((0.0, 1.0),) * self.ndim)
        return Dataset(name="mixture", points=self._drawn[0], domain=cube)

    @property
    def classed(self) -> bool:
        return True

    def classes(self, checkouts: Path | None) -> np.ndarray[Any, Any]:
        return self._drawn[1]

    @cached_property
    def _drawn(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Records and the Gaussian that each is of."""
        rng = np.random.default_rng(self.seed)
        centres = rng.uniform(0.15, 0.85, (self.clusters, self.ndim))
        shares = rng.dirichlet(np.full(self.clusters, 3.0))
        widths = self.width * rng.uniform(0.5, 1.5, self.clusters)
        which = rng.choice(self.clusters, self.n, p=shares)
        points = centres[which] + widths[which, None] * rng.normal(size=(self.n, self.ndim))
        return np.clip(points, 0, 1), which


def _order(n: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).permutation(n)


def _shuffled(points: np.ndarray[Any, Any]) -> Dataset:
    """Records in an order that tells nothing."""
    return Dataset(name="", points=np.ascontiguousarray(points[_order(len(points))]))


def checkout(checkouts: Path | None, repository: str) -> Path:
    """Path of a checkout of a repository ("owner/name") in a folder of them.

    It may be called ``owner+name/repo``, ``owner+name``, ``owner/name`` or ``name``.

    Raises
    ------
    MissingError
        If there is none.
    """
    if checkouts is None:
        raise MissingError(f"{repository} needs a folder of checkouts: give --checkouts FOLDER.")
    owner, name = repository.split("/")
    for place in (f"{owner}+{name}/repo", f"{owner}+{name}", repository, name):
        if (checkouts / place).is_dir():
            return checkouts / place
    raise MissingError(f"no checkout of {repository} is in the folder of checkouts.")


def contents(checkouts: Path | None, repository: str, file: str) -> bytes:
    """Content of a file of a checkout, bare or not, or MissingError."""
    place = checkout(checkouts, repository)
    if (place / file).is_file():
        return (place / file).read_bytes()
    shown = subprocess.run(
        ["git", "-C", place, "show", f"HEAD:{file}"], capture_output=True, check=False
    )
    if shown.returncode:
        raise MissingError(f"the checkout of {repository} has no {file}.")
    return shown.stdout


def folder(given: str | None) -> Path | None:
    """Folder of checkouts: from the option, or from the environment."""
    found = given or os.environ.get(VARIABLE)
    return Path(found) if found else None


# -- the list ----------------------------------------------------------------------------

_GAGOLEWSKI = "gagolews/clustering-data-v1"
_PLOTLY = "plotly/datasets"
_VEGA = "vega/vega-datasets"
_DECK = "uber-common/deck.gl-data"
_DERIC = "deric/clustering-benchmark"
_ARTIFICIAL = "src/main/resources/datasets/artificial"
_UCI = "UCI Machine Learning Repository (CC BY 4.0)"
_SIPU = "SIPU clustering datasets (Fränti, Sieranoja 2018), by gagolews/clustering-data-v1"


def _reference(name: str, title: str, file: str, credit: str, **more: Any) -> BenchSet:
    return BenchSet(
        name=name, title=title, seen=True, source=Reference(file, more.pop("classes", None)),
        credit=credit, **more,
    )  # fmt: skip


def _sample(name: str) -> BenchSet:
    known = sample(name)
    return BenchSet(
        name=name, title=known.title, kind="sample", seen=True, n=known.n, ndim=2,
        source=OfSamples(name), credit=known.credit, grid=known.grid, density=known.density,
        clusters=max(known.clusters, 2),
    )  # fmt: skip


def _benchmark(path: str, kind: str, n: int, ndim: int = 2, **more: Any) -> BenchSet:
    """A set of clustering-data-v1."""
    group, name = path.split("/")
    credits = {
        "sipu": _SIPU,
        "fcps": "FCPS (Thrun, Ultsch 2020), by gagolews/clustering-data-v1",
        "graves": "Graves, Pedrycz 2010, by gagolews/clustering-data-v1",
        "uci": "UCI Machine Learning Repository, by gagolews/clustering-data-v1",
        "wut": "Gagolewski and students 2022, by gagolews/clustering-data-v1",
        "g2mg": "Gagolewski 2022, by gagolews/clustering-data-v1",
        "h2mg": "Gagolewski 2022, by gagolews/clustering-data-v1",
        "other": "Karypis, Han, Kumar 1999, and others, by gagolews/clustering-data-v1",
    }
    seen = group == "wut" or (group == "g2mg" and 2 < ndim <= 32)
    return BenchSet(
        name=name, title=more.pop("title", name), kind=kind, seen=seen, n=n, ndim=ndim,
        source=OfRepository(_GAGOLEWSKI, f"{path}.data.gz"), credit=credits[group], **more,
    )  # fmt: skip


def _places(
    name: str,
    title: str,
    n: int,
    source: OfRepository,
    credit: str,
    seen: bool = False,
    kind: str = "geographic",
    **more: Any,
) -> BenchSet:
    return BenchSet(
        name=name, title=title, kind=kind, seen=seen, n=n, ndim=2, source=source,
        credit=credit, **more,
    )  # fmt: skip


def _drawn(file: str, kind: str, n: int, grid: int, density: float) -> BenchSet:
    """A drawn set of clustering-benchmark, with known classes."""
    return BenchSet(
        name=file, title=file, kind=kind, seen=False, n=n, ndim=2, grid=grid, density=density,
        source=OfRepository(_DERIC, f"{_ARTIFICIAL}/{file}.arff", (0, 1)),
        credit="deric/clustering-benchmark (Barton)",
    )  # fmt: skip


def _mixture(ndim: int, clusters: int, n: int, seed: int, *, seen: bool) -> BenchSet:
    return BenchSet(
        name=f"mixture-{ndim}d-{clusters}-{seed}", kind="mixture", seen=seen, n=n, ndim=ndim,
        title=f"{clusters} Gaussians in {ndim}-D ({n:,})", clusters=clusters,
        source=Mixture(n, ndim, clusters, seed), credit="generated, fixed seed",
    )  # fmt: skip


_FIRST: tuple[BenchSet, ...] = (
    # Seen: the papers' sets, the samples, and what the rules of a method were tried on.
    _reference(
        "ds1", "DS1", "ds1.csv", "Chen, Yu, Chirkova 2015", kind="dense", n=30_000, ndim=2, grid=64,
        density=0.58, clusters=15,
    ),
    _reference(
        "ds2", "DS2", "ds2.csv", "Chen, Yu, Chirkova 2015", kind="thin", n=31_200, ndim=2, grid=40,
        density=0.10, clusters=3,
    ),
    _reference(
        "ds3", "DS3", "ds3.csv", "Chen, Yu, Chirkova 2015", kind="dense", n=31_520, ndim=2, grid=36,
        density=0.23, clusters=5,
    ),
    _reference(
        "s1", "S1", "s1.csv.gz", _SIPU, kind="dense", n=5_000, ndim=2, classes="label", clusters=15,
    ),
    _reference(
        "unbalance", "Unbalance", "unbalance.csv.gz", _SIPU, kind="sparse", n=6_500, ndim=2,
        classes="label", clusters=8,
    ),
    _reference(
        "birch3", "Birch3", "birch3.csv.gz", _SIPU, kind="dense", n=100_000, ndim=2, clusters=100,
    ),
    _reference(
        "blood", "Blood", "blood.csv.gz", _UCI, kind="measured", n=748, ndim=4, classes="donated",
        clusters=4,
    ),
    _reference(
        "abalone", "Abalone", "abalone.csv.gz", _UCI, kind="measured", n=4_177, ndim=8,
        classes="sex", clusters=3,
    ),
    _reference(
        "gamma", "Gamma", "gamma.csv.gz", _UCI, kind="measured", n=19_020, ndim=10, classes="class",
        clusters=2,
    ),
    *(_sample(name) for name in sample_names()),
    _benchmark("wut/stripes", "thin", 5_000, grid=32, density=0.4),
    _benchmark("wut/windows", "thin", 2_977, grid=32, density=0.15),
    _benchmark("wut/labirynth", "thin", 3_546, grid=32, density=0.4),
    _benchmark("wut/trajectories", "thin", 10_000, grid=48, density=0.2),
    _benchmark("wut/isolation", "thin", 9_000, grid=48, density=0.65),
    _benchmark("wut/circles", "thin", 4_000, grid=32, density=0.05),
    _benchmark("wut/graph", "sparse", 2_500, grid=32, density=0.65),
    _benchmark("wut/olympic", "thin", 5_000, grid=32, density=0.6),
    _benchmark("wut/mk4", "measured", 1_500, 3, clusters=3),
    _benchmark("g2mg/g2mg_8_50", "mixture", 2_048, 8, clusters=2),
    _benchmark("g2mg/g2mg_32_50", "mixture", 2_048, 32, clusters=2),
    _places(
        "zipcodes", "US ZIP codes", 42_049,
        OfRepository(_VEGA, "data/zipcodes.csv", ("longitude", "latitude")),
        "vega-datasets (GeoNames, CC BY)", seen=True, grid=104, density=0.75, clusters=15,
    ),
    _places(
        "airports", "US airports", 3_376,
        OfRepository(_VEGA, "data/airports.csv", ("longitude", "latitude")),
        "vega-datasets", seen=True, grid=32, density=0.15, clusters=15,
    ),
    _mixture(3, 8, 20_000, 1, seen=True),
    _mixture(10, 10, 20_000, 1, seen=True),
    _mixture(16, 20, 20_000, 1, seen=True),
    _mixture(32, 5, 10_000, 1, seen=True),
    # Not seen: five and one of each kind for WaveCluster.
    _benchmark("other/chameleon_t4_8k", "thin", 8_000, clusters=6, grid=48, density=0.6),
    _benchmark("other/chameleon_t5_8k", "thin", 8_000, clusters=6, grid=48, density=0.7),
    _benchmark("other/chameleon_t7_10k", "thin", 10_000, clusters=9, grid=48, density=0.65),
    _benchmark("other/chameleon_t8_8k", "thin", 8_000, clusters=8, grid=48, density=0.45),
    _benchmark("sipu/worms_2", "thin", 105_600, clusters=35, grid=128, density=0.9),
    _benchmark("graves/parabolic", "thin", 1_000, clusters=2, grid=32, density=0.65),
    _benchmark("other/hdbscan", "sparse", 2_309, clusters=6, grid=32, density=0.85),
    _benchmark("sipu/aggregation", "sparse", 788, clusters=7, grid=32, density=0.35),
    _benchmark("fcps/target", "sparse", 770, grid=32, density=0.05),
    _benchmark("graves/ring_noisy", "sparse", 1_050, grid=32, density=0.5),
    _benchmark("graves/fuzzyx", "sparse", 1_000, grid=32, density=0.75),
    _benchmark("other/square", "sparse", 1_000, grid=32, density=0.1),
    _benchmark("sipu/a3", "dense", 7_500, title="A3", clusters=50, grid=40, density=0.55),
    _benchmark(
        "sipu/birch1", "dense", 100_000, title="Birch1", clusters=100, grid=128, density=0.55,
    ),
    _benchmark(
        "sipu/birch2", "dense", 100_000, title="Birch2", clusters=100, grid=128, density=0.5,
    ),
    _benchmark("sipu/s3", "dense", 5_000, title="S3", clusters=15, grid=32, density=0.75),
    _benchmark("sipu/d31", "dense", 3_100, title="D31", clusters=31, grid=32, density=0.55),
    _benchmark("fcps/engytime", "dense", 4_096, clusters=2, grid=32, density=0.9),
    _places(
        "earthquakes", "Earthquakes", 23_412,
        OfRepository(_PLOTLY, "earthquakes-23k.csv", ("Longitude", "Latitude")),
        "plotly/datasets (US Geological Survey)", grid=80, density=0.65, clusters=15,
    ),
    _places(
        "accidents", "UK road accidents", 140_029,
        OfRepository(_DECK, "examples/3d-heatmap/heatmap-data.csv", ("lng", "lat")),
        "deck.gl-data (UK Department for Transport, OGL)", grid=128, density=0.75, clusters=25,
    ),
    _places(
        "pickups", "New York pick-ups", 315_055,
        OfRepository(_DECK, "examples/screen-grid/uber-pickup-locations.json", (0, 1), 2),
        "deck.gl-data (fivethirtyeight, from NYC TLC)", grid=128, density=0.05, clusters=25,
    ),
    _places(
        "housing", "California housing", 20_640,
        OfRepository(
            "ageron/handson-ml", "datasets/housing/housing.csv", ("longitude", "latitude")
        ),
        "Pace, Barry 1997, by ageron/handson-ml", grid=72, density=0.9, clusters=15,
    ),
    _places(
        "stops", "California transit stops", 14_195,
        OfRepository(_DECK, "examples/screen-grid/ca-transit-stops.json", (0, 1)),
        "deck.gl-data", grid=56, density=0.7, clusters=15,
    ),
    _places(
        "squirrels", "Central Park squirrels", 3_023,
        OfRepository(
            _PLOTLY, "2018_Central_Park_Squirrel_Census_-_Squirrel_Data_20250721.csv", ("X", "Y")
        ),
        "plotly/datasets (NYC Open Data)", grid=32, density=0.8, clusters=15,
    ),
)  # fmt: skip

_LATER: tuple[BenchSet, ...] = (
    # Not seen, named when Two-stage's choice of cells was made anew.
    _benchmark("sipu/a1", "dense", 3_000, title="A1", clusters=20, grid=32, density=0.6),
    _benchmark("sipu/a2", "dense", 5_250, title="A2", clusters=35, grid=40, density=0.65),
    _benchmark("sipu/s2", "dense", 5_000, title="S2", clusters=15, grid=32, density=0.7),
    _benchmark("sipu/s4", "dense", 5_000, title="S4", clusters=15, grid=32, density=0.85),
    _benchmark("sipu/r15", "sparse", 600, title="R15", clusters=15, grid=32, density=0.5),
    _benchmark("fcps/twodiamonds", "sparse", 800, grid=32, density=0.65),
    _benchmark("fcps/wingnut", "sparse", 1_016, grid=32, density=0.85),
    _benchmark("graves/ring_outliers", "thin", 1_030, grid=32, density=0.05),
    _places(
        "meteorites", "Meteorites", 19_722,
        OfRepository(_DECK, "examples/icon/meteorites.json", (0, 1)),
        "deck.gl-data (NASA, Meteoritical Society)", grid=72, density=0.85,
    ),
    _places(
        "manhattan", "Manhattan residents", 13_987,
        OfRepository(_DECK, "examples/scatterplot/manhattan.json", (0, 1)),
        "deck.gl-data", grid=56, density=0.8,
    ),
    _places(
        "pois", "Homes of San Francisco's visitors", 38_420,
        OfRepository(_DECK, "examples/safegraph/sf-pois.csv", ("home_lng", "home_lat")),
        "deck.gl-data (SafeGraph)", grid=96, density=0.05,
    ),
    _places(
        "cities", "US cities", 3_228,
        OfRepository(_PLOTLY, "2014_us_cities.csv", ("lon", "lat")),
        "plotly/datasets (US Census Bureau)", grid=32, density=0.8,
    ),
    _places(
        "stores", "Walmart stores", 2_992,
        OfRepository(_PLOTLY, "1962_2006_walmart_store_openings.csv", ("LON", "LAT")),
        "plotly/datasets (Holmes 2011)", grid=32, density=0.9,
    ),
    _places(
        "hospitals", "Californian hospital charges", 14_384,
        OfRepository(
            _PLOTLY,
            "dash-sample-apps/dash-medical-provider-charges/data/processed/df_CA_lat_lon.csv",
            ("lon", "lat"),
        ),
        "plotly/datasets (US Medicare)", grid=56, density=0.75,
    ),
    # Not seen, for k-means alone.
    _benchmark("fcps/chainlink", "thin", 1_000, 3, clusters=2),
    _benchmark("fcps/hepta", "sparse", 212, 3, clusters=7),
    _benchmark("sipu/worms_64", "thin", 105_000, 64, clusters=25),
    _benchmark("g2mg/g2mg_64_10", "mixture", 2_048, 64, clusters=2),
    _benchmark("g2mg/g2mg_64_50", "mixture", 2_048, 64, clusters=2),
    _benchmark("g2mg/g2mg_128_50", "mixture", 2_048, 128, clusters=2),
    _benchmark("uci/yeast", "measured", 1_484, 8, clusters=10),
    _benchmark("uci/statlog", "measured", 2_310, 19, clusters=7),
    _benchmark("uci/wdbc", "measured", 569, 30, clusters=2),
    _mixture(3, 12, 20_000, 9001, seen=False),
    _mixture(4, 8, 20_000, 9002, seen=False),
    _mixture(5, 10, 20_000, 9003, seen=False),
    _mixture(5, 25, 50_000, 9004, seen=False),
    _mixture(6, 12, 20_000, 9005, seen=False),
    _mixture(8, 10, 20_000, 9006, seen=False),
    _mixture(8, 20, 50_000, 9007, seen=False),
    _mixture(16, 10, 20_000, 9008, seen=False),
    _mixture(16, 20, 50_000, 9009, seen=False),
    _mixture(32, 5, 20_000, 9010, seen=False),
    _mixture(32, 15, 50_000, 9011, seen=False),
)  # fmt: skip

_LAST: tuple[BenchSet, ...] = (
    # Not seen; WaveCluster ran on them when its constants were fixed for the first time.
    _benchmark("graves/ring", "thin", 1_000, grid=32, density=0.05),
    _places(
        "trips", "Streets of New York taxis", 47_933,
        OfRepository(_DECK, "examples/trips/trips-v7.json", (0, 1), places="path"),
        "deck.gl-data (NYC TLC)", grid=112, density=0.05, kind="thin",
    ),
    _places(
        "heathrow", "Flights of Heathrow", 5_000,
        OfRepository(_DECK, "examples/line/heathrow-flights.json", (0, 1), places="start"),
        "deck.gl-data", grid=32, density=0.05, kind="thin",
    ),
    _places(
        "volcanoes", "Volcanoes", 1_571,
        OfRepository(_PLOTLY, "volcano_db.csv", ("Longitude", "Latitude")),
        "plotly/datasets (Smithsonian Institution)", grid=32, density=0.85, kind="thin",
    ),
    _places(
        "quakes", "A week of earthquakes", 1_707,
        OfRepository(_VEGA, "data/earthquakes.json", (0, 1)),
        "vega-datasets (US Geological Survey)", grid=32, density=0.45, kind="thin",
    ),
    _benchmark("h2mg/h2mg_2_40", "sparse", 2_048, grid=32, density=0.85),
    _places(
        "words", "Words, by t-SNE", 3_000,
        OfRepository(
            _PLOTLY,
            "dash-sample-apps/dash-tsne/demo_embeddings/crawler_3000/iterations_250/"
            "perplexity_30/pca_50/learning_rate_100/data.csv",
            ("x", "y"),
        ),
        "plotly/datasets", grid=32, density=0.05, kind="sparse",
    ),
    _places(
        "films", "Ratings of films", 2_260,
        OfRepository(_VEGA, "data/movies.json", ("IMDB Rating", "Rotten Tomatoes Rating")),
        "vega-datasets", grid=32, density=0.85, kind="sparse",
    ),
    _places(
        "stations", "Weather stations", 1_514,
        OfRepository(_DECK, "examples/wind/stations.json", ("long", "lat")),
        "deck.gl-data", grid=32, density=0.85, kind="sparse",
    ),
    _places(
        "attractions", "Places in Manhattan", 4_903,
        OfRepository(_DECK, "examples/trips/pois.json", (0, 1)),
        "deck.gl-data (OpenStreetMap, ODbL)", grid=32, density=0.9, kind="sparse",
    ),
    _benchmark("h2mg/h2mg_2_20", "dense", 2_048, grid=32, density=0.7),
    _benchmark("h2mg/h2mg_2_70", "dense", 2_048, grid=32, density=0.85),
    _benchmark("g2mg/g2mg_2_40", "dense", 2_048, grid=32, density=0.8),
    _places(
        "delays", "Delays and distances of flights", 20_000,
        OfRepository(_VEGA, "data/flights-20k.json", ("delay", "distance")),
        "vega-datasets (US Bureau of Transportation Statistics)", grid=72, density=0.9,
        kind="dense",
    ),
    _places(
        "weather", "Hours of Seattle's weather", 8_759,
        OfRepository(
            _VEGA, "data/seattle-weather-hourly-normals.csv", ("temperature", "pressure")
        ),
        "vega-datasets (NOAA)", grid=48, density=0.85, kind="dense",
    ),
    _places(
        "planes", "Planes in April 2020", 29_922,
        OfRepository(_DECK, "examples/globe/2020-04-14.csv", ("lon1", "lat1")),
        "deck.gl-data (OpenSky Network)", grid=88, density=0.75,
    ),
    _places(
        "racks", "Bicycle racks of San Francisco", 2_520,
        OfRepository(
            _DECK, "examples/layer-browser/sf.bike.parking.json", (0, 1), places="COORDINATES"
        ),
        "deck.gl-data (San Francisco)", grid=32, density=0.4,
    ),
    _places(
        "rain", "Rain gauges", 10_000,
        OfRepository(_PLOTLY, "2015_06_30_precipitation.csv", ("Lon", "Lat")),
        "plotly/datasets (US National Weather Service)", grid=48, density=0.8,
    ),
    _places(
        "counties", "US counties", 3_214,
        OfRepository(
            _DECK, "examples/contour/covid-by-county.json", ("longitude", "latitude")
        ),
        "deck.gl-data (US Census Bureau)", grid=32, density=0.05,
    ),
    _places(
        "texas", "Texan hospital charges", 13_460,
        OfRepository(
            _PLOTLY,
            "dash-sample-apps/dash-medical-provider-charges/data/processed/df_TX_lat_lon.csv",
            ("lon", "lat"),
        ),
        "plotly/datasets (US Medicare)", grid=56, density=0.55,
    ),
)  # fmt: skip

_FRESH: tuple[BenchSet, ...] = (
    # Not seen; WaveCluster ran on them when its constants were fixed for the second time.
    _drawn("complex8", "thin", 2_551, 32, 0.4),
    _drawn("complex9", "thin", 3_031, 32, 0.5),
    _drawn("banana", "thin", 4_811, 32, 0.05),
    _drawn("2sp2glob", "thin", 2_000, 32, 0.25),
    _drawn("impossible", "thin", 3_673, 32, 0.55),
    _drawn("cure-t1-2000n-2D", "sparse", 2_000, 32, 0.1),
    _drawn("cure-t2-4k", "sparse", 4_200, 32, 0.4),
    _drawn("elly-2d10c13s", "sparse", 2_796, 32, 0.8),
    _drawn("dpb", "sparse", 4_000, 32, 0.8),
    _drawn("disk-5000n", "sparse", 5_000, 32, 0.6),
    _drawn("2d-10c", "dense", 2_990, 32, 0.5),
    _drawn("diamond9", "dense", 3_000, 32, 0.4),
    _drawn("xclara", "dense", 3_000, 32, 0.4),
    _drawn("dense-disk-5000", "dense", 5_000, 32, 0.65),
    _places(
        "birch-rg1", "Random Gaussians", 100_000,
        OfRepository(_DERIC, f"{_ARTIFICIAL}/birch-rg1.arff", (0, 1), unclassed=True),
        "deric/clustering-benchmark (Barton)", grid=128, density=0.55, kind="dense",
    ),
    _places(
        "finland", "Places of users in Finland", 13_467,
        OfRepository(_DERIC, f"{_ARTIFICIAL}/mopsi-finland.arff", (1, 0), unclassed=True),
        "Mopsi (University of Eastern Finland), by deric/clustering-benchmark", grid=56,
        density=0.75,
    ),
    _places(
        "joensuu", "Places of users in Joensuu", 4_590,
        OfRepository(_DERIC, f"{_ARTIFICIAL}/mopsi-joensuu.arff", (1, 0), unclassed=True),
        "Mopsi (University of Eastern Finland), by deric/clustering-benchmark", grid=32,
        density=0.05,
    ),
    _places(
        "florida", "Floridian hospital charges", 14_016,
        OfRepository(
            _PLOTLY,
            "dash-sample-apps/dash-medical-provider-charges/data/processed/df_FL_lat_lon.csv",
            ("lon", "lat"),
        ),
        "plotly/datasets (US Medicare)", grid=56, density=0.6,
    ),
    _places(
        "newyork", "New York hospital charges", 10_741,
        OfRepository(
            _PLOTLY,
            "dash-sample-apps/dash-medical-provider-charges/data/processed/df_NY_lat_lon.csv",
            ("lon", "lat"),
        ),
        "plotly/datasets (US Medicare)", grid=48, density=0.1,
    ),
    _places(
        "animals", "Reports on animals in New York", 4_907,
        OfRepository(_PLOTLY, "311_Animals_short.csv", ("Longitude", "Latitude")),
        "plotly/datasets (NYC 311)", grid=32, density=0.5,
    ),
)  # fmt: skip

_NEWEST: tuple[BenchSet, ...] = (
    # Not seen; WaveCluster ran on them when its constants were fixed for the third time.
    # The one of its group that no constant was chosen on.
    replace(_benchmark("wut/cross", "thin", 2_000, grid=32, density=0.85), seen=False),
    _drawn("spiralsquare", "thin", 1_500, 32, 0.4),
    _drawn("dartboard1", "thin", 1_000, 32, 0.65),
    _drawn("rings", "thin", 1_000, 32, 0.9),
    _drawn("donutcurves", "thin", 1_000, 32, 0.75),
    _drawn("2d-20c-no0", "sparse", 1_517, 32, 0.65),
    _drawn("triangle1", "sparse", 1_000, 32, 0.05),
    _places(
        "digits", "Digits, by t-SNE", 3_000,
        OfRepository(
            _PLOTLY,
            "dash-sample-apps/dash-tsne/demo_embeddings/mnist_3000/iterations_500/"
            "perplexity_30/pca_50/learning_rate_100/data.csv",
            ("x", "y"),
        ),
        "plotly/datasets", grid=32, density=0.85, kind="sparse",
    ),
    _places(
        "wines", "Red wines", 1_599,
        OfRepository(_PLOTLY, "winequality-red.csv", ("volatile acidity", "alcohol")),
        "plotly/datasets (Cortez and others 2009)", grid=32, density=0.05, kind="sparse",
    ),
    _places(
        "customers", "Months and charges of customers", 7_043,
        OfRepository(
            _PLOTLY, "telco-customer-churn-by-IBM.csv", ("tenure", "MonthlyCharges")
        ),
        "plotly/datasets (IBM)", grid=40, density=0.9, kind="sparse",
    ),
    _benchmark("g2mg/g2mg_2_20", "dense", 2_048, grid=32, density=0.2),
    _benchmark("h2mg/h2mg_2_60", "dense", 2_048, grid=32, density=0.85),
    _drawn("dense-disk-3000", "dense", 3_000, 32, 0.65),
    _places(
        "birch-rg3", "Random Gaussians of other widths", 100_000,
        OfRepository(_DERIC, f"{_ARTIFICIAL}/birch-rg3.arff", (0, 1), unclassed=True),
        "deric/clustering-benchmark (Barton)", grid=128, density=0.9, kind="dense",
    ),
    _places(
        "beers", "Alcohol and bitterness of beers", 1_405,
        OfRepository(_PLOTLY, "beers.csv", ("abv", "ibu")),
        "plotly/datasets", grid=32, density=0.55, kind="dense",
    ),
    _places(
        "officers", "Deaths of US police officers", 4_999,
        OfRepository(_PLOTLY, "US-shooting-incidents.csv", ("longitude", "latitude")),
        "plotly/datasets", grid=32, density=0.35,
    ),
    _places(
        "flights", "Planes in November 2020", 56_064,
        OfRepository(_DECK, "examples/globe/2020-11-10.csv", ("lon1", "lat1")),
        "deck.gl-data (OpenSky Network)", grid=120, density=0.6,
    ),
    _places(
        "illinois", "Hospital charges of Illinois", 8_270,
        OfRepository(
            _PLOTLY,
            "dash-sample-apps/dash-medical-provider-charges/data/processed/df_IL_lat_lon.csv",
            ("lon", "lat"),
        ),
        "plotly/datasets (US Medicare)", grid=48, density=0.05,
    ),
    _places(
        "pennsylvania", "Hospital charges of Pennsylvania", 8_131,
        OfRepository(
            _PLOTLY,
            "dash-sample-apps/dash-medical-provider-charges/data/processed/df_PA_lat_lon.csv",
            ("lon", "lat"),
        ),
        "plotly/datasets (US Medicare)", grid=48, density=0.2,
    ),
)  # fmt: skip

_NEXT: tuple[BenchSet, ...] = (
    # Not seen; WaveCluster ran on them when its constants were fixed for the fourth time.
    _drawn("curves1", "thin", 1_000, 32, 0.05),
    _places(
        "roads", "Corners of New York's roads", 57_176,
        OfRepository(_DECK, "examples/trips/roads.json", (0, 1), places="coordinates"),
        "deck.gl-data (OpenStreetMap, ODbL)", grid=120, density=0.75, kind="thin",
    ),
    _drawn("cure-t0-2000n-2D", "sparse", 2_000, 32, 0.05),
    _drawn("disk-6000n", "sparse", 6_000, 40, 0.5),
    _places(
        "tweets", "Tweets, by t-SNE", 3_000,
        OfRepository(
            _PLOTLY,
            "dash-sample-apps/dash-tsne/demo_embeddings/twitter_3000/iterations_500/"
            "perplexity_30/pca_50/learning_rate_100/data.csv",
            ("x", "y"),
        ),
        "plotly/datasets", grid=32, density=0.65, kind="sparse",
    ),
    _places(
        "nations", "Life expectancy and income of countries", 3_313,
        OfRepository(_PLOTLY, "gapminder_unfiltered.csv", ("lifeExp", "gdpPercap")),
        "plotly/datasets (Gapminder)", grid=32, density=0.9, kind="sparse",
    ),
    _drawn("threenorm", "dense", 1_000, 32, 0.9),
    _benchmark("g2mg/g2mg_2_60", "dense", 2_048, grid=32, density=0.75),
    _places(
        "temperatures", "Warmest and coldest hours of days in Seattle", 24_380,
        OfRepository(
            _PLOTLY, "2016-weather-data-seattle.csv", ("Max_TemperatureC", "Min_TemperatureC")
        ),
        "plotly/datasets", grid=80, density=0.9, kind="dense",
    ),
    _places(
        "genes", "Effect and score of gene variants", 14_412,
        OfRepository(
            _PLOTLY, "Dash_Bio/Chromosomal/manhattan_data.csv", ("EFFECTSIZE", "ZSCORE")
        ),
        "plotly/datasets", grid=64, density=0.05, kind="dense",
    ),
    _places(
        "winds", "Temperature and wind of days", 2_922,
        OfRepository(_VEGA, "data/weather.csv", ("temp_max", "wind")),
        "vega-datasets (US National Oceanic and Atmospheric Administration)",
        grid=32, density=0.05, kind="dense",
    ),
    _places(
        "buildings", "Corners of New York's buildings", 13_217,
        OfRepository(_DECK, "examples/trips/buildings.json", (0, 1), places="polygon"),
        "deck.gl-data (OpenStreetMap, ODbL)", grid=56, density=0.6,
    ),
    _places(
        "highways", "Points of US highways", 32_217,
        OfRepository(_DECK, "examples/highway/roads.json", (0, 1), places="coordinates"),
        "deck.gl-data (US Department of Transportation)", grid=88, density=0.6,
    ),
    _places(
        "june", "Planes in June 2020", 44_369,
        OfRepository(_DECK, "examples/globe/2020-06-09.csv", ("lon1", "lat1")),
        "deck.gl-data (OpenSky Network)", grid=104, density=0.05,
    ),
    _places(
        "michigan", "Hospital charges of Michigan", 6_822,
        OfRepository(
            _PLOTLY,
            "dash-sample-apps/dash-medical-provider-charges/data/processed/df_MI_lat_lon.csv",
            ("lon", "lat"),
        ),
        "plotly/datasets (US Medicare)", grid=40, density=0.55,
    ),
    _places(
        "ohio", "Hospital charges of Ohio", 7_127,
        OfRepository(
            _PLOTLY,
            "dash-sample-apps/dash-medical-provider-charges/data/processed/df_OH_lat_lon.csv",
            ("lon", "lat"),
        ),
        "plotly/datasets (US Medicare)", grid=40, density=0.55,
    ),
)  # fmt: skip

_REST: tuple[BenchSet, ...] = (
    # Not seen; WaveCluster ran on them once, after its last change.
    _drawn("cassini", "thin", 1_000, 32, 0.5),
    _drawn("circle", "thin", 1_000, 32, 0.65),
    _drawn("long1", "thin", 1_000, 32, 0.05),
    _drawn("fourty", "sparse", 1_000, 32, 0.5),
)  # fmt: skip

_FIFTH: tuple[BenchSet, ...] = (
    # Not seen; real records alone, from repositories of which no set was before.
    _places(
        "plates", "Boundaries of tectonic plates", 5_819,
        OfRepository(
            "fraxen/tectonicplates", "original/PB2002_steps.csv", ("StartLong", "StartLat")
        ),
        "Bird 2003, by fraxen/tectonicplates (ODC-By)", grid=40, density=0.7, kind="thin",
    ),
    _places(
        "fares", "Distances and fares of taxis", 6_433,
        OfRepository("mwaskom/seaborn-data", "taxis.csv", ("distance", "fare")),
        "seaborn-data (NYC Taxi and Limousine Commission)", grid=40, density=0.8, kind="thin",
    ),
    _places(
        "carats", "Weights and prices of diamonds", 53_940,
        OfRepository("mwaskom/seaborn-data", "diamonds.csv", ("carat", "price")),
        "seaborn-data (ggplot2)", grid=120, density=0.7, kind="thin",
    ),
    _places(
        "shells", "Lengths and diameters of abalones", 4_177,
        OfRepository("jbrownlee/Datasets", "abalone.csv", (1, 2)),
        f"{_UCI}, by jbrownlee/Datasets", grid=32, density=0.05, kind="thin",
    ),
    _places(
        "polls", "Shares of two candidates in polls", 11_475,
        OfRepository(
            "fivethirtyeight/data", "pollster-ratings/2023/raw-polls.csv",
            ("cand1_pct", "cand2_pct"),
        ),
        "fivethirtyeight/data (CC BY 4.0)", grid=56, density=0.05, kind="thin",
    ),
    _places(
        "banknotes", "Variance and skewness of images of banknotes", 1_372,
        OfRepository("jbrownlee/Datasets", "banknote_authentication.csv", (0, 1)),
        f"{_UCI}, by jbrownlee/Datasets", grid=32, density=0.85, kind="sparse",
    ),
    _places(
        "phonemes", "Harmonics of phonemes", 5_404,
        OfRepository("jbrownlee/Datasets", "phoneme.csv", (0, 1)),
        "ELENA, by jbrownlee/Datasets", grid=40, density=0.7, kind="sparse",
    ),
    _places(
        "whites", "Sugar and alcohol of white wines", 4_898,
        OfRepository("jbrownlee/Datasets", "winequality-white.csv", (3, 10)),
        "Cortez and others 2009, by jbrownlee/Datasets", grid=32, density=0.9, kind="sparse",
    ),
    _places(
        "insured", "Ages and charges of insured people", 1_338,
        OfRepository(
            "stedy/Machine-Learning-with-R-datasets", "insurance.csv", ("age", "charges")
        ),
        "Lantz 2013, by stedy/Machine-Learning-with-R-datasets", grid=32, density=0.55,
        kind="sparse",
    ),
    _places(
        "clients", "Ages and balances of a bank's clients", 10_000,
        OfRepository("selva86/datasets", "Churn_Modelling.csv", ("Age", "Balance")),
        "selva86/datasets", grid=48, density=0.2, kind="sparse",
    ),
    _places(
        "dewpoints", "Temperatures and dew points at New York's airports", 26_114,
        OfRepository("tidyverse/nycflights13", "data-raw/weather.csv", ("temp", "dewp")),
        "nycflights13 (Iowa State University)", grid=80, density=0.9, kind="dense",
    ),
    _places(
        "masses", "Areas and grey levels of mammograms", 11_183,
        OfRepository("jbrownlee/Datasets", "mammography.csv", (0, 1)),
        "Woods and others 1993, by jbrownlee/Datasets", grid=56, density=0.65, kind="dense",
    ),
    _places(
        "players", "Offence and defence of basketball players", 19_159,
        OfRepository(
            "fivethirtyeight/data", "nba-raptor/historical_RAPTOR_by_player.csv",
            ("raptor_offense", "raptor_defense"),
        ),
        "fivethirtyeight/data (CC BY 4.0)", grid=72, density=0.05, kind="dense",
    ),
    _places(
        "motions", "Roll and pitch of dumbbells", 13_737,
        OfRepository("selva86/datasets", "har_train.csv", ("roll_dumbbell", "pitch_dumbbell")),
        "Velloso and others 2013, by selva86/datasets", grid=56, density=0.85, kind="dense",
    ),
    _places(
        "stains", "Intensities of cells in two channels", 2_019,
        OfRepository("selva86/datasets", "segmentationData.csv", ("AvgIntenCh1", "AvgIntenCh2")),
        "Hill and others 2007, by selva86/datasets", grid=32, density=0.05, kind="dense",
    ),
    _places(
        "airfields", "Airfields of the world", 7_698,
        OfRepository("jpatokal/openflights", "data/airports.dat", (7, 6)),
        "OpenFlights (ODbL)", grid=40, density=0.7,
    ),
    _places(
        "towns", "Cities of the world", 10_567,
        OfRepository(
            "bahar/WorldCityLocations", "World_Cities_Location_table.csv", (4, 3), separator=";"
        ),
        "bahar/WorldCityLocations", grid=48, density=0.8,
    ),
    _places(
        "plants", "Power plants of the world", 9_998,
        OfRepository(
            "wri/global-power-plant-database", "source_databases_csv/database_GEODB.csv",
            ("longitude", "latitude"),
        ),
        "Global Power Plant Database (World Resources Institute, CC BY 4.0)", grid=48,
        density=0.25,
    ),
    _places(
        "addresses", "Addresses in New Zealand", 10_000,
        OfRepository("Leaflet/Leaflet.markercluster", "example/realworld.10000.js", (1, 0)),
        "Land Information New Zealand, by Leaflet.markercluster", grid=48, density=0.65,
    ),
    _places(
        "surfers", "Places that surfers travel to", 9_511,
        OfRepository(
            "holtzy/data_to_viz", "Example_dataset/19_MapConnection.csv",
            ("travellon", "travellat"),
        ),
        "holtzy/data_to_viz", grid=48, density=0.85,
    ),
)  # fmt: skip

_KNOWN = ("wavecluster",)

SETS = (
    *(
        replace(one, known=_KNOWN) if one.grid and not one.seen else one
        for one in (*_FIRST, *_LATER, *_LAST, *_FRESH, *_NEWEST, *_NEXT, *_REST)
    ),
    *_FIFTH,
)

BY_NAME = {one.name: one for one in SETS}


# -- the rules ---------------------------------------------------------------------------

DENSITIES = tuple(round(0.05 * step, 2) for step in range(1, 19))


def grid_of(n: int) -> int:
    """Cells per axis of the rule."""
    return int(np.clip(8 * round((n / 4) ** 0.5 / 8), 32, 128))


def density_of(data: Dataset, classes: np.ndarray[Any, Any] | None, grid: int) -> float:
    """Density of the rule."""
    source = Grid.build(data, grid)
    found = []
    for density in DENSITIES:
        truth = Truth(source, Config(method="wavecluster", density=density))
        labels = source.label(source.points, truth.stages)
        if classes is None:
            found.append(int((np.bincount(labels[labels >= 0]) >= 0.01 * data.n).sum()))
        else:
            found.append(adjusted_rand(contingency(classes, labels + 1)))
    return DENSITIES[int(np.argmax(found))]


def main(given: str | None = None) -> None:
    """Print shape, grid and density of the rules, and class number, of each set that is here."""
    checkouts = folder(given)
    for one in SETS:
        try:
            data = one.source.read(checkouts)
            found = [one.name, data.points.shape]
            if isinstance(one.source, OfRepository) and data.ndim == 2:
                classes = one.source.classes(checkouts) if one.source.classed else None
                grid = grid_of(data.n)
                data = replace(data, domain=_range(data.points))
                found += [grid, density_of(data, classes, grid)]
            print(*found, flush=True)
        except MissingError as missing:
            print(one.name, missing, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
