"""Workbooks, GeoJSON and shapefiles: what is read, and what is refused in one clear sentence."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.data.reading.files import MAX_BYTES
from dpviz.data.reading.read import read_counts, read_table, sheets_of
from dpviz.errors import InputError
from dpviz.formats import ACCEPTED, FORMATS, KINDS
from tests.support import ROOT
from tests.support.files import dbf, letters, sheet, shp, workbook, zipped
from tests.support.limits import limits

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
UTM = 'PROJCS["ETRS89 / UTM zone 32N",GEOGCS["ETRS89",DATUM["x"]]]'
DEGREES = 'GEOGCS["GCS_WGS_1984",DATUM["x"]]'


def book(*rows, after="", **more) -> bytes:
    return workbook({"points": sheet(rows, after)}, **more)


def feature(geometry, properties=None) -> dict:
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def point(*coordinates) -> dict:
    return {"type": "Point", "coordinates": list(coordinates)}


def collection(*features, **more) -> bytes:
    return json.dumps({"type": "FeatureCollection", **more, "features": features}).encode()


def shapefile(shapes, kind=1, fields=None, rows=(), stem="places/trees", **parts) -> bytes:
    made = {f"{stem}.shp": shp(shapes, kind)}
    if fields:
        made[f"{stem}.DBF"] = dbf(fields, rows)
    return zipped(made | {f"{stem}.{ending}": content for ending, content in parts.items()})


def said(data: bytes, name: str | None = None, **options) -> str:
    """The sentence of a refusal."""
    with pytest.raises(InputError) as caught, limits(len(data)):
        read_table(data, name=name, **options).select()
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert sentence.isprintable()
    assert len(sentence) <= 300
    return sentence


# -- the one list ------------------------------------------------------------------------


def test_the_kinds_of_files_are_listed_once():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert ACCEPTED in readme
    assert sorted(FORMATS) == sorted(one for _, _, endings in KINDS for one in endings)
    assert ACCEPTED == (
        "CSV, TSV, Excel (.xlsx), GeoJSON of points, zipped shapefile of points, Parquet or .npy, "
        "also gzipped"
    )


# -- workbooks ---------------------------------------------------------------------------

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
TEXTS = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, TEXTS), min_size=1, max_size=20))
def test_what_a_workbook_holds_is_read(rows):
    data = book(["x", "y", "who"], *rows)
    dataset = read_table(data).select(["x", "y"], classes="who")
    assert dataset.points.tolist() == [[x, y] for x, y, _ in rows]


def test_shared_texts_truth_values_errors_and_results_of_formulas():
    data = book(
        ["x", "y", "z"],
        [1, "<c><f>A2*2</f><v>2</v></c>", "<c t='s'><v>1</v></c>"],
        None,
        ["<c t='e'><v>#DIV/0!</v></c>", 2, True],
        [3, 4, "<c t='str'><f>LOWER(C2)</f><v>low</v></c>"],
        shared=["first", 'a "b"\tc\nd & <e>'],
    )
    table = read_table(data, name="t.xlsx")
    assert table.columns == ("x", "y", "z")
    assert table.select(["x", "y"]).points.tolist() == [[1, 2], [3, 4]]
    found = table.select(["y"], classes="z").classes
    assert set(found.names) == {'a "b" c d & <e>', "True", "low"}


def test_parts_of_rich_text_are_joined_and_its_pronunciation_left_out():
    rich = "<c t='inlineStr'><is><r><t>To</t></r><r><t>kyo</t></r><rPh><t>no</t></rPh></is></c>"
    table = read_table(book(["x", rich], [1, 2]))
    assert table.columns == ("x", "Tokyo")


@pytest.mark.parametrize(
    ("code", "number", "text"),
    [
        ("yyyy-mm-dd", 45352, "2024-03-01"),
        ("dd.mm.yyyy hh:mm", 45352.5, "2024-03-01 12:00:00"),
        ("[h]:mm", 0.25, "06:00:00"),
        ("d/m/yy", 59, "1900-02-28"),
        ("d/m/yy", 1e12, "1000000000000"),
        ('0.0" days"', 45352, "45352"),
        ("General", 45352, "45352"),
        ("[Red]#,##0", 45352, "45352"),
    ],
)
def test_dates_are_dates(code, number, text):
    dated = f"<c s='1'><v>{number!r}</v></c>"
    table = read_table(book(["x", "day"], [1, dated], [2, "end"], formats=[code]))
    assert table.select(["x"], classes="day").classes.names == (text, "end")


def test_empty_rows_and_columns_keep_the_numbers_of_the_others():
    data = book(None, None, ["", "x", "y"], [None, 1, 2], None, [None, "q", 4])
    with pytest.raises(InputError, match='row 6, column "x" holds "q"'):
        read_table(data).select(["x", "y"])


def test_a_sheet_without_names_is_read_like_such_a_file():
    table = read_table(book([1, 2], [3, 4, 5]))
    assert table.columns == ("column 1", "column 2", "column 3")
    assert table.rows == 2
    assert read_table(book(["a", 2], [3, 4]), header=False).rows == 2


def test_a_grid_of_counts_may_be_a_sheet():
    assert read_counts(book([1, 0], [0, 3])).counts.tolist() == [[1, 0], [0, 3]]


def test_the_sheet_is_named_where_several_hold_data():
    data = workbook(
        {
            "north": sheet([["x", "y"], [1, 2]]),
            "empty": sheet([]),
            "south & east": sheet([["x", "y"], [3, 4]]),
            "lists": sheet([["a"]]),
        },
        hidden=["lists"],
    )
    assert sheets_of(data) == ("north", "south & east")
    assert sheets_of(data, unreadable="missing") == ("north", "empty", "south & east")
    for unreadable in ("refuse", "missing"):
        table = read_table(data, sheet="south & east", unreadable=unreadable)
        assert table.select(unreadable=unreadable).points.tolist() == [[3, 4]]
    sentence = said(data, "survey.xlsx")
    assert '2 sheets: name the one to read, "north", "south & east"' in sentence
    assert "--sheet" in sentence
    assert "Sheet on the screen" in sentence
    assert 'sheet = "west"' in said(data, sheet="west")
    assert "Excel files alone" in said(b"x,y\n1,2\n", sheet="north")
    assert sheets_of(b"x,y\n1,2\n") == ()
    # Hidden lists do not ask anybody which sheet is meant.
    one = workbook({"a": sheet([["x"], [1]]), "b": sheet([["y"], [1]])}, hidden=["b"])
    assert read_table(one).columns == ("x",)


@pytest.mark.parametrize(
    ("data", "name", "fragments"),
    [
        (OLE + bytes(600), "t.xls", ("old Excel file (.xls)", "as .xlsx")),
        (
            OLE + "EncryptedPackage".encode("utf-16-le"),
            "t.xlsx",
            ("protected by a password", "save it again"),
        ),
        (
            book(["Survey 2024"], ["x", "y"], [1, 2]),
            None,
            ("row 2, column B", "row 1", "remove titles"),
        ),
        (
            book(
                ["place", None], [1, 2], after="<mergeCells><mergeCell ref='A1:B1'/></mergeCells>"
            ),
            None,
            ('row 2, column B of sheet "points"',),
        ),
        (
            book(["place", "y"], [1, 2], after="<mergeCells><mergeCell ref='A1:B1'/></mergeCells>"),
            None,
            ("merged cells", "A1:B1", "split them"),
        ),
        (
            book(["x", "y"], [1, "<c><f>A2+1</f></c>"]),
            None,
            ("row 2, column B", "formula", "save it again"),
        ),
        (zipped({"content.xml": "", "mimetype": "x"}), "t.ods", (".ods", "save it as .xlsx")),
        (zipped({"xl/workbook.bin": ""}), "t.xlsb", (".xlsb", "save it as .xlsx")),
        (zipped({"points.csv": "x,y\n1,2"}), "t.zip", ("archive without", "unpack it")),
        (book(["x", "y"], [1, 2])[:-40], "t.xlsx", ("no whole zip archive",)),
        (workbook({"a": sheet([])}), "t.xlsx", ("no sheet with data",)),
        (workbook({"a": "<worksheet><sheetData>"}), "t.xlsx", ("no workbook that can be read",)),
        (book(["x", "y"], [1, 2]), "t.csv", ("spreadsheet", "right ending")),
    ],
)
def test_workbooks_that_are_refused(data, name, fragments):
    sentence = said(data, name)
    for fragment in fragments:
        assert fragment in sentence, sentence


def test_no_record_of_a_workbook_refuses_a_release():
    uncomputed = "<c><f>A1*2</f></c>"
    data = book([1, uncomputed], [3, 4])
    table = read_table(data, name="t.xlsx", header="x,y", unreadable="missing")
    assert table.select(unreadable="missing").points.tolist() == [[3, 4]]
    beyond = "<row r='{0}'><c r='A{0}'><v>1</v></c><c r='B{0}'><v>2</v></c>"
    beyond += "<c r='XFD{0}'><v>9</v></c></row>"
    for header, number in (("x,y", 1), (None, 2)):
        names = "" if header else sheet([["x", "y"]]).partition("<sheetData>")[2].split("</she")[0]
        rows = names + beyond.format(number)
        data = workbook({"points": f"<worksheet><sheetData>{rows}</sheetData></worksheet>"})
        table = read_table(data, name="t.xlsx", header=header, unreadable="missing")
        assert table.select(unreadable="missing").points.tolist() == [[1, 2]]
    data = workbook({"points": f"<worksheet><sheetData>{beyond.format(1)}</sheetData></worksheet>"})
    assert "10,000" in said(data, "t.xlsx", unreadable="missing")  # the row of names is public


#: Rows that a sheet may have where the limit itself is not the matter: many, and soon read.
ROWS = 2**18


@cache
def bombs() -> list[bytes]:
    """Workbooks of a few bytes that stand for a gigabyte, or for any number of cells."""
    row = "<row><c><v>1</v></c></row>"
    far = "<worksheet><sheetData><row r='1'><c r='A1'><v>1</v></c></row><row r='1048576'>"
    far += "<c r='J1'><v>2</v></c></row></sheetData></worksheet>"
    wide = far.replace("J1", "XFD1")
    entity = '<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    long = "a" * 2**20
    few = sheet([["x"], ["<c t='s'><v>7</v></c>"]])
    shared = "<row>" + "<c t='s'><v>0</v></c>" * 9_000 + "</row>"
    return [
        workbook({"a": "<worksheet><sheetData>" + " " * 2**26}),
        workbook({"a": "<worksheet><sheetData>" + "<x/>" * 2**23}),
        workbook({"a": f"<worksheet><sheetData>{row * ROWS}{row}</sheetData></worksheet>"}),
        workbook({"a": far}),
        workbook({"a": wide}),
        workbook({"a": far.replace("'1048576'", "'99999999'")}),
        workbook({"a": far.replace("'1048576'", "'1'")}),
        workbook({"a": entity + "<worksheet><sheetData><row><c><v>&b;</v></c></row></sheetData>"}),
        workbook({"a": f"<worksheet x='{'y' * 2**26}'/>"}),
        workbook({"a": f"<worksheet><sheetData>{shared * 9}</sheetData>"}, shared=[long]),
        workbook({"a": few}),
        workbook({"a": sheet([["x"], ["<c t='s'><v>-1</v></c>"]])}),
        workbook({"a": few}, parts={"xl/sharedStrings.xml": "<sst>" + "<si/>" * 2**22}),
        zipped({f"{at}": "" for at in range(20_001)}),
    ]


@pytest.mark.some(2)
@pytest.mark.parametrize("number", range(14))
def test_workbooks_that_would_fill_the_memory(number, monkeypatch):
    data = bombs()[number]
    if number == 2:
        monkeypatch.setattr("dpviz.data.reading.spreadsheet.MAX_ROWS", ROWS)
    if number == 3:  # a million empty rows are read
        with limits(len(data)):
            assert len(read_table(data, name="t.xlsx").select(["column 1"]).points) == 1
    else:
        said(data, "t.xlsx")


@pytest.mark.parametrize("kind", ["shapes", "texts"])
def test_what_an_archive_unpacks_to_fits_into_the_memory(kind, monkeypatch):
    if kind == "shapes":
        data = zipped({"a.shp": shp([]), "a.dbf": bytes(2**25), "a.prj": b" " * 2**25})
    else:
        texts = "<sst>" + f"<si><t>{'a' * 2**15}</t></si>" * (2**10 + 2) + "</sst>"
        data = workbook({"a": sheet([["x"], [1]])}, parts={"xl/sharedStrings.xml": texts})
    # As if a file might take less: 64 MB in all, 32 MB of them for what is held.
    monkeypatch.setattr("dpviz.data.reading.files._MORE", 2**26 + 2**27)
    sentence = said(data, "t.zip" if kind == "shapes" else "t.xlsx")
    assert "more than 32." in sentence
    assert "fewer rows" in sentence


def test_an_entry_without_a_name_is_none():
    packed, nameless = io.BytesIO(), zipfile.ZipInfo("x")
    nameless.filename = ""
    with zipfile.ZipFile(packed, "w") as archive, archive.open(nameless, "w") as file:
        file.write(b"x,y\n1,2\n")
    assert "t.zip" in said(packed.getvalue(), "t.zip")


def test_a_large_sheet_is_read_in_bounds():
    random = np.random.default_rng(0).normal(size=(60_000, 3))
    data = book(["x", "y", "z"], *random.tolist())
    with limits(len(data)):
        assert read_table(data).select().points.tolist() == random.tolist()


def test_letters_of_columns():
    cells = {0: "A", 25: "Z", 26: "AA", 51: "AZ", 701: "ZZ", 702: "AAA"}
    assert {at: letters(at) for at in cells} == cells
    wide = [f"c{at}" for at in range(703)]
    assert read_table(book(wide, range(703))).columns == tuple(wide)
    assert "column AAB of" in said(book(wide, range(704)))


# -- GeoJSON -----------------------------------------------------------------------------

VALUES = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | NUMBERS | TEXTS


@given(
    st.lists(
        st.tuples(NUMBERS, NUMBERS, st.dictionaries(st.sampled_from("abcd"), VALUES)),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from([None, 1, "lines"]),
)
def test_points_and_properties_of_geojson_are_read(rows, layout):
    features = [feature(point(x, y), properties) for x, y, properties in rows]
    if layout == "lines":
        data = "\n".join(map(json.dumps, features)).encode()
    else:
        whole = {"type": "FeatureCollection", "features": features}
        data = json.dumps(whole, indent=layout, ensure_ascii=layout is None).encode()
    table = read_table(data, name="t.geojson")
    assert table.columns[:2] == ("lon", "lat")
    assert set(table.columns[2:]) == {name for *_, properties in rows for name in properties}
    assert table.select(["lon", "lat"]).points.tolist() == [[x, y] for x, y, _ in rows]


def test_every_way_to_write_points():
    ways = [
        collection(feature(point(1, 2)), feature({"type": "MultiPoint", "coordinates": [[3, 4]]})),
        json.dumps({"type": "GeometryCollection", "geometries": [point(1, 2), point(3, 4)]}),
        json.dumps({"type": "MultiPoint", "coordinates": [[1, 2, 9], [3, 4]]}),
        json.dumps(
            feature({"type": "GeometryCollection", "geometries": [point(1, 2), point(3, 4)]})
        ),
        '{"features": [' + json.dumps(feature(point(1, 2))) + ",\n"
        '{"geometry": {"coordinates": [3e0, 4], "type": "Point"}, "type": "Feature"} ] , '
        '"type": "FeatureCollection"}',
    ]
    for way in ways:
        data = way if isinstance(way, bytes) else way.encode()
        for name in ("t.geojson", "t.json", None):
            assert read_table(data, name=name).select().points.tolist() == [[1, 2], [3, 4]], way


def test_long_features_are_read_whole():
    for size in (4_000, 4_096, 5_000, 300_000):
        text = "ä" * (size // 2) + "x" * (size % 2)
        data = json.dumps(
            {"type": "FeatureCollection", "features": [feature(point(12345678, 2), {"t": text})]},
            ensure_ascii=False,
        ).encode()
        table = read_table(data, name="t.geojson")
        assert table.select(["lon"], classes="t").classes.names == (text,)
        assert table.select(["lon"]).points.tolist() == [[12345678]]


def test_coordinates_of_another_system_are_x_and_y():
    named = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::25832"}}
    table = read_table(collection(feature(point(5e5, 6e6)), crs=named))
    assert table.columns == ("x", "y")
    assert "EPSG::25832" in table.notes[0]
    for name in ("urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326", "urn:ogc:def:crs:EPSG::4326"):
        named["properties"]["name"] = name
        assert read_table(collection(feature(point(1, 2)), crs=named)).columns == ("lon", "lat")


def test_no_record_tells_a_release_which_columns_there_are():
    line = {"type": "LineString", "coordinates": [[1, 2], [3, 4]]}
    first = collection(feature(point(1, 2), {"a": 1}), feature(point(3, 4), {"b": 1}))
    other = collection(feature(point(1, 2), {"a": 1}), feature(line, {"c": [1]}))
    tables = [read_table(data, name="t.geojson", unreadable="missing") for data in (first, other)]
    assert [table.columns for table in tables] == [("lon", "lat")] * 2
    note = "Each point is a record by itself, also of a MultiPoint."
    assert [table.notes for table in tables] == [(note,)] * 2
    selected = [table.select(unreadable="missing").points.tolist() for table in tables]
    assert selected == [[[1, 2], [3, 4]], [[1, 2]]]


def test_no_record_renames_the_columns_of_a_release():
    crs = {"type": "name", "properties": {"name": "EPSG:25832"}}
    one, other = feature(point(1, 2)), feature(point(3, 4)) | {"crs": crs}
    data = b"\n".join(json.dumps(record).encode() for record in (one, other))
    assert read_table(data, name="t.geojson", unreadable="missing").columns == ("lon", "lat")
    assert read_table(data, name="t.geojson").columns == ("x", "y")
    data = collection(one, crs=crs)
    assert read_table(data, name="t.geojson", unreadable="missing").columns == ("x", "y")
    # What stands in the first object is the file's own; in others it is a record's.
    lines = [collection(one), data]
    columns = [
        read_table(b"\n".join(objects), name="t.geojson", unreadable="missing").columns
        for objects in (lines, lines[::-1], [json.dumps(one).encode(), data])
    ]
    assert columns == [("lon", "lat"), ("x", "y"), ("lon", "lat")]


@pytest.mark.parametrize("more", [{}, {"name": "EPSG:25832"}, {"name": [1]}])
def test_a_record_is_no_reference_system(more):
    data = collection(feature(point(1, 2)), {"type": "Crs"} | more)
    released = read_table(data, name="t.geojson", unreadable="missing")
    assert released.columns == ("lon", "lat")
    assert released.select(unreadable="missing").points.tolist() == [[1, 2]]
    with pytest.raises(InputError, match=r'feature 2 of t\.geojson .*"Crs"'):
        read_table(data, name="t.geojson")


INSIDE = b'{"type": "Feature", "geometry": {"type": "Point", "coordinates": [%b, 0.5]}, '
INSIDE += b'"properties": {"a": %b}}'


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(INSIDE % (b"0.5", b"[" * 3000 + b"]" * 3000), id="deep lists"),
        pytest.param(
            INSIDE % (b"0.5", b'{"b": "}" , "c":' * 1200 + b"1" + b"}" * 1200), id="deep objects"
        ),
        pytest.param(INSIDE % (b"0.5", b'"%b"' % (b'x\\\\\\"]' * 3_000_000)), id="long"),
        pytest.param(INSIDE % (b"0.5", b"1" * 5000), id="digits"),
        pytest.param(INSIDE % (b"1" * 5000, b"1"), id="far"),
        pytest.param(b"[" * 2000 + b'"]"' + b"]" * 2000, id="no feature"),
        pytest.param(b"1" * 20_000_000, id="long number"),
    ],
)
def test_one_odd_feature_decides_nothing_about_a_release(odd):
    plain = [feature(point(x, 0.5), {}) for x in (0.25, 0.75)]
    for at in (0, 1, 2):
        data = collection(*plain[:at], "ODD", *plain[at:]).replace(b'"ODD"', odd)
        table = read_table(data, name="t.geojson", unreadable="missing")
        found = table.select(("lon", "lat"), unreadable="missing").points.tolist()
        assert [one for one in found if one in ([0.25, 0.5], [0.75, 0.5])] == [
            [0.25, 0.5],
            [0.75, 0.5],
        ]
        assert len(found) <= 3


@pytest.mark.parametrize(
    ("data", "fragments"),
    [
        (
            collection(
                feature(point(1, 2)), feature({"type": "LineString", "coordinates": [[1, 2]]})
            ),
            ("feature 2", "LineString", "Centroids"),
        ),
        (
            collection(feature({"type": "Polygon", "coordinates": []})),
            ("feature 1", "Polygon", "only points"),
        ),
        (collection(feature(point(1))), ("feature 1", "[1]", "two numbers")),
        (collection(feature(point("1", "2"))), ("feature 1", "two numbers")),
        (collection(feature(point(True, 2))), ("feature 1", "two numbers")),
        (collection(7), ("feature 1", '"7"')),
        (collection(), ("no point",)),
        (b'{"type": "FeatureCollection",\n"features": [{}, ]}', ("feature 1",)),
        (collection(feature(point(1, 2)))[:-9], ("line 1", "write it again")),
        (b'{"type": "Topology", "objects": {}}', ("no geometry", "Topology")),
        (b"[1, 2]", ("line 1",)),
        (b'{"type": ' + b"[" * 10**6, ("line 1",)),
        (b'{"a": ' * 10**5, ("line 1",)),
        (collection(feature(point(1, 2), {"a": "x" * 2**25})), ("more than 16 MB",)),
        (b'{"type": "\xff"}', ("UTF-8",)),
    ],
)
def test_geojson_that_is_refused(data, fragments):
    sentence = said(data, "t.geojson")
    for fragment in fragments:
        assert fragment in sentence, sentence


def test_a_property_of_each_feature_does_not_fill_the_memory():
    many = collection(*(feature(point(at, 1), {f"p{at}": 1}) for at in range(2_000)))
    with limits(len(many)):
        assert len(read_table(many, name="t.geojson").columns) == 2_002
    more = collection(*(feature(point(at, 1), {f"p{at}": 1}) for at in range(11_000)))
    assert "10,000" in said(more, "t.geojson")


# -- shapefiles --------------------------------------------------------------------------

FIELDS = [("id", "N", 4), ("kind", "C", 6), ("day", "D", 8), ("old", "L", 1)]


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1), st.sampled_from([1, 11, 21]))
def test_points_of_shapefiles_are_read(points, kind):
    data = shapefile([[one] for one in points], kind, prj=DEGREES)
    table = read_table(data, name="t.zip")
    assert table.columns == ("lon", "lat")
    assert table.select().points.tolist() == [list(one) for one in points]


def test_attributes_are_columns_and_deleted_records_take_their_point_along():
    rows = [
        [b"   1", "é".encode("latin-1"), b"20240301", b"T"],
        [b"*", b"2", b"b", b"", b"?"],
        [b"****", b"c", b"", b"F"],
    ]
    data = shapefile([[(1, 2)], [(3, 4)], [(5, 6)]], fields=FIELDS, rows=rows, prj=UTM)
    table = read_table(data, name="t.zip")
    assert table.columns == ("x", "y", "id", "kind", "day", "old")
    assert "projected (ETRS89 / UTM zone 32N)" in table.notes[0]
    assert table.select(["x", "y"]).points.tolist() == [[1, 2], [5, 6]]
    assert table.select(["x", "y", "id"]).points.tolist() == [[1, 2, 1]]
    for column, names in {
        "kind": {"c", "é"},
        "day": {"2024-03-01", "none"},
        "old": {"False", "True"},
    }.items():
        assert set(table.select(["x"], classes=column).classes.names) == names


def test_code_pages_of_shapefiles():
    for code_page, encoding in (("UTF-8", "utf-8"), ("1250", "cp1250"), ("65001", "utf-8")):
        rows = [["Łódź".encode(encoding)]]
        data = shapefile([[(1, 2)]], fields=[("c", "C", 9)], rows=rows, cpg=code_page)
        table = read_table(data, name="t.zip")
        assert table.select(["x"], classes="c").classes.names == ("Łódź",)


@pytest.mark.parametrize("code_page", ["idna", "punycode", "rot13", "unicode_escape", "utf-7", "?"])
def test_other_code_pages_are_read_byte_by_byte(code_page):
    rows = [["é.ü".encode("latin-1")]]
    data = shapefile([[(1, 2)]], fields=[("c", "C", 80)], rows=rows, cpg=code_page)
    table = read_table(data, name="t.zip")
    assert table.select(["x"], classes="c").classes.names == ("é.ü",)


def test_many_points_of_one_shape_are_rows_and_none_is_missing():
    data = shapefile([[(1, 2), (3, 4)], None, []], 8)
    table = read_table(data, name="t.zip")
    assert table.select().points.tolist() == [[1, 2], [3, 4]]
    assert "no .prj file" in table.notes[0]
    assert "1 MultiPoint" in table.notes[1]


def test_a_release_of_a_shapefile_reads_each_record_by_itself():
    rows = [[b"1", b"a"], [b"x", b"b"]]
    data = shapefile([[(1, 2)], [(3, 4)]], fields=FIELDS[:2], rows=rows, prj=DEGREES)
    table = read_table(data, name="t.zip", unreadable="missing")
    assert table.columns == ("lon", "lat", "id", "kind")
    assert "Each point is a record by itself" in table.notes[0]
    assert table.select(["lon", "id"], unreadable="missing").points.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("data", "fragments"),
    [
        (shapefile([], 3), ("lines", "Centroids")),
        (shapefile([], 15), ("areas", "only points")),
        (shapefile([[(1, 2)]], fields=FIELDS, rows=[]), ("fit together", "one .zip")),
        (shapefile([], fields=FIELDS[:1], rows=[[b"1"]]), ("fit together",)),
        (zipped({"a.shp": shp([[(1, 2)]])[:-4]}), ("not whole",)),
        (zipped({"a.shp": b"x" * 300}), ("not whole",)),
        (zipped({"a.shp": b"", "b.shp": b""}), ('2 shapefiles, "a.shp", "b.shp"',)),
        (zipped({"a.shp": shp([[(1, 2)]]), "a.dbf": b"\3" * 40}), ("not whole",)),
        (zipped({"a.shp": shp([]) + bytes(2**26)}), ("not whole",)),
        (zipped({"a.shp": shp([]) + bytes(2**27)}), ("unpacked", "fewer rows")),
    ],
)
def test_shapefiles_that_are_refused(data, fragments):
    sentence = said(data, "t.zip")
    for fragment in fragments:
        assert fragment in sentence, sentence


# -- the same points in every format -----------------------------------------------------


def test_every_format_gives_the_same_points():
    rows = [(1.5, 2.25, "a"), (-3.0, 4e-7, 'b "c", d')]
    text = io.StringIO()
    csv.writer(text).writerows([("lon", "lat", "kind"), *rows])
    files = {
        "t.csv": text.getvalue().encode(),
        "t.xlsx": book(["lon", "lat", "kind"], *rows),
        "t.geojson": collection(*(feature(point(x, y), {"kind": kind}) for x, y, kind in rows)),
        "t.zip": shapefile(
            [[(x, y)] for x, y, _ in rows],
            fields=[("kind", "C", 9)],
            rows=[[kind.encode()] for *_, kind in rows],
            prj=DEGREES,
        ),
    }
    for name, data in files.items():
        table = read_table(data, name=name, max_bytes=MAX_BYTES)
        assert table.columns == ("lon", "lat", "kind"), name
        dataset = table.select(["lon", "lat"], unit="kind")
        assert dataset.points.tolist() == [[1.5, 2.25], [-3, 4e-7]], name
        assert dataset.units.tolist() == ["a", 'b "c", d'], name
