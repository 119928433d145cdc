"""The sets of ``make bench-utility``, which are named before a new method's constants are fixed.

The file ``sets.toml`` lists the sets. A row has the fields of :class:`BenchSet` and of its source;
if it has no title, the title is the name. One row means all samples of the app.

We may have looked at sets with ``seen`` while we chose constants of any method, and at sets with
``known`` while we chose constants of the families in ``known``. Grid, density and number of
clusters are public choices that are made without noise. These choices are the same for all methods:

* A grid has about four records per cell. The number of cells per side is a multiple of 8 from 32 to
128.
* The density is one of .05, .1, ..., .9. If the set has classes, it is the density with which
WaveCluster without noise agrees best with them (ARI); otherwise the density with the largest number
of clusters of at least 1% of the records. If two densities are equally good, the smaller density is
chosen.
* The number of clusters is the number of known classes. For sets without classes this number is 15,
or 25 above 100,000 records.

When Two-stage was last changed, all sets except the last twenty were ``known`` to WaveCluster. Each
time that all constants of Two-stage were fixed, twenty new sets of at least 1,000 records were
named (five thin, five sparse, five dense, five geographic). No method had run on them, and they
were used once. A cell is a set at one epsilon:

* First twenty sets: 103 of 120 cells were won. Two-stage was changed with sets with ``seen`` only.
* Second twenty: 109 cells were won. Two-stage was changed with all sets so far. One set, birch-rg1,
has the records of birch1 in other units.
* Third twenty: 113 cells were won, and one cell was a tie. Two-stage was changed with all sets so
far. One set, strong, had the same records as the set earthquakes and was removed; of the other 19
sets, 107 of 114 cells were won.
* Fourth twenty: 115 cells were won. But four sets share records with known sets (spiral with
spiralsquare, 2d-4c with 2d-10c, smile1 and donut1 with dartboard1); of the other 16 sets, 91 of 96
cells were won. Then generated data showed that pools are biased where some counts are low. Pools
are no longer used for low counts, and 91 of 96 cells were won again. Other sets replaced these four
sets, and 15 of their 24 cells were won: all cells of long1, all cells except one of cassini, cells
of fourty (25 records in each of 40 clusters) from epsilon 0.5 on, and one cell of circle (evenly
spread records). No set of the twenty shares a fifth of its records with another set. Two-stage was
changed with all sets so far.
* Fifth twenty: all records are real, from repositories that were not used before. No set shares a
fifth of its records with another set, as ``tests/experiments/test_bench_utility.py`` checks. 118 of
120 cells are won; stains at epsilon 0.05 and polls at epsilon 0.1 are lost.

The reference sets have the choices of the papers, and the samples have their own choices. The box
of a set is the range of its records, which is public for all methods; samples have a declared box.
``python -m tests.benchmarks.sets`` prints the results of these rules for each available set.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
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

#: Environment variable for the folder with checkouts of the repositories of sets and peers.
VARIABLE = "DPVIZ_CHECKOUTS"

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "data"


class MissingError(Exception):
    """Error if a set or a peer is not on this machine; the message gives the reason."""


class Source(Protocol):
    """Source of the records of a set."""

    def read(self, checkouts: Path | None) -> Dataset:
        """Read the records, or raise MissingError."""
        ...

    @property
    def classed(self) -> bool:
        """Whether the records have known classes."""
        ...

    def classes(self, checkouts: Path | None) -> np.ndarray[Any, Any]:
        """Known classes in the order of ``read``, whole numbers from 0 on."""
        ...


@dataclass(frozen=True, kw_only=True)
class BenchSet:
    """A set of the benchmark.

    Parameters
    ----------
    name, title
        Key in tables; name on the screen.
    kind
        Thin, sparse, dense, geographic, mixture or measured.
    seen
        Whether constants of both families may have been chosen on this set.
    n, ndim
        Records and columns; checked when the set is read.
    source
        Source of the records.
    credit
        Authors of the data, with the licence if it is stated.
    grid, density
        Cells per axis and p for WaveCluster; None if that family does not run on the set.
    clusters
        K for k-means; None if that family does not run on the set.
    known
        Further families whose results on the set were known when one of their methods was last
        changed, so that their constants may have been chosen on it, too.
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
    """Range of the records; if a column has only one value, its range is widened."""
    lows, highs = points.min(axis=0), points.max(axis=0)
    flat = highs <= lows
    return Domain(tuple(zip((lows - flat).tolist(), (highs + flat).tolist(), strict=True)))


@dataclass(frozen=True)
class Reference:
    """A file of the papers' reference data, and the column of its classes."""

    file: str
    column: str | None = None

    def read(self, checkouts: Path | None) -> Dataset:
        points = self._table().drop(columns=[self.column] if self.column else [])
        # Some files list their records class by class, so the order would reveal the answer.
        return _shuffled(points.to_numpy(dtype=float))

    @property
    def classed(self) -> bool:
        return self.column is not None

    def classes(self, checkouts: Path | None) -> np.ndarray[Any, Any]:
        codes = pd.factorize(self._table()[self.column])[0]
        return codes[_order(len(codes))]

    def _table(self) -> pd.DataFrame:
        path = REFERENCE / self.file
        if not path.exists():
            raise MissingError(f"reference data {self.file} is not here.")
        return pd.read_csv(path, header=0 if self.file.endswith(".gz") else None)


@dataclass(frozen=True)
class OfSamples:
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

    ``columns`` are names, or positions in a list or in a table without names; ``separator``
    separates the columns of a table. ``repeat`` is the column with the number of records that a
    line represents. ``places`` is the column with a place, or with a list of places; a record is
    the first two numbers of a place. ``unclassed`` means that the file has no classes, although its
    format can have them.
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
    """Lines of an ARFF file; the column names are the positions of its attributes."""
    lines = content.decode("latin-1").splitlines()
    begin = next(at for at, line in enumerate(lines) if line.strip().lower() == "@data")
    rows = io.StringIO("\n".join(lines[begin + 1 :]))
    return pd.read_csv(rows, header=None, comment="%", skipinitialspace=True)


def _listed(places: pd.Series[Any]) -> pd.DataFrame:
    """One line for each place in a column whose cells are places or lists of places."""
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
        """Records, and the number of the Gaussian of each record."""
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
    return Dataset(name="", points=np.ascontiguousarray(points[_order(len(points))]))


def checkout(checkouts: Path | None, repository: str) -> Path:
    """Path of a checkout of a repository ("owner/name") in a folder of checkouts.

    The checkout may be called ``owner+name/repo``, ``owner+name``, ``owner/name`` or ``name``.

    Raises
    ------
    MissingError
        If there is no such checkout.
    """
    if checkouts is None:
        raise MissingError(f"{repository} needs a folder of checkouts: give --checkouts FOLDER.")
    owner, name = repository.split("/")
    for place in (f"{owner}+{name}/repo", f"{owner}+{name}", repository, name):
        if (checkouts / place).is_dir():
            return checkouts / place
    raise MissingError(f"no checkout of {repository} is in the folder of checkouts.")


def contents(checkouts: Path | None, repository: str, file: str) -> bytes:
    """Content of a file in a checkout (bare or not); MissingError if the file does not exist."""
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
    """Folder of checkouts, from the option or from the environment variable."""
    found = given or os.environ.get(VARIABLE)
    return Path(found) if found else None


# -- the list ----------------------------------------------------------------------------


def _read(path: Path) -> Iterator[BenchSet]:
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["sets"]:
        if row.get("samples"):
            yield from map(_of_sample, sample_names())
        else:
            known = tuple(row.pop("known", ()))
            given = {"title": row["name"], "seen": False} | row | {"source": _source(row["source"])}
            yield BenchSet(**given, known=known)


def _of_sample(name: str) -> BenchSet:
    known = sample(name)
    return BenchSet(
        name=name, title=known.title, kind="sample", seen=True, n=known.n, ndim=2,
        source=OfSamples(name), credit=known.credit, grid=known.grid, density=known.density,
        clusters=max(known.clusters, 2),
    )  # fmt: skip


def _source(given: dict[str, Any]) -> Source:
    """Source with these fields. If only one class has a field, this field decides the class."""
    if "repository" in given:
        return OfRepository(**given | {"columns": tuple(given.get("columns", ()))})
    return Mixture(**given) if "seed" in given else Reference(**given)


SETS = tuple(_read(Path(__file__).with_suffix(".toml")))

BY_NAME = {one.name: one for one in SETS}


# -- the rules ---------------------------------------------------------------------------

DENSITIES = tuple(round(0.05 * step, 2) for step in range(1, 19))


def grid_of(n: int) -> int:
    """Cells per axis by the rule in this module's docstring."""
    return int(np.clip(8 * round((n / 4) ** 0.5 / 8), 32, 128))


def density_of(data: Dataset, classes: np.ndarray[Any, Any] | None, grid: int) -> float:
    """Density by the rule above."""
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
    """Print shape, grid, density and number of clusters of each available set."""
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
