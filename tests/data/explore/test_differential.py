"""Files that other programs write with many options: each value is read correctly or refused."""

from __future__ import annotations

import csv
import io
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from dpviz.base.errors import InputError
from dpviz.data.reading.read import read_table

#: Number of tables per test: every day, and in the exhaustive tier (all writers: over 3,000).
DAILY, ALL = 4, 200

WORDS = ["Köln", "a b", "x, y", 'the "old" mill', "two\nlines", "0x1"]

Rng = np.random.Generator


def table_of(rng: Rng) -> pd.DataFrame:
    """A data frame with places, a count, a word, a day and missing values."""
    rows = int(rng.integers(3, 60))
    frame = pd.DataFrame(
        {
            # If all points were near 180 degrees, 360 would be added to some longitudes.
            "lon": rng.uniform(-89, 179, rows).round(int(rng.integers(1, 9))),
            "lat": rng.uniform(-89, 89, rows).round(int(rng.integers(1, 9))),
            "n": rng.integers(0, 5000, rows),
            "word": rng.choice(
                ["Köln", "a b", "x, y", 'the "old" mill', "two\nlines", "0x1"], rows
            ),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, rows), "D"),
        }
    )
    if rng.random() < 0.5:
        frame.loc[rng.random(rows) < 0.2, "lat"] = np.nan
    return frame[list(rng.permutation(frame.columns))]


def by_pandas(frame: pd.DataFrame, rng: Rng) -> tuple[bytes, str, dict[str, Any]]:
    sep, decimal = [(",", "."), (";", ","), ("\t", "."), ("|", "."), (";", "."), ("\t", ",")][
        rng.integers(6)
    ]
    encoding = ["utf-8", "utf-8-sig", "utf-16", "cp1252"][rng.integers(4)]
    text = frame.to_csv(
        sep=sep, decimal=decimal, index=bool(rng.integers(2)),
        na_rep=["", "NA", "-", "null"][rng.integers(4)],
        quoting=[csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC][rng.integers(3)],
        lineterminator=["\n", "\r\n"][rng.integers(2)],
    )  # fmt: skip
    return text.encode(encoding), "t.csv", {}


def by_arrow(frame: pd.DataFrame, rng: Rng) -> tuple[bytes, str, dict[str, Any]]:
    stream = io.BytesIO()
    options = pyarrow.csv.WriteOptions(
        quoting_style=["needed", "all_valid"][rng.integers(2)], delimiter=",;\t"[rng.integers(3)]
    )
    pyarrow.csv.write_csv(pa.Table.from_pandas(frame, preserve_index=False), stream, options)
    return stream.getvalue(), "t.csv", {}


def as_parquet(frame: pd.DataFrame, rng: Rng) -> tuple[bytes, str, dict[str, Any]]:
    stream = io.BytesIO()
    pq.write_table(
        pa.Table.from_pandas(frame), stream, use_dictionary=bool(rng.integers(2)),
        compression=["none", "snappy", "gzip", "zstd"][rng.integers(4)],
        data_page_version=["1.0", "2.0"][rng.integers(2)], row_group_size=int(rng.integers(1, 40)),
        use_byte_stream_split=False,
    )  # fmt: skip
    return stream.getvalue(), "t.parquet", {}


def as_feather(frame: pd.DataFrame, rng: Rng) -> tuple[bytes, str, dict[str, Any]]:
    stream = io.BytesIO()
    packing = ["uncompressed", "lz4", "zstd"][rng.integers(3)]
    pyarrow.feather.write_feather(frame, stream, compression=packing)
    return stream.getvalue(), "t.feather", {}


def as_json(frame: pd.DataFrame, rng: Rng) -> tuple[bytes, str, dict[str, Any]]:
    how = [
        {"orient": "records"}, {"orient": "records", "lines": True}, {"orient": "split"},
        {"orient": "list"}, {"orient": "records", "indent": 2},
    ][rng.integers(5)]  # fmt: skip
    if how["orient"] == "list":
        import json

        plain = frame.astype(object).where(frame.notna(), None).assign(day=frame["day"].astype(str))
        return json.dumps(plain.to_dict("list")).encode(), "t.json", {}
    text = frame.to_json(
        **how, date_format="iso", double_precision=15, force_ascii=bool(rng.integers(2))
    )
    return text.encode(), "t.jsonl" if "lines" in how else "t.json", {}


def as_workbook(frame: pd.DataFrame, rng: Rng) -> tuple[bytes, str, dict[str, Any]]:
    stream = io.BytesIO()
    top, left = int(rng.integers(0, 4)), int(rng.integers(0, 3))
    with pd.ExcelWriter(stream, engine="openpyxl") as writer:
        frame.to_excel(writer, sheet_name="a", index=False, startrow=top, startcol=left)
    return stream.getvalue(), "t.xlsx", {}


def as_places(frame: pd.DataFrame, rng: Rng) -> tuple[bytes, str, dict[str, Any]]:
    driver, name = [("GeoJSON", "t.geojson"), ("GPKG", "t.gpkg"), ("FlatGeobuf", "t.fgb"),
                    ("GeoJSONSeq", "t.geojsonl"), ("KML", "t.kml")][rng.integers(5)]  # fmt: skip
    known = frame.dropna()
    points = geopandas.points_from_xy(known["lon"], known["lat"], crs="EPSG:4326")
    table = geopandas.GeoDataFrame(known[["n"]].reset_index(drop=True), geometry=points)
    stream = io.BytesIO()
    table.to_file(stream, driver=driver)
    return stream.getvalue(), name, {"digits": 7 if "geojson" in name else 14}


def as_geoparquet(frame: pd.DataFrame, rng: Rng) -> tuple[bytes, str, dict[str, Any]]:
    known = frame.dropna()
    points = geopandas.points_from_xy(known["lon"], known["lat"], crs="EPSG:4326")
    stream = io.BytesIO()
    encoding = ["WKB", "geoarrow"][rng.integers(2)]
    geopandas.GeoDataFrame(known[["n"]], geometry=points).to_parquet(
        stream, geometry_encoding=encoding
    )
    return stream.getvalue(), "t.parquet", {}


def by_numpy(frame: pd.DataFrame, rng: Rng) -> tuple[bytes, str, dict[str, Any]]:
    stream, points = io.BytesIO(), frame[["lon", "lat"]].to_numpy()
    how = rng.integers(4)
    if how == 0:
        np.savetxt(stream, points, delimiter=[" ", ",", "\t"][rng.integers(3)], header="lon lat")
        return stream.getvalue(), "t.txt", {"columns": [1, 2]}
    if how == 1:
        np.save(stream, points)
        return stream.getvalue(), "t.npy", {"columns": [1, 2]}
    if how == 2:
        np.savez(stream, lon=points[:, 0], lat=points[:, 1])
        return stream.getvalue(), "t.npz", {}
    np.savez_compressed(stream, points=points, n=frame["n"].to_numpy())
    return stream.getvalue(), "t.npz", {"columns": [1, 2]}


WRITERS: dict[str, Callable[[pd.DataFrame, Rng], tuple[bytes, str, dict[str, Any]]]] = {
    "pandas": by_pandas, "arrow": by_arrow, "parquet": as_parquet, "feather": as_feather,
    "json": as_json, "workbook": as_workbook, "places": as_places, "geoparquet": as_geoparquet,
    "numpy": by_numpy,
}  # fmt: skip

#: Largest share of a writer's tables that may be refused because they are ambiguous.
REFUSED = {"pandas": 0.1}


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if anything opens a network connection."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("somebody asks the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("many", [DAILY, pytest.param(2 * ALL, marks=pytest.mark.exhaustive)])
def test_values_are_read_back_or_refused(writer: str, many: int) -> None:
    rng, refused = np.random.default_rng(11), []
    for case in range(many):
        frame = table_of(rng)
        data, name, how = WRITERS[writer](frame, rng)
        try:
            found = read_table(data, name=name).select(how.get("columns", ["lon", "lat"]))
        except InputError as error:
            refused.append((case, str(error), data[:400]))
            continue
        expected = frame[["lon", "lat"]].dropna().to_numpy()
        assert found.points is not None
        if name == "t.fgb":  # FlatGeobuf sorts places by neighbourhood
            found = replace(found, points=found.points[np.lexsort(found.points.T)])
            expected = expected[np.lexsort(expected.T)]
        assert found.points.shape == expected.shape, (case, name, found.notes, data[:400])
        exact = how.get("digits", 17) > 15
        if exact:
            assert np.array_equal(found.points, expected), (case, name, data[:400])
        else:
            assert np.allclose(found.points, expected, rtol=0, atol=10.0 ** -how["digits"])
    assert len(refused) <= max(1, REFUSED.get(writer, 0) * many), refused
