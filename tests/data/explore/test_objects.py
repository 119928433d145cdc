"""JSON and GeoJSON for exploring: the values in the file, or an error message."""

import json
import math
import random
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.data.explore.objects import _Text, read_objects
from dpviz.data.explore.rows import Options
from dpviz.data.reading.files import File
from tests.support.tiers import daily

RECORDS = [
    {"id": 1, "lon": 1.5, "lat": 1.25, "n": "a", "ok": True},
    {"id": 2, "lon": 2.5, "lat": 2.0, "n": "ü", "ok": False},
    {"id": 3, "lon": -3.0, "lat": 3.0, "n": None, "ok": True},
]
NAMES = ["id", "lon", "lat", "n", "ok"]
FRAME = pd.DataFrame(RECORDS)
POINT = {"type": "Point", "coordinates": [1.5, 2.5]}
AREA = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}
FEATURE = {"type": "Feature", "geometry": POINT, "properties": {"a": 1}}


def read(data, name="t.json", **options):
    data = data if isinstance(data, bytes) else data.encode()
    return read_objects(File(name, "json", data, None), Options(**options))


def collection(*features, **members) -> str:
    return json.dumps({"type": "FeatureCollection", "features": list(features), **members})


def feature(geometry, **properties):
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def values(rows):
    return dict(zip(rows.names, (column.to_pylist() for column in rows.columns), strict=True))


def said(data) -> str:
    with pytest.raises(InputError) as error:
        read(data)
    return str(error.value)


WRITTEN = {
    **{one: FRAME.to_json(orient=one) for one in ("records", "columns", "index", "split")},
    "lines": FRAME.to_json(orient="records", lines=True),
    "lists": json.dumps({name: [one[name] for one in RECORDS] for name in NAMES}),
    "within": json.dumps({"took": 3, "page": {"size": 9}, "data": RECORDS}),
    "deep within": json.dumps({"took": 3, "hits": {"total": 9, "hits": RECORDS}}),
    "indented": json.dumps(RECORDS, indent=2),
    "after each other": "\n".join(json.dumps(one, indent=1) for one in RECORDS),
}  # fmt: skip


@pytest.mark.parametrize("form", WRITTEN)
def test_records_are_read_in_every_form(form):
    rows = read(WRITTEN[form])
    assert values(rows) == {name: [one[name] for one in RECORDS] for name in NAMES}
    assert rows.numbers().tolist() == [1, 2, 3]


def test_a_table_of_pandas_has_its_rows_not_its_schema():
    many = pd.concat([FRAME] * 3, ignore_index=True)
    assert values(read(many.to_json(orient="table")))["lon"] == [1.5, 2.5, -3.0] * 3


def test_lists_of_cells_have_no_names():
    rows = read(FRAME.to_json(orient="values"))
    assert rows.names is None
    assert [one.to_pylist() for one in rows.columns][1] == [1.5, 2.5, -3.0]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_every_encoding(encoding):
    text = json.dumps(RECORDS, ensure_ascii=False)
    assert values(read(text.encode(encoding)))["n"] == ["a", "ü", None]


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False),
    st.text(st.characters(codec="utf-8"), max_size=9),
)  # fmt: skip


@given(st.lists(st.fixed_dictionaries({"a": SCALARS, "b": st.integers(-9, 9)}), min_size=1))
def test_every_value_is_the_one_that_was_written(records):
    found = values(read(json.dumps(records)))
    kinds = {type(one["a"]) for one in records} - {type(None)}
    expected = [one["a"] for one in records]
    if kinds == {int, float}:
        expected = [one if one is None else float(one) for one in expected]
    elif len(kinds) > 1:
        expected = [
            one if one is None or isinstance(one, str) else json.dumps(one) for one in expected
        ]
    assert found["a"] == expected
    assert found["b"] == [one["b"] for one in records]


def test_types_are_united_over_batches():
    many = [{"a": 1, "b": 1, "c": True}] * 20_000
    rows = read(json.dumps([*many, {"a": 0.5, "b": "x", "d": 7}]))
    assert [str(one.type) for one in rows.columns] == ["double", "large_string", "bool", "int64"]
    assert values(rows)["b"][-2:] == ["1", "x"]
    assert values(rows)["d"][-2:] == [None, 7]


def test_columns_of_a_long_table():
    column = {str(at): at / 7 for at in range(60_000)}
    assert values(read(json.dumps({"a": column, "b": column})))["b"] == [*column.values()]


def test_a_crowd_of_other_shapes_is_left_out_and_unfinished_lines_too():
    rows = read(collection(*[feature(AREA), FEATURE] * 4))
    assert rows.rows == 4
    lines = "".join(json.dumps(FEATURE) + "\n" for _ in range(9))
    assert read(lines + '{"type": "Feat').rows == 9


def test_members_within_members_are_joined_by_a_dot():
    found = values(read('[{"location": {"lat": 1, "lon": 2}, "tags": ["x"]}]'))
    assert found == {"location.lat": [1], "location.lon": [2]}
    assert '"tags"' in read('[{"a": 1, "tags": ["x"]}]').notes[0]


def test_digits_of_a_long_number_stay():
    assert values(read('[{"a": 12345678901234567890}]')) == {"a": ["12345678901234567890"]}


@pytest.mark.parametrize(
    "layout",
    [
        lambda some: collection(*some),
        lambda some: json.dumps(json.loads(collection(*some)), indent=1),
        lambda some: "\n".join(map(json.dumps, some)),
        lambda some: "".join(f"\x1e{json.dumps(one)}\n" for one in some),
        lambda some: "".join(f"\x1e{json.dumps(one, indent=1)}\n" for one in some),
        lambda some: "\n".join(collection(one) for one in some),
        lambda some: "\n".join(json.dumps(json.loads(collection(one)), indent=1) for one in some),
    ],
)
def test_features_in_every_layout(layout):
    some = [feature(POINT | {"coordinates": [at, 2.5]}, a=at) for at in range(3)]
    assert values(read(layout(some))) == {
        "lon": [0.0, 1.0, 2.0], "lat": [2.5, 2.5, 2.5], "a": [0, 1, 2],
    }  # fmt: skip


def test_one_geometry_alone():
    assert values(read(json.dumps(POINT))) == {"lon": [1.5], "lat": [2.5]}
    assert values(read(json.dumps(FEATURE))) == {"lon": [1.5], "lat": [2.5], "a": [1]}
    collected = {"type": "GeometryCollection", "geometries": [POINT, AREA]}
    assert values(read(json.dumps(collected))) == {"lon": [1.5], "lat": [2.5]}


@pytest.mark.parametrize(
    ("crs", "axes"),
    [
        ("urn:ogc:def:crs:OGC:1.3:CRS84", ["lon", "lat"]),
        ("urn:ogc:def:crs:OGC::CRS84", ["lon", "lat"]),
        ("EPSG:4326", ["lon", "lat"]),
        ("urn:ogc:def:crs:EPSG::4269", ["lon", "lat"]),
        ("urn:ogc:def:crs:EPSG:8.5:4258", ["lon", "lat"]),
        ("NAD83", ["lon", "lat"]),
        ("urn:ogc:def:crs:EPSG::25832", ["x", "y"]),
        ("EPSG:3857", ["x", "y"]),
        ("EPSG:32633", ["x", "y"]),
    ],
)
def test_reference_systems(crs, axes):
    named = {"type": "name", "properties": {"name": crs}}
    rows = read(collection(FEATURE, crs=named))
    assert rows.names == [*axes, "a"]
    assert read(f'{{"features": [{json.dumps(FEATURE)}], "crs": {json.dumps(named)}}}').names[
        :2
    ] == axes  # fmt: skip
    assert any(crs in note for note in rows.notes) == (axes == ["x", "y"])


def test_metres_without_a_reference_system_are_no_degrees():
    some = [feature(POINT | {"coordinates": [5e5 + at, 5.5e6]}) for at in range(9)]
    assert read(collection(*some)).names == ["x", "y"]


def test_features_that_are_no_points_are_left_out_and_counted():
    rows = read(collection(FEATURE, feature(AREA), FEATURE))
    assert rows.rows == 2
    assert rows.numbers().tolist() == [1, 3]
    (note,) = rows.notes
    assert note.startswith("Each feature that is not a point is left out: 1 feature")
    assert note.endswith("the first is feature 2.")
    assert "Polygon" in said(collection(feature(AREA), feature(AREA)))


def test_points_of_one_feature_are_rows_and_no_place_is_missing():
    several = feature({"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]}, a=7)
    rows = read(collection(several, feature(None, a=8), feature(POINT | {"coordinates": []}, a=9)))
    assert values(rows)["a"] == [7, 7, 8, 9]
    assert np.isnan(values(rows)["lon"][2:]).all()
    assert rows.numbers().tolist() == [1, 1, 2, 3]


NINE = [FEATURE] * 9


@pytest.mark.parametrize("wrong", ["1e999", '"x"', "null", "[1]", "true", "9" * 500])
def test_few_wrong_places_are_left_out_and_many_are_named(wrong):
    rows = read(collection(*NINE).replace("1.5", wrong, 1))
    assert rows.rows == 8
    assert "feature 1" in rows.notes[0]
    assert "feature 1 of t.json" in said(collection(FEATURE).replace("1.5", wrong, 1))


def test_words_for_no_number():
    found = values(
        read(collection(*NINE).replace('"a": 1', '"a": NaN', 1).replace("1.5", "NaN", 1))
    )
    assert found["a"][:2] == [None, 1.0]
    assert math.isnan(found["lon"][0])


def test_the_last_of_two_members_counts():
    assert values(read('[{"a": 1, "a": 2}]')) == {"a": [2]}


@pytest.mark.daily(besides=("data13-10,000",))
@pytest.mark.parametrize(
    ("data", "part"),
    [
        (collection(FEATURE, feature(POINT, a="Q")).replace('"Q"', "[" * 200_000 + "]" * 200_000),
         "record 2"),
        ("[" * 100_000, "nested too deep"),
        ('{"a":' * 100_000, "nested too deep"),
        (WRITTEN["records"][:-20], "cut off"),
        (collection(*NINE)[:-30], "record 9"),
        ('[{"a": 1}] x', "not JSON"),
        ('[{"a": 1},]', "not JSON"),
        ('[{"a": "' + "x" * 2**25, "record 1"),
        ("[1, 2, 3]", "give objects"),
        ("[]", "no records"),
        ("{}", "no records"),
        ("", "no records"),
        ("x\n" * 9, "not JSON"),
        ("[" + ",".join(f'{{"k{at}": 1}}' for at in range(16_000)) + "]", "10,000"),
    ],
)  # fmt: skip
def test_what_is_refused(data, part):
    sentence = said(data)
    assert part in sentence
    assert len(sentence) < 300


def test_lines_without_json_are_left_out():
    lines = WRITTEN["lines"] * 3
    rows = read(lines + "x\n")
    assert rows.rows == 9
    assert "record 10" in rows.notes[0]
    assert "record 3 of t.json" in said('{"a": 1}\n{"a": 1}\n' + "x\n" * 9)


PAIRS = [[at + 0.5, 40 - at / 4] for at in range(12)]
LISTS = {"lon": [one[0] for one in PAIRS], "lat": [one[1] for one in PAIRS]}


@pytest.mark.parametrize(
    "nested",
    [
        LISTS, {"data": LISTS}, {"took": 1, "page": {"data": LISTS}}, [LISTS],
        {"data": [LISTS | {"type": "scatter"}], "layout": {"title": {"text": "a"}}},
        PAIRS, {"data": {"points": PAIRS}}, [PAIRS], [[PAIRS]], {"coordinates": PAIRS},
        {f"point {at}": one for at, one in enumerate(PAIRS)},
        {"result": {"names": ["lon", "lat"], "rows": PAIRS}},
        {"users": {f"user {at}": dict(zip(LISTS, one, strict=True))
                   for at, one in enumerate(PAIRS)}},
        [{"id": at, "place": one} for at, one in enumerate(PAIRS)],
    ],
)  # fmt: skip
@pytest.mark.parametrize("indent", [None, 1])
def test_lists_within_lists_or_objects(nested, indent):
    rows = read(json.dumps(nested, indent=indent))
    found = [one.to_pylist() for one in rows.columns][-2:]
    assert found == [*LISTS.values()]
    assert rows.notes == ()
    assert rows.numbers().tolist() == [*range(1, 13)]


@pytest.mark.parametrize(
    ("nested", "part"),
    [
        ({"lon": [1, 2, 3], "lat": [4, 5]}, '"lon" with 3 values and "lat" with 2 values'),
        ({"data": {"lon": [1, 2, 3], "lat": [4, 5]}}, '"lon" with 3 values and "lat" with 2'),
        ({"a": [1, 2, 3], "n": 5}, '"a" with 3 values'),
        ([PAIRS, PAIRS], "holds lists of lists"),
        ({"data": [LISTS, LISTS]}, '"lon", "lat", in its records'),
    ],
)
def test_lists_without_one_meaning_are_named(nested, part):
    assert part in said(json.dumps(nested))


def test_rows_of_another_length_are_named():
    rows = read(json.dumps([*PAIRS, [1, 2, 3], [], *PAIRS]))
    assert rows.rows == 24
    assert rows.ragged.lines() == [
        "row 13: 3 cells where most have 2", "row 14: 0 cells where most have 2",
    ]  # fmt: skip
    assert rows.numbers()[11:13].tolist() == [12, 15]


def test_the_other_of_two_tables_of_one_size_is_named():
    both = {"one": RECORDS, "other": RECORDS[::-1], "few": RECORDS[:2]}
    rows = read(json.dumps(both))
    assert rows.notes == ('The table "other" is read; tables of equal size are left out: "one".',)
    assert values(rows)["id"] == [3, 2, 1]
    assert not read(json.dumps({"one": RECORDS, "few": RECORDS[:2]})).notes


@given(st.lists(st.dictionaries(st.text(max_size=3), SCALARS, min_size=1), min_size=1),
       st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " : ")]))  # fmt: skip
def test_values_that_are_decoded_together_are_those_decoded_alone(records, marks):
    text = _Text(json.dumps(records, separators=marks), "t.json")
    text._take("[")
    assert [*text._values("]")] == records


@pytest.mark.some(1)
@pytest.mark.parametrize("odd", ["},{", '"}, {"', "[", '\\"},'])
def test_borders_in_text_do_not_end_a_record(odd):
    many = [{"a": at, "b": odd, "c": {"d": [odd]}} for at in range(5000)]
    assert values(read(json.dumps(many)))["b"] == [odd] * 5000
    assert values(read(json.dumps(dict(enumerate(many * 3)))))["a"] == [*range(5000)] * 3


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["columns", "index", "lists"])
def test_memory_of_objects_of_many_members(form):
    numbers = {str(at): at / 8 for at in range(400_000)}
    data = {
        "columns": {"a": numbers, "b": numbers},
        "index": {at: {"a": one, "b": one} for at, one in numbers.items()},
        "lists": {"a": [*numbers.values()], "b": [*numbers.values()]},
    }[form]
    text = json.dumps(data).encode()
    tracemalloc.start()
    try:
        assert values(read(text))["b"] == [*numbers.values()]
        assert tracemalloc.get_traced_memory()[1] < 4 * len(text) + 2**24
    finally:
        tracemalloc.stop()


@pytest.mark.exhaustive
def test_memory_holds_one_batch_of_objects():
    data = collection(*[feature(POINT, a=at, name="abcdefgh") for at in range(60_000)]).encode()
    tracemalloc.start()
    try:
        read(data)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(data)
    finally:
        tracemalloc.stop()


def damaged(data: bytes, chance: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 3, 20))):
        at = chance.randrange(len(made) or 1)
        what = chance.randrange(4)
        if what == 0:
            made[at : at + 1] = bytes([chance.randrange(256)])
        elif what == 1:
            del made[at : at + chance.choice((1, 4, 50, len(made)))]
        elif what == 2:
            made[at:at] = made[at : at + chance.randrange(100)]
        else:
            made[at : at + 4] = chance.choice((b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff"))
    return bytes(made)


SEEDS = [*WRITTEN.values(), collection(*NINE), "".join(f"\x1e{json.dumps(FEATURE)}\n" * 4)]


@pytest.mark.parametrize("seed", daily(range(100), lambda seed: seed < 5))
def test_damaged_bytes_are_read_or_refused_in_a_sentence(seed):
    chance = random.Random(seed)
    for _ in range(100):
        data = damaged(chance.choice(SEEDS).encode(), chance)
        try:
            rows = read(data)
        except InputError as error:
            assert len(str(error)) < 500  # noqa: PT017
            continue
        assert len({len(one) for one in rows.columns}) <= 1
        assert rows.names is None or len(rows.names) == len(rows.columns)
        assert rows.numbers is None or len(rows.numbers()) == rows.rows
