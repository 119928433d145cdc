"""Stored records are the same records, in the same order, as the records of a file in memory."""

import gzip
import importlib
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.data import stored as module
from dpviz.data.counted import counted
from dpviz.data.engine.choice import Local
from dpviz.data.explore.rows import Options
from dpviz.data.reading.read import read_table
from dpviz.data.source import STORES, store_origin
from dpviz.data.stored import Stored, is_stored, stored
from dpviz.grid.counts import quantize
from dpviz.grid.domain import Domain
from tests.support.tiers import examples

POINTS = np.random.default_rng(1).normal(size=(1_000, 2)).round(1)


def all_of(source: Stored) -> tuple[np.ndarray, int]:
    chunks = [chunk for part in source.parts for chunk in part.chunks()]
    for part in source.parts:
        part.check()
    return np.concatenate([points for points, _ in chunks]), sum(gone for _, gone in chunks)


def write(path, points, names=("x", "y"), **options):
    pq.write_table(pa.table(dict(zip(names, points.T, strict=True))), path, **options)


@pytest.fixture
def folder(tmp_path):
    """Three Parquet files, some with several row groups, and another file."""
    for number, rows in enumerate(np.split(POINTS, [300, 301])):
        write(tmp_path / f"part-{number}.parquet", rows, row_group_size=100)
    (tmp_path / "_SUCCESS").write_text("")
    return tmp_path


def test_files_of_a_folder_come_in_the_order_of_their_names(folder):
    found = stored(folder)
    assert found.name == folder.name
    assert found.columns == ("x", "y")
    assert [part.title for part in found.parts] == [
        str(folder / f"part-{number}.parquet") for number in range(3)
    ]
    points, gone = all_of(found)
    assert np.array_equal(points, POINTS)
    assert gone == 0


def test_hidden_files_of_a_folder_are_left_alone(folder):
    for name in ("._part-0.parquet", ".part-0.parquet.crc", "_metadata.parquet"):
        (folder / name).write_bytes(b"no records")
    assert np.array_equal(all_of(stored(folder))[0], POINTS)


def test_a_pattern_chooses_files(folder, monkeypatch):
    assert len(stored(folder / "part-[01].parquet").parts) == 2
    assert is_stored(folder / "part-*.parquet")
    assert is_stored(folder)
    assert not is_stored(folder / "part-0.parquet")
    assert is_stored("memory://somewhere")
    assert not is_stored("a\0*")
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    assert is_stored(folder / "part-0.parquet")


def test_columns_are_chosen_by_name_or_number(folder):
    points, _ = all_of(stored(folder, ["y", 1]))
    assert np.array_equal(points, POINTS[:, ::-1])
    with pytest.raises(InputError, match='column "z" is not in'):
        stored(folder, ["z"])
    with pytest.raises(InputError, match="name each column once"):
        stored(folder, ["x", 1])


def test_row_groups_of_a_large_file_are_parts(folder, monkeypatch):
    monkeypatch.setattr(module, "PART_ROWS", 250)
    found = stored(folder / "part-2.parquet")
    assert [part.groups for part in found.parts] == [(0, 1, 2), (3, 4, 5), (6,)]
    assert np.array_equal(all_of(found)[0], POINTS[301:])


@examples(30)  # writes files
@given(
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=5),
    chunk=st.integers(1, 50),
    group=st.integers(1, 50),
    grid=st.integers(2, 9),
    outside=st.sampled_from(["clip", "drop"]),
)
def test_counts_are_those_of_the_same_records_in_memory(
    tmp_path_factory, sizes, chunk, group, grid, outside
):
    place = tmp_path_factory.mktemp("parts")
    # Points on edges of cells, next to edges, and outside.
    points = np.random.default_rng(sum(sizes)).integers(-1, 2 * grid + 2, (sum(sizes), 2)) / 2
    points[::3] = np.nextafter(points[::3], -1)
    for number, rows in enumerate(np.split(points, np.cumsum(sizes)[:-1])):
        write(place / f"{number}.parquet", rows, row_group_size=group)
    domain = Domain(((0, grid), (0, grid)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        found = counted(stored(place), grid, domain, outside, Local())
    assert np.array_equal(found.counts, quantize(points, domain, grid, outside=outside)[0])


@pytest.mark.parametrize("kind", [pa.int32(), pa.float32(), pa.decimal128(9, 1)])
def test_all_kinds_of_numbers_are_read_and_gaps_are_counted(tmp_path, kind):
    values = pa.array([1, None, 3], pa.int64()).cast(pa.float64())
    table = pa.table({"a": values.cast(kind), "b": pa.array([1.0, 2.0, np.inf])})
    pq.write_table(table, tmp_path / "numbers.parquet")
    points, gone = all_of(stored(tmp_path / "numbers.parquet"))
    assert points.tolist() == [[1.0, 1.0]]
    assert gone == 2


@pytest.mark.parametrize(("mark", "ending"), [(",", ".csv"), ("\t", ".tsv"), (";", ".txt.gz")])
def test_text_is_read_block_by_block(tmp_path, mark, ending):
    lines = [
        mark.join(("id", "x", "y")),
        *(mark.join((f"p{a}", str(a), str(b))) for a, b in POINTS),
    ]
    lines.insert(3, mark.join(("p", "", "1")))
    text = "\n".join(lines).encode()
    path = tmp_path / f"points{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    found = stored(path)
    assert found.columns == ("x", "y")
    points, gone = all_of(found)
    assert np.array_equal(points, POINTS)
    assert gone == 1


@pytest.mark.daily("umlauts")
@pytest.mark.parametrize(
    ("text", "names", "points"),
    [
        ("x;y\n1,5;2\n3,5;4\n", ("x", "y"), [[1.5, 2], [3.5, 4]]),
        ("x, y\n1, 2\n", ("x", "y"), [[1, 2]]),
        ("x,x,y\n1,2,3\n", ("x", "x (2)", "y"), [[1, 2, 3]]),
        ("name,x\n" + '"a\nb",1\n' * 200_000, ("x",), [[1]] * 200_000),
        ("name,x\n" + "\u00e4\u00e4\u00e4,1\n" * 50_000, ("x",), [[1]] * 50_000),
    ],
    ids=["decimal comma", "space", "twice", "line break", "umlauts"],
)
def test_text_is_read_as_in_memory(tmp_path, text, names, points):
    (tmp_path / "some.csv").write_text(text, encoding="utf-8")
    found = stored(tmp_path / "some.csv")
    assert found.columns == names
    assert np.array_equal(all_of(found)[0], points)
    held = read_table(tmp_path / "some.csv").select(None)
    assert held.columns == names
    assert np.array_equal(held.points, points)


def test_a_line_break_in_quotes_far_behind_is_no_new_record(tmp_path):
    """The first quotation mark is after the bytes that are checked; its field spans two blocks."""
    lines = "".join(f"{number},2,c\n" for number in range(60_000))
    text = f'x,y,note\n{lines}5,6,"' + 5_000 * "\n7 and 8" + '"\n'
    (tmp_path / "late.csv").write_text(text)
    points = all_of(stored(tmp_path / "late.csv", ["x", "y"]))[0]
    assert len(points) == 60_001
    assert points[-1].tolist() == [5, 6]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x\ty\n1,234\t2,345\n12\t7\n", "whose point or comma may be a decimal mark"),
        ("x;y\n1.234;5,6\n", 'column "x" of .* may be a decimal mark'),
    ],
)
def test_numbers_that_may_be_a_thousandfold_are_refused(tmp_path, text, said):
    (tmp_path / "some.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        stored(tmp_path / "some.csv")
    clear = text.replace("1,234", "1,2").replace("2,345", "2,3").replace("1.234", "1,2")
    (tmp_path / "clear.csv").write_text(clear)
    assert all_of(stored(tmp_path / "clear.csv"))[0].max() < 100


def test_text_without_a_header_has_numbered_columns(tmp_path):
    np.savetxt(tmp_path / "bare.csv", POINTS, delimiter=",")
    found = stored(tmp_path / "bare.csv", [2])
    assert found.columns == ("column 2",)
    assert np.array_equal(all_of(found)[0], POINTS[:, 1:])


def test_a_store_is_read_by_its_address(folder):
    import fsspec

    memory = fsspec.filesystem("memory")
    for path in folder.glob("*.parquet"):
        memory.pipe(f"/stored/{path.name}", path.read_bytes())
    found = stored("memory://stored")
    assert len(found.parts) == 3
    assert np.array_equal(all_of(found)[0], POINTS)
    assert np.array_equal(all_of(stored(f"file://{folder}"))[0], POINTS)
    memory.pipe("/stored/part-0.parquet", b"another")
    with pytest.raises(InputError, match="has changed since it was opened"):
        found.parts[0].check()


def test_arrays_and_iterators_are_parts(folder):
    for source in (POINTS, [POINTS[:10], POINTS[10:]], lambda: iter([POINTS[:10], POINTS[10:]])):
        found = stored(source, [1])
        for _ in range(2):
            assert np.array_equal(all_of(found)[0], POINTS[:, :1])
    once = stored(iter([POINTS]))
    assert np.array_equal(all_of(once)[0], POINTS)
    with pytest.raises(InputError, match="can be read only once"):
        all_of(once)


def test_a_file_of_an_array_is_read_page_by_page(tmp_path):
    for kind in (np.float64, np.float32, np.int16):
        np.save(tmp_path / "a.npy", POINTS.astype(kind))
        found = stored(tmp_path / "a.npy", [2])
        assert found.name == "a.npy"
        assert np.array_equal(all_of(found)[0], POINTS[:, 1:].astype(kind))
        (part,) = stored(tmp_path / "a.npy").parts
        assert isinstance(part.points.base, np.memmap)


def damaged(folder):
    path = folder / "part-2.parquet"
    content = bytearray(path.read_bytes())
    content[4:2_000] = bytes(1_996)
    path.write_bytes(content)


def renamed(folder):
    write(folder / "part-1.parquet", POINTS, ("x", "z"))


def texted(folder):
    table = pa.table({"x": pa.array([1.0]), "y": pa.array(["one"])})
    pq.write_table(table, folder / "part-1.parquet")


def emptied(folder):
    for path in folder.glob("*.parquet"):
        path.unlink()


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (damaged, "part-2.parquet is not a whole Parquet file"),
        (renamed, 'part-1.parquet has no column "y", which .*part-0.parquet has'),
        (texted, 'column "y" of .*part-1.parquet holds no numbers: choose from "x"'),
        (emptied, "has no file to read"),
    ],
)
def test_what_can_t_be_read_is_named(folder, harm, said):
    harm(folder)
    with pytest.raises(InputError, match=said) as caught:
        all_of(stored(folder))
    assert "\n" not in str(caught.value)


def test_a_cell_of_text_is_named(tmp_path):
    rows = ["x,y", *("1,2" for _ in range(100_000)), "1,many"]
    (tmp_path / "late.csv").write_text("\n".join(rows))
    with pytest.raises(
        InputError, match=r'row 100002 of .*csv has a cell .* not a number, "many", in column "y"'
    ):
        all_of(stored(tmp_path / "late.csv"))


def test_a_file_that_changes_or_goes_is_named(folder):
    found = stored(folder)
    write(folder / "part-1.parquet", POINTS)
    with pytest.raises(InputError, match=r"part-1.parquet has changed since it was opened"):
        found.parts[1].check()
    (folder / "part-1.parquet").unlink()
    with pytest.raises(InputError, match=r"part-1.parquet can't be read: No such file"):
        list(found.parts[1].chunks())


def twice(path):
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["x", "x"])
    pq.write_table(table, path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"x,y\n1,\0\n", "is not text, line 2"),
        ("a.xlsx", b"PK", "can't be read part by part: write it as Parquet or CSV"),
        ("a.npy", b"", "is not a whole array of numbers"),
        ("a.npy", b"x,y", "is not a whole array of numbers"),
        ("a.parquet", twice, 'has several columns "x"'),
    ],
    ids=["nul", "xlsx", "empty", "no array", "twice"],
)
def test_files_of_another_kind_get_a_sentence(tmp_path, name, content, said):
    if callable(content):
        content(tmp_path / name)
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        stored(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("/nowhere/at all.parquet", "does not exist"),
        ("nothing-*.parquet", r"no file to read"),
        ("unknown-store://bucket", 'addresses that start with "unknown-store://" are not read'),
        ([], "has no array: give"),
        (iter([]), "has no array"),
        ([np.zeros(3)], re.escape("has shape (3,)")),
        ([np.zeros((2, 2)), np.zeros((2, 3))], "with the same columns"),
        ([["a"]], "holds no numbers"),
    ],
)
def test_bad_sources_get_a_sentence(source, said):
    with pytest.raises(InputError, match=said):
        stored(source)


def test_a_domain_has_as_many_axes_as_columns(folder):
    assert stored(folder, domain=Domain(((0, 1), (0, 1)))).domain == Domain(((0, 1), (0, 1)))
    with pytest.raises(
        InputError, match=r"has 1 lo,hi pair but .* has 2 chosen columns: .* per chosen column"
    ):
        stored(folder, domain=Domain(((0, 1),)))


# -- one file, one part ------------------------------------------------------------------------


@pytest.mark.parametrize("link", [os.link, os.symlink], ids=["hard", "symbolic"])
@pytest.mark.parametrize("named", ["folder", "pattern", "address"])
def test_a_file_with_two_names_is_read_once(folder, link, named):
    link(folder / "part-1.parquet", folder / "part-0-again.parquet")
    (folder / "_sub").mkdir()
    name = {"folder": folder, "pattern": f"{folder}/*.parquet", "address": f"file://{folder}"}
    found = stored(name[named])
    points, _ = all_of(found)
    assert len(points) == len(POINTS)
    assert sorted(map(tuple, points)) == sorted(map(tuple, POINTS))
    assert found.notes == (
        "part-1.parquet is left out: another name of part-0-again.parquet, whose records count "
        "once.",
    )


@settings(deadline=None, max_examples=20)  # writes files
@given(st.lists(st.integers(0, 2), min_size=1, max_size=8), st.booleans())
def test_records_count_once_however_many_names_their_files_have(tmp_path_factory, names, hard):
    place = tmp_path_factory.mktemp("names")
    files = place / "files"
    files.mkdir()
    for number, rows in enumerate(np.split(POINTS, [300, 301])):
        write(files / f"{number}.parquet", rows)
    many = place / "many"
    many.mkdir()
    for number, target in enumerate(names):
        (os.link if hard else os.symlink)(
            files / f"{target}.parquet", many / f"{number}{'.pq' if number % 2 else '.parquet'}"
        )
    expected = sum([300, 1, 699][target] for target in set(names))
    for found in (stored(many), stored(f"{many}/*"), stored(f"{place}/[mn]*/*")):
        assert len(all_of(found)[0]) == expected
        assert bool(found.notes) == (len(set(names)) < len(names))
        assert len(found.notes) <= 1


def test_a_person_in_a_linked_file_has_no_record_twice(folder):
    from dpviz.data.stored_units import capped

    frame = pd.DataFrame(POINTS[:6], columns=["x", "y"]).assign(who=[1, 1, 2, 3, 4, 5])
    frame.to_parquet(folder / "part-0.parquet")
    for number in (1, 2):
        (folder / f"part-{number}.parquet").unlink()
        os.link(folder / "part-0.parquet", folder / f"part-{number}.parquet")
    with capped(stored(folder, ["x", "y"]), "who", 9) as few:
        assert len(all_of(few)[0]) == 6
        assert few.unit == "who"
        assert [Path(one.path).name for one in few.origins] == [folder.name, "part-0.parquet"]


def test_up_from_a_linked_folder_is_where_the_system_goes(folder, tmp_path_factory, monkeypatch):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "deep"
    elsewhere.mkdir()
    (folder / "link").symlink_to(elsewhere)
    write(elsewhere.parent / "part-0.parquet", POINTS[:5])
    monkeypatch.chdir(folder)
    for name in ("link/../", "link/../part-0.parquet", "link/../p*", f"{folder}/link/.."):
        assert len(all_of(stored(name))[0]) == 5, name


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("?a=1", 'leave "\\?a=1" out'),
        ("#a", 'leave "#a" out'),
        ("/part-0.parquet?", 'leave "\\?" out'),
    ],
)
def test_an_address_of_a_file_is_a_path_alone(folder, address, problem):
    with pytest.raises(InputError, match=problem):
        stored(f"file://{folder}{address}")
    for host in ("elsewhere", ".", "user@localhost", "localhost:80"):
        with pytest.raises(InputError, match="name no other computer, or give the path"):
            stored(f"file://{host}{folder}")


def test_signs_in_an_address_of_a_file_stand_for_others(tmp_path):
    write(tmp_path / "a b#?ü%.parquet", POINTS)
    for name in ("a%20b%23%3F%C3%BC%25.parquet", "a b%23%3fü%25.parquet"):
        for scheme in ("file://", "FILE://", "local://", "file://localhost"):
            assert len(all_of(stored(f"{scheme}{tmp_path}/{name}"))[0]) == len(POINTS)
    np.save(tmp_path / "a b.npy", POINTS)
    assert len(all_of(stored(f"file://{tmp_path}/a%20b.npy"))[0]) == len(POINTS)
    with pytest.raises(InputError, match="does not exist"):
        stored(f"file://{tmp_path}/a%00b")


def test_no_store_leads_to_files_of_this_computer(folder, monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    local = type(fsspec.filesystem("file"))
    registry = importlib.import_module("fsspec.registry")
    monkeypatch.setitem(registry._registry, "oci", local)
    with pytest.raises(InputError, match="so give their path"):
        stored(f"oci://{folder}")


@given(
    st.sampled_from(sorted(STORES)),
    st.lists(st.sampled_from(["trips", "a", "2024", "part-0.parquet"]), min_size=1, max_size=4),
    st.data(),
)
def test_one_place_in_a_store_has_one_origin(scheme, names, data):
    """The origin does not depend on user and options, or each spelling would have a budget."""
    plain = store_origin(f"{scheme}://bucket", "bucket/" + "/".join(names))
    spelled = ["bucket", *names]
    for at in range(len(spelled)):
        change = data.draw(st.sampled_from(["", "/", "./", "x/../", "%"]))
        sign = quoted(spelled[at][0]) if change == "%" else change + spelled[at][0]
        spelled[at] = sign + spelled[at][1:]
    if data.draw(st.booleans()):
        spelled[0] = spelled[0].upper()
    more = data.draw(st.sampled_from(["", "/", "?a=1", "#a", "/?endpoint_override=b"]))
    known = [one for one in STORES if STORES[one] == STORES[scheme]]
    start = data.draw(st.sampled_from(known)) + "://"
    assert store_origin(start.upper(), "/".join(spelled) + more) == plain
    assert store_origin(f"{scheme}://other", "/".join(["other", *names])) != plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("az://c/x", "c/x"), ("abfss://c@a.dfs.core.windows.net/x", "c@a.dfs.core.windows.net/x")),
        (("az://c/x", "c/x"), ("abfs://a.dfs.core.windows.net/c/x", "a.dfs.core.windows.net/c/x")),
        (("hf://datasets/u/r/x", "datasets/u/r/x"), ("hf://datasets/u/r@main/x",) * 2),
        (("oci://b/x", "b/x"), ("oci://b@namespace/x", "b@namespace/x")),
        (("s3://b/x", "b/x"), ("s3a://key:secret@b/x", "key:secret@b/x")),
    ],
)
def test_who_asks_and_which_version_is_no_part_of_a_place(one, other):
    address, inner = other
    assert store_origin(*one) == store_origin(address, inner.removeprefix("hf://"))


def quoted(sign):
    return f"%{ord(sign):02X}"


def test_stores_have_no_patterns_so_none_is_advised(folder):
    memory = pytest.importorskip("fsspec").filesystem("memory")
    for place in ("here.parquet", "2024/deep.parquet"):
        memory.pipe(f"/years/{place}", (folder / "part-0.parquet").read_bytes())
    (note,) = stored("memory://years").notes
    assert note.endswith(
        '1 folder in it is left out ("2024"): name each folder separately to read it.'
    )
    assert stored("memory://years/2024").parts
    memory.rm("/years/here.parquet")
    with pytest.raises(InputError, match="in its folders are not read, and stores have no pat"):
        stored("memory://years")


def test_a_pattern_that_is_advised_reads_a_folder_with_any_name(tmp_path):
    for place in ("1.parquet", "in/2.parquet"):
        path = tmp_path / "trips [a]*" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [float(path.stem)], "y": [0.0]}), path)
    (note,) = stored(tmp_path / "trips [a]*").notes
    advised = re.search('such as "(.*)"', note)[1]
    assert points_of(stored(advised))[:, 0].tolist() == [1, 2]


def test_other_files_of_a_folder_are_left_out_by_a_pattern_that_is_advised(tmp_path):
    parts = tmp_path / "year[2024]"
    parts.mkdir()
    for name in ("a.csv", "b.csv"):
        (parts / name).write_text("x,y\n1,2\n")
    (parts / "README.txt").write_text("All trips of a year.\n")
    with pytest.raises(InputError, match="such as ") as caught:
        stored(str(parts))
    pattern = str(caught.value).split('"')[-2]
    assert len(stored(pattern).parts) == 2


def test_folders_inside_a_folder_are_named_and_a_pattern_reads_them(tmp_path):
    for place in ("1.parquet", "2024/2.parquet", "2024/deep/3.parquet", "_logs/4.parquet"):
        path = tmp_path / "trips" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [float(path.stem)], "y": [0.0]}), path)
    found = stored(tmp_path / "trips")
    assert points_of(found)[:, 0].tolist() == [1]
    (note,) = found.notes
    assert '1 folder in it is left out ("2024")' in note
    pattern = str(tmp_path / "trips" / "**" / "*.parquet")
    assert pattern in note
    assert points_of(stored(pattern))[:, 0].tolist() == [1, 2, 3, 4]
    (tmp_path / "trips" / "1.parquet").unlink()
    with pytest.raises(InputError, match=r"has no file to read: .* a pattern, such as"):
        stored(tmp_path / "trips")


@pytest.mark.parametrize("empty", ["0.csv", "5.csv"])
def test_a_file_with_names_alone_hides_no_column_and_offers_none(tmp_path, empty):
    (tmp_path / empty).write_text("who,x,y\n", encoding="utf-8")
    (tmp_path / "1.csv").write_text("who,x,y\na,1,2\n", encoding="utf-8")
    (tmp_path / "2.csv").write_text("who,x,y\nb,3,4\n", encoding="utf-8")
    found = stored(tmp_path)
    assert found.columns == ("x", "y")
    assert points_of(found).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(InputError, match='holds no numbers: choose from "x", "y"'):
        stored(tmp_path, ["who", "x"])


def test_a_folder_of_text_without_numbers_offers_none(tmp_path):
    (tmp_path / "1.csv").write_text("who,where\na,b\n", encoding="utf-8")
    with pytest.raises(InputError, match="holds no numbers: give another file, or leave out"):
        stored(tmp_path, ["who"])


def points_of(found: Stored) -> np.ndarray:
    return np.concatenate([chunk for part in found.parts for chunk, _ in part.chunks()])


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("x,y\n7,3,4\n8,5,6\n", [[3, 4], [5, 6]]),  # rows start with a row number
        ("y,x\n3,4\n", [[4, 3]]),
    ],
)
def test_a_text_that_goes_on_otherwise_is_read_by_itself(tmp_path, text, points):
    (tmp_path / "0.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    (tmp_path / "1.csv").write_text(text, encoding="utf-8")
    assert points_of(stored(tmp_path, ["x", "y"])).tolist() == [[1, 2], *points]
    # Most rows have more fields than the first row, so the first row does not contain the names.
    (tmp_path / "2.csv").write_text("x,y\n3,4\n" + "5,6,7\n" * 3, encoding="utf-8")
    with pytest.raises(InputError, match=r'2\.csv has no column "x"'):
        stored(tmp_path, ["x", "y"], leave_out=True)


CELLS = ("1", "2.5", "1,5", "1.234", "1,234", "n.v.", "-", "", '"6"', "7 %")

#: Rows with at most two different cells.
ALIKE = st.lists(st.sampled_from(CELLS), min_size=1, max_size=2).flatmap(
    lambda some: st.lists(st.tuples(st.sampled_from(some), st.sampled_from(some)), max_size=3)
)


@examples(60)  # writes files
@example(files=[[], [("1,234", "2")]], mark=";", first="3,5", header=True, leave_out=False)
@example(files=[[], [("", "2")]], mark=",", first="3.5", header=True, leave_out=False)
@given(
    files=st.lists(ALIKE, min_size=2, max_size=3),
    mark=st.sampled_from([",", ";"]),
    first=st.sampled_from(["3.5", "3,5"]),
    header=st.booleans(),
    leave_out=st.booleans(),
)
def test_files_that_begin_alike_are_read_as_each_by_itself(
    tmp_path_factory, files, mark, first, header, leave_out
):
    place = tmp_path_factory.mktemp("alike")
    for number, rows in enumerate(files):
        lines = ["x,y,note".replace(",", mark)] * header
        rows = rows if number else [(first, first), *rows]
        rows = [[cell.replace(mark, ".") for cell in row] for row in rows]
        lines += [f"{a}{mark}{b}{mark}some" for a, b in rows]
        (place / f"{number}.csv").write_text("\n".join(lines))

    def read(source):
        try:
            options = Options(header=header)
            found = stored(source, [1, 2], leave_out=leave_out, options=options).parts
            return [row for part in found for some, _ in part.chunks() for row in some.tolist()]
        except InputError:
            return None

    apart = [read(path) for path in sorted(place.iterdir())]
    found = read(place)
    assert found == (None if None in apart else [row for some in apart for row in some])
