"""Geographic files for exploring: files from GDAL are read; no other file or address is opened."""

import io
import random
import socketserver
import sqlite3
import struct
import subprocess
import sys
import threading
import zipfile
from contextlib import contextmanager

import geopandas
import numpy as np
import pytest
import shapely

from dpviz.base.errors import InputError
from dpviz.data.explore.layers import layer_names, read_layer
from dpviz.data.explore.rows import Options
from dpviz.data.reading.files import File
from tests.data.explore.test_objects import damaged
from tests.support.files import dbf, shp
from tests.support.tiers import daily

POINTS = [(1.0, 2.0), (3.0, 4.0), (-73.5, 40.25)]
FRAME = geopandas.GeoDataFrame(
    {"name": ["a", "b", "ü"], "n": [1, 2, 3], "v": [0.5, 1.5, 2.5]},
    geometry=[shapely.Point(one) for one in POINTS],
    crs=4326,
)
AREAS = geopandas.GeoDataFrame(geometry=[shapely.box(0, 0, 1, 1)], crs=4326)
GPX = """<?xml version="1.0"?><gpx version="1.1" creator="x">
<wpt lat="5" lon="6"><name>w</name></wpt>{}</gpx>"""
TRACK = '<trk><trkseg><trkpt lat="52.5" lon="13.25"/><trkpt lat="52.75" lon="13.5"/></trkseg></trk>'


def read(data, name="t.bin", **options):
    return read_layer(File(name, "layer", data, None), Options(**options))


def said(data, **options) -> str:
    with pytest.raises(InputError) as error:
        read(data, **options)
    assert len(str(error.value)) < 400
    return str(error.value)


def places(rows):
    return list(zip(*(one.to_pylist() for one in rows.columns[:2]), strict=True))


def values(rows):
    return dict(zip(rows.names, (one.to_pylist() for one in rows.columns), strict=True))


def zipped(files) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


#: Driver, file name, and endings of the files that are packed together.
FORMS = {
    "gpkg": ("GPKG", "a.gpkg", ()),
    "gpkg in zip": ("GPKG", "a.gpkg", (".gpkg",)),
    "fgb": ("FlatGeobuf", "a.fgb", ()),
    "kml": ("KML", "a.kml", ()),
    "kml of libkml": ("LIBKML", "b.kml", ()),
    "kmz": ("LIBKML", "a.kmz", ()),
    "gml": ("GML", "a.gml", ()),
    "sqlite": ("SQLite", "a.sqlite", ()),
    "shz": ("ESRI Shapefile", "a.shz", ()),
    "shapefile": ("ESRI Shapefile", "c.shp", (".shp", ".dbf", ".prj", ".cpg", ".shx")),
    "shapefile without index": ("ESRI Shapefile", "c.shp", (".shp", ".dbf", ".prj", ".cpg")),
}


def written(folder, form: str, frame=FRAME) -> bytes:
    driver, name, endings = FORMS[form]
    path = folder / name
    frame.to_file(path, driver=driver)
    if not endings:
        return path.read_bytes()
    parts = {f"places/{path.stem}{one}": path.with_suffix(one) for one in endings}
    return zipped({name: part.read_bytes() for name, part in parts.items() if part.exists()})


@pytest.mark.parametrize("form", FORMS)
def test_what_gdal_writes_is_read(tmp_path, form):
    data = written(tmp_path, form)
    rows = read(data)
    assert rows.names[:2] == ["lon", "lat"]
    assert places(rows) == POINTS
    found = values(rows)
    assert found.get("name", found.get("Name")) == ["a", "b", "ü"]
    assert [float(one) for one in found["v"]] == [0.5, 1.5, 2.5]
    assert [int(one) for one in found["n"]] == [1, 2, 3]
    assert rows.numbers().tolist() == [1, 2, 3]
    assert rows.notes == ()


@pytest.mark.parametrize(
    ("crs", "axes"),
    [(4269, ["lon", "lat"]), (4258, ["lon", "lat"]), (25832, ["x", "y"]), (None, ["lon", "lat"])],
)
@pytest.mark.parametrize("form", ["gpkg", "fgb", "shapefile"])
@pytest.mark.filterwarnings("ignore:'crs' was not provided")
def test_reference_systems(tmp_path, form, crs, axes):
    data = written(tmp_path, form, FRAME.set_crs(crs, allow_override=True))
    rows = read(data)
    assert rows.names[:2] == axes
    assert places(rows) == POINTS
    assert len(rows.notes) == (axes == ["x", "y"])


def test_points_of_gpx():
    rows = read(GPX.replace("<wpt", "<!--").replace("</wpt>", "-->").format(TRACK).encode())
    assert places(rows) == [(13.25, 52.5), (13.5, 52.75)]
    data = GPX.format(TRACK).encode()
    assert layer_names(File("t.gpx", "layer", data, None)) == ("waypoints", "track_points")
    assert '"waypoints", "track_points"' in said(data)
    assert places(read(data, part="waypoints")) == [(6.0, 5.0)]


def test_layers_of_a_geopackage(tmp_path):
    path = tmp_path / "a.gpkg"
    FRAME.to_file(path, layer="one")
    FRAME[:2].to_file(path, layer="two")
    AREAS.to_file(path, layer="areas")
    data = path.read_bytes()
    assert layer_names(File("a.gpkg", "layer", data, None)) == ("one", "two")
    assert '"one", "two"' in said(data)
    assert places(read(data, part="two")) == POINTS[:2]


def test_shapefiles_of_an_archive(tmp_path):
    data = written(tmp_path, "shapefile")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {one: archive.read(one) for one in archive.namelist()}
    both = zipped(files | {one.replace("c.", "d."): held for one, held in files.items()}
                  | {"__MACOSX/places/._c.shp": b"x", "readme.txt": b"x"})  # fmt: skip
    assert layer_names(File("t.zip", "layer", both, None)) == ("places/c.shp", "places/d.shp")
    assert "2 files of places" in said(both)
    assert places(read(both, part="places/d.shp")) == POINTS


def test_shapes_that_are_no_points(tmp_path):
    shapes = [shapely.Point(1, 2), shapely.LineString([(1, 2), (3, 4)]), None,
              shapely.MultiPoint([(5, 6), (7, 8)])]  # fmt: skip
    geopandas.GeoDataFrame({"n": [1, 2, 3, 4]}, geometry=shapes, crs=4326).to_file(
        tmp_path / "a.gpkg"
    )
    rows = read((tmp_path / "a.gpkg").read_bytes())
    assert values(rows)["n"] == [1, 3, 4, 4]
    assert rows.numbers().tolist() == [1, 3, 4, 4]
    assert np.isnan(places(rows)[1]).all()
    assert places(rows)[2:] == [(5, 6), (7, 8)]
    assert "Each feature that is not a point is left out: 1 feature." in rows.notes
    AREAS.to_file(tmp_path / "b.fgb", driver="FlatGeobuf")
    assert "Polygon" in said((tmp_path / "b.fgb").read_bytes())


def test_a_shapefile_whose_parts_do_not_fit(tmp_path):
    with zipfile.ZipFile(io.BytesIO(written(tmp_path, "shapefile"))) as archive:
        files = {one: archive.read(one) for one in archive.namelist()}
    cut = files | {"places/c.shp": files["places/c.shp"][:-8]}
    assert "incomplete" in said(zipped(cut))
    table = bytearray(files["places/c.dbf"])
    table[4:8] = struct.pack("<I", 2**31 - 1)
    assert "incomplete" in said(zipped(files | {"places/c.dbf": bytes(table)}))
    elsewhere = bytearray(files["places/c.shx"])
    elsewhere[100:104] = b"\x7f\xff\xff\xff"
    assert places(read(zipped(files | {"places/c.shx": bytes(elsewhere)}))) == POINTS


def test_columns_of_a_shapefile_stay_whatever_its_names_and_bytes():
    # 26 points need 828 bytes. The number 828 contains the byte of "<", as if the archive were XML.
    fields = [("", "C", 1), ("", "C", 1), ("icon", "C", 1)]
    table = dbf(fields, [[b"a", b"", b"c"]] * 26)
    rows = read(zipped({"p.shp": shp([[(1.0, 2.0)]] * 26), "p.dbf": table}))
    assert rows.names[2:] == ["", "", "icon"]
    assert [one[0].as_py() for one in rows.columns[2:]] == ["a", None, "c"]


def test_archives_made_to_fill_the_memory():
    assert "limit" in said(zipped({"a.kml": b"<kml>" + b" " * 2**28}))


def test_kml_that_would_fill_the_memory_is_refused_before():
    place = "<Placemark><Point><coordinates>1,2</coordinates></Point></Placemark>\n"
    kml = '<?xml version="1.0"?><kml><Document>{}</Document></kml>'
    assert "too large to read as KML" in said(kml.format(place * 1_000_000).encode())
    assert "too large to read as KML" in said(zipped({"a.kml": kml.format(place * 900_000)}))


@contextmanager
def listening():
    """A local address, and a list of the requests to it."""
    came = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            came.append(self.request.recv(99))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", came
        server.shutdown()


def asking(address: str, path) -> dict[str, bytes]:
    """Files that refer to an address or to another file."""
    near = '<?xml version="1.0"?>'
    return {
        "vrt": f"<OGRVRTDataSource><OGRVRTLayer name='a'><SrcDataSource>{address}"
               "</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>".encode(),
        "vrt in gpx": f"{near}<!-- <OGRVRTDataSource> --><gpx><OGRVRTDataSource>"
                      f"<OGRVRTLayer name='a'><SrcDataSource>{path}</SrcDataSource></OGRVRTLayer>"
                      "</OGRVRTDataSource></gpx>".encode(),
        "wfs": f"<OGRWFSDataSource><URL>{address}/wfs</URL></OGRWFSDataSource>".encode(),
        "gml": f'{near}<wfs:FeatureCollection xmlns:wfs="http://www.opengis.net/wfs" '
               'xmlns:gml="http://www.opengis.net/gml" xmlns:xsi="http://www.w3.org/2001/XMLSchema-'
               f'instance" xsi:schemaLocation="a {address}/wfs?SERVICE=WFS&amp;VERSION=1.1.0&amp;'
               'REQUEST=DescribeFeatureType&amp;TYPENAME=a"><gml:featureMember><a gml:id="a.1">'
               f'<gml:p xlink:href="{address}/x"/></a></gml:featureMember>'
               "</wfs:FeatureCollection>".encode(),
        "kml": f"{near}<kml><Document><NetworkLink><Link><href>{address}/a.kml</href></Link>"
               f"</NetworkLink><Placemark><styleUrl>{address}/s.kml#a</styleUrl></Placemark>"
               "</Document></kml>".encode(),
        "gml in utf-16": f'{near}<FeatureCollection xmlns:xsi="http://www.w3.org/2001/XMLSchema-'
                         f'instance" xsi:schemaLocation="a {address}/a.xsd"/>'.encode("utf-16"),
        "entity": f'<!DOCTYPE gpx [<!ENTITY a SYSTEM "{path}">]><gpx>&a;</gpx>'.encode(),
        "vrt in zip": zipped({"a.kml": f"<OGRVRTDataSource><OGRVRTLayer name='a'><SrcDataSource>"
                              f"{path}</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>"}),
    }  # fmt: skip


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", asking("", ""))
def test_nothing_is_fetched_and_no_other_file_opened(tmp_path, kind):
    other = tmp_path / "secret.csv"
    other.write_text("name,x,y\nsecret,1,2\n")
    with listening() as (address, came):
        assert "secret" not in said(asking(address, other)[kind])
        assert came == []


def test_virtual_tables_are_refused(tmp_path):
    path = tmp_path / "a.sqlite"
    FRAME.to_file(path, driver="SQLite")
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA writable_schema = 1")
        base.execute(
            "INSERT INTO sqlite_master VALUES ('table', 'v', 'v', 0, "
            "'CREATE VIRTUAL TABLE v USING VirtualText(''/etc/passwd'', utf-8)')"
        )
    base.close()
    assert "not a file of places" in said(path.read_bytes())


_LIMITED = """
import resource, sys
import pyogrio, shapely
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
from dpviz.data.explore.layers import read_layer
from dpviz.data.explore.rows import Options
from dpviz.data.reading.files import File
for path in sys.argv[1:]:
    print(read_layer(File("t", "layer", open(path, "rb").read(), None), Options()).rows)
"""


def test_nothing_is_written(tmp_path):
    paths = []
    for form in ("gpkg", "kmz", "gml", "shapefile"):
        paths.append(tmp_path / f"{form}.bin")
        paths[-1].write_bytes(written(tmp_path, form))
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, *paths], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["3"] * len(paths)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    return [*(written(folder, form) for form in FORMS), GPX.format(TRACK).encode()]


@pytest.mark.parametrize("seed", daily(range(100), lambda seed: seed < 3))
def test_damaged_bytes_are_read_or_refused_in_a_sentence(seeds, seed):
    chance = random.Random(seed)
    for _ in range(100):
        try:
            rows = read(damaged(chance.choice(seeds), chance))
        except InputError as error:
            assert len(str(error)) < 400  # noqa: PT017
            continue
        assert {len(one) for one in rows.columns} == {len(rows.numbers())}
        assert len(rows.names) == len(rows.columns)
