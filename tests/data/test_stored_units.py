"""Capping persons in stored records keeps the same records as in memory."""

import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.base.work import Cancelled
from dpviz.data import stored as stored_module
from dpviz.data import stored_units as module
from dpviz.data.reading.read import read_table
from dpviz.data.stored import stored
from dpviz.data.stored_units import capped
from dpviz.data.units import cap_records


def rows_of(points: np.ndarray) -> list[tuple[float, ...]]:
    return sorted(map(tuple, points.tolist()))


def kept(folder, unit, cap, seed=0) -> tuple[list[tuple[float, ...]], tuple[str, ...]]:
    with capped(stored(folder, ["x", "y"]), unit, cap, seed) as found:
        parts = [points for part in found.parts for points, _ in part.chunks()]
        return rows_of(np.concatenate(parts)), found.notes


def write(folder, frames):
    folder.mkdir(exist_ok=True)
    for number, frame in enumerate(frames):
        pq.write_table(pa.Table.from_pandas(frame), folder / f"{number}.parquet")
    return folder


PERSONS = {
    "numbers": lambda codes: codes,
    "text": lambda codes: np.char.add("p", codes.astype(str)).astype(object),
    "decimals": lambda codes: np.where(codes == 3, np.nan, codes.astype(float)),
    "spellings": lambda codes: np.char.add(
        codes.astype(str), np.tile(["", ".0"], 500)[: len(codes)]
    ).astype(object),
}


@settings(deadline=None, max_examples=20)  # writes files
@given(
    kind=st.sampled_from([*PERSONS]),
    cap=st.integers(1, 4),
    seed=st.integers(0, 3),
    files=st.integers(1, 4),
    rows=st.sampled_from([7, 50, 10**6]),
    chunk=st.sampled_from([30, 10**6]),
)
def test_the_same_records_are_kept_as_in_memory(
    tmp_path_factory, kind, cap, seed, files, rows, chunk
):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(200, 2)).round(1), columns=["x", "y"])
    frame["who"] = PERSONS[kind](rng.integers(0, 40, 200))
    frame.loc[5, "x"] = np.inf
    parts = [frame.iloc[part] for part in np.array_split(np.arange(200), files)]
    folder = write(tmp_path_factory.mktemp("persons"), parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS", rows)
        patch.setattr(stored_module, "CHUNK", chunk)
        found, _ = kept(folder, "who", cap, seed)
    held = cap_records(read_table(frame).select(["x", "y"], unit="who"), cap, seed)
    assert found == rows_of(held.points)


def test_a_person_changes_at_most_cap_records(tmp_path, monkeypatch):
    """This is also true for a person with most of the rows, who changes the number of files."""
    monkeypatch.setattr(module, "ROWS", 100)
    monkeypatch.setattr(stored_module, "CHUNK", 64)
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(500, 2)), columns=["x", "y"])
    frame["who"] = rng.integers(0, 60, 500)
    more = pd.DataFrame(rng.normal(size=(2_000, 2)), columns=["x", "y"]).assign(who=99.5)
    together = pd.concat([frame, more]).sample(frac=1, random_state=3)
    without, _ = kept(write(tmp_path / "without", [frame]), "who", 3)
    joined, _ = kept(write(tmp_path / "with", [together[at::3] for at in range(3)]), "who", 3)
    assert set(without) < set(joined)
    assert len(joined) - len(without) == 3
    assert set(joined) - set(without) < set(map(tuple, more[["x", "y"]].to_numpy().tolist()))


def test_persons_are_one_across_files_of_other_types(tmp_path):
    """7, 7.0 and "007" mean the same person, whatever the type of the column is."""
    frames = [
        pd.DataFrame({"x": [1.0], "y": [float(at)], "who": [one]})
        for at, one in enumerate((7, 7.0, "007", 8))
    ]
    found, notes = kept(write(tmp_path / "mixed", frames), "who", 1)
    assert len(found) == 2
    assert (1.0, 3.0) in found
    assert notes == ("2 records left out: beyond 1 of a person.",)


@pytest.mark.parametrize("on_disk", [False, True])
def test_two_persons_do_not_become_one(tmp_path, on_disk):
    """Codes that look like powers of ten, and decimals with more digits than a float has."""
    codes = ["12e3", "12000", "1e10", "10e9", "0e12", "0e34"]
    long = ["9007199254740.9921", "9007199254740.9922", "7.5000"]
    decimals = pa.array(map(decimal.Decimal, long), pa.decimal128(20, 4))
    for names, count in (
        (codes, 6),
        (pa.array(codes).dictionary_encode(), 6),
        (decimals, 3),
        (decimals.dictionary_encode(), 3),
    ):
        places = np.arange(len(names), dtype=float)
        table = pa.table({"x": places, "y": places, "who": names})
        if on_disk:
            path = tmp_path / f"{len(list(tmp_path.iterdir()))}"
            path.mkdir()
            pq.write_table(table, path / "part.parquet")
            assert len(kept(path, "who", 1)[0]) == count
        for held in (table, table.to_pandas(), table.to_pandas(types_mapper=pd.ArrowDtype)):
            some = read_table(held).select(["x", "y"], unit="who")
            assert len(cap_records(some, 1).points) == count


def test_text_files_have_persons_too(tmp_path):
    lines = ["who,x,y", *(f"p{at % 3},{at},{at}" for at in range(30)), ",5,5"]
    (tmp_path / "p.csv").write_text("\n".join(lines))
    found, notes = kept(tmp_path / "p.csv", 1, 4)
    assert len(found) == 12
    assert notes == (
        "1 record left out: without a person or a finite number.",
        "18 records left out: beyond 4 of a person.",
    )
    held = cap_records(read_table(tmp_path / "p.csv").select(["x", "y"], unit="who"), 4)
    assert found == rows_of(held.points)


def test_files_of_persons_are_gone_at_the_end_and_nobody_else_s(tmp_path, monkeypatch):
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path))
    frame = pd.DataFrame({"x": [1.0], "y": [2.0], "who": [1]})
    folder = write(tmp_path / "some", [frame])
    with capped(stored(folder, ["x", "y"]), "who", 1):
        (made,) = tmp_path.glob("dpviz-persons-*")
        assert made.stat().st_mode & 0o77 == 0
    assert not list(tmp_path.glob("dpviz-persons-*"))
    with (
        pytest.raises(Cancelled),
        capped(stored(folder, ["x", "y"]), "who", 1, cancelled=lambda: True),
    ):
        pass
    assert not list(tmp_path.glob("dpviz-persons-*"))


@pytest.mark.parametrize(
    ("unit", "cap", "said"),
    [
        ("nobody", 1, 'column "nobody" is not in'),
        ("who", 0, "cap = 0: give a whole number of records"),
        ("x", 1, 'column "x" identifies persons, so it can\'t be one of the columns'),
    ],
)
def test_bad_caps_get_a_sentence(tmp_path, unit, cap, said):
    folder = write(tmp_path / "some", [pd.DataFrame({"x": [1.0], "y": [2.0], "who": [1]})])
    with pytest.raises(InputError, match=said), capped(stored(folder, ["x", "y"]), unit, cap):
        pass


def test_arrays_have_no_persons():
    source = stored(np.zeros((2, 2)))
    with (
        pytest.raises(InputError, match="has no column of persons: give files"),
        capped(source, "who", 1),
    ):
        pass
