"""A release is charged to the budget of its file, which is recognized under any name.

The tests use the command line itself. Only the pictures and the bundle are left out, to save time.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.base.errors import InputError, PrivacyRefusal
from dpviz.base.home import home_folder
from dpviz.commands.command_line import main
from dpviz.data.dataset import Dataset
from dpviz.data.reading.read import read_counts, read_table
from dpviz.data.source import STORES
from dpviz.data.stored import Stored, stored
from dpviz.data.stored_units import capped
from dpviz.grid.domain import Domain
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.lifetime_budget import Budget
from dpviz.release import Request, draw
from dpviz.wavecluster.parameters import Config

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs links and names of open files")

#: The lifetime budget of every source.
TOTAL = 1.0

PARTS = ("part-0", "part-1", "part-2")


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {
        "privacy": {"certified": 0.0, "ledger": [], "odds": ""},
        "domain": {"columns": ["x", "y"], "bounds": [[0.0, 1.0], [0.0, 1.0]]},
        "result": {"kind": "cells"},
        "method": {"title": "PrivQT"},
    }
    monkeypatch.setattr(draw.Prepared, "draw", lambda *_, **__: said)
    monkeypatch.setattr(draw, "files", lambda *_: {"release.json": b"{}"})


@dataclass
class Desk:
    """A folder ``trips`` of three parts, with links to folder and parts, and one budget file."""

    place: Path
    capture: pytest.CaptureFixture[str]
    done: int = 0
    #: Epsilon that is granted for each part.
    granted: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))

    def __post_init__(self) -> None:
        trips = self.place / "trips"
        trips.mkdir()
        rng = np.random.default_rng(1)
        for name in PARTS:
            frame = pd.DataFrame(rng.uniform(size=(9, 2)), columns=["x", "y"])
            frame.assign(who=range(9)).to_parquet(trips / f"{name}.parquet")
        (self.place / "to the trips").symlink_to(trips)
        (self.place / "a" / "b").mkdir(parents=True)
        for name in PARTS:
            (self.place / "a" / f"soft {name}.parquet").symlink_to(trips / f"{name}.parquet")
            os.link(trips / f"{name}.parquet", self.place / "a" / "b" / f"hard {name}.parquet")

    def release(self, data: object, *options: object, epsilon: float = 0.4) -> tuple[int, str]:
        """Exit status and message."""
        self.done += 1
        self.capture.readouterr()
        status = main(
            [
                *("release", str(data), "--columns", "x,y", "--domain", "0,1;0,1"),
                *("--method", "privqt", "--grid", "4", "--epsilon", str(epsilon)),
                *("--budget-file", str(self.place / "b.db")),
                *("--out", str(self.place / "out" / str(self.done)), *map(str, options)),
            ]
        )
        said = self.capture.readouterr()
        return status, said.out + said.err

    def spent(self) -> dict[str, float]:
        return {one.id: one.spent for one in Budget(self.place / "b.db").datasets()}


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Desk:
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path / "home"))
    return Desk(tmp_path, capsys)


def in_all_ways(trips: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Names of the folder and its parts, in all spellings that shells and people use."""
    place = trips.parent
    yield str(trips), ()
    yield f"{trips}//", ()
    yield f"{trips}/.", ()
    yield f"{place}/a/b/../../trips", ()
    yield os.path.relpath(trips), ()
    yield str(place / "to the trips"), ()
    yield f"/proc/self/cwd/{os.path.relpath(trips)}", ()
    for scheme in ("file://", "FILE://", "file://localhost", "local://"):
        yield f"{scheme}{trips}", ()
    yield f"file://{quote(str(place / 'to the trips'))}", ()
    yield f"file://{str(trips).replace('r', '%72')}/", ()
    yield f"file://{trips}?a=1", ()
    yield f"file://{trips}#a", ()
    yield f"file://elsewhere{trips}", ()
    for start in ("fsspec+file://", "dir://", "generic://", "reference://", "simplecache::file://"):
        yield f"{start}{trips}", ("--source", start)
    yield f"zip://part-0.parquet::{trips}.zip", ("--source", "zip")
    yield f"{trips}/*.parquet", ()
    yield f"{trips}/p*", ("--source", "pattern")
    yield f"{place}/t?ips/part-[01].parquet", ("--source", "some")
    yield f"{place}/a/soft*", ("--source", "soft")
    yield f"{place}/a/b/hard*", ("--source", "hard")
    yield str(trips), ("--source", "Trips")
    yield str(trips), ("--source", "another")


PART_WAYS: tuple[Callable[[Path, str], str], ...] = (
    lambda trips, part: f"{trips}/{part}.parquet",
    lambda trips, part: f"{trips}/./{part}.parquet",
    lambda trips, part: f"{trips.parent}/to the trips/{part}.parquet",
    lambda trips, part: f"{trips.parent}/a/soft {part}.parquet",
    lambda trips, part: f"{trips.parent}/a/b/hard {part}.parquet",
    lambda trips, part: f"file://{trips}/{part}.parquet",
    lambda trips, part: f"file://{trips.parent}/a/b/hard%20{part}.parquet",
    lambda trips, part: f"{trips}/{part}*",
)


@st.composite
def ways(draws: Any) -> tuple[Any, ...]:
    """A way to name the folder, or a part of it; a part may have a source name."""
    kind = draws(st.integers(0, 3))
    if kind == 0:
        return ("part", draws(st.sampled_from(PARTS)), draws(st.sampled_from(PART_WAYS)),
                draws(st.sampled_from([None, "one", "two"])))  # fmt: skip
    if kind == 1 and draws(st.booleans()):
        return ("rename", draws(st.sampled_from(PARTS)))
    return ("folder", draws(st.integers(0, 28)))


@pytest.mark.parametrize("most", [45, pytest.param(1500, marks=pytest.mark.exhaustive)])
def test_however_the_same_bytes_are_named_one_lifetime_budget_pays(
    capsys: pytest.CaptureFixture[str], most: int
) -> None:
    released = 0

    @settings(deadline=None, max_examples=most)
    @given(st.lists(ways(), min_size=3, max_size=9), st.sampled_from([0.3, 0.6, 1.0]))
    def check(taken: list[tuple[Any, ...]], epsilon: float) -> None:
        nonlocal released
        # Use a folder in memory if it exists, because every debit waits for the disk.
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
        with (
            tempfile.TemporaryDirectory(dir=memory) as name_of_place,
            pytest.MonkeyPatch.context() as patch,
        ):
            place = Path(name_of_place)
            patch.setenv("DPVIZ_HOME", str(place / "home"))
            desk = Desk(place, capsys)
            trips = place / "trips"
            at = {part: part for part in PARTS}
            for way in taken:
                options: tuple[object, ...] = ()
                if way[0] == "rename":
                    new = f"{at[way[1]]}-moved"
                    (trips / f"{at[way[1]]}.parquet").rename(trips / f"{new}.parquet")
                    at[way[1]] = new
                    continue
                if way[0] == "part":
                    name, read = way[2](trips, way[1]), {way[1]}
                    options = () if way[3] is None else ("--source", way[3])
                else:
                    name, options = list(in_all_ways(trips))[way[1]]
                    read = set(PARTS[:2] if "[01]" in name else PARTS)
                    if "[01]" in name or "soft" in name:  # these links are broken after a rename
                        read = {part for part in read if at[part] == part}
                status, said = desk.release(name, "--total", TOTAL, *options, epsilon=epsilon)
                assert status in (0, 2, 3), said
                released += status == 0
                for part in read if status == 0 else ():
                    desk.granted[part] += epsilon
            for part, granted in desk.granted.items():
                assert granted <= TOTAL + 1e-9, (part, desk.spent())

    check()
    assert released > most / 2


def test_each_way_reads_the_folder_or_says_why_not(desk: Desk) -> None:
    """With each way, a first release succeeds. A program that refuses all ways would fail."""
    for number, (name, options) in enumerate(in_all_ways(desk.place / "trips")):
        (desk.place / "b.db").unlink(missing_ok=True)
        status, said = desk.release(name, "--total", 1, *options)
        plain = "?a=1" not in name and "#a" not in name and "elsewhere" not in name
        if name.startswith(("fsspec", "dir", "generic", "reference", "simplecache", "zip")):
            assert status == 2
            assert "are not read: give the path" in said or "does not exist" in said, said
            continue
        named = options or "*" not in name
        assert status == (0 if plain and named else 2), said
        if not plain:
            assert "is not a plain address of a file" in said, number
        elif not named:
            assert "--source is missing" in said


def test_no_other_kind_of_address_leads_to_files_of_this_computer(desk: Desk) -> None:
    """All protocols of fsspec and pyarrow, and some unknown protocols."""
    fsspec = pytest.importorskip("fsspec")
    shutil.make_archive(str(desk.place / "trips"), "zip", desk.place / "trips")
    known = [*fsspec.available_protocols(), "fsspec+file", "mock", "viewfs", "ftps", "x", "FILE+X"]
    known = [one for one in known if one.lower() not in (*STORES, "file", "local")]
    trips, part = desk.place / "trips", "part-0.parquet"
    names = [f"{one}://{place}" for one in known for place in (trips, f"{trips}/{part}")]
    names += [f"{one}://{part}::{trips}.zip" for one in ("zip", "tar", "libarchive", "simplecache")]
    names += [f"{one}::file://{trips}/{part}" for one in ("simplecache", "filecache", "zip")]
    for number, name in enumerate(names):
        status, said = desk.release(name, "--total", 1, "--source", f"s{number}")
        assert status == 2, name
        assert "are not read: give the path" in said or "does not exist" in said, said
        assert "fault of the program" not in said
    assert not (desk.place / "b.db").exists()


@pytest.mark.parametrize("form", ["csv", "parquet", "npy", "grid"])
def test_the_address_of_one_file_is_its_path(desk: Desk, form: str) -> None:
    """A file that is read into memory counts as its path."""
    path, frame = desk.place / f"one.{form}", pd.DataFrame({"x": [0.1], "y": [0.2]})
    options: tuple[object, ...] = ("--outside", "clip")
    if form == "npy":
        np.save(path, frame.to_numpy())
        options = ("--columns", "1,2")
    elif form == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    if form == "grid":
        np.savetxt(path, np.ones((4, 4)), fmt="%d", delimiter=",")
        assert read_counts(f"file://{path}").origins == read_counts(path).origins
        return
    status, said = desk.release(f"file://{path}", "--total", 1, *options)
    assert status == 0, said
    assert desk.release(path, *options)[0] == 0
    assert desk.spent() == {path.name: 0.8}
    if form != "npy":
        assert read_table(f"file://{path}").origins == read_table(path).origins


def test_a_folder_pays_for_its_parts_and_the_parts_for_their_folder(desk: Desk) -> None:
    trips = desk.place / "trips"
    assert desk.release(trips, "--total", 1)[0] == 0
    status, said = desk.release(trips / "part-0.parquet")
    assert status == 0
    assert 'note: these data were released as source "trips" before, so its budget is' in said
    assert desk.release(trips / "part-1.parquet", "--total", 1)[0] == 3
    assert desk.spent() == {"trips": 0.8}
    # A file that is added to the folder later belongs to the folder, too.
    shutil.copy(trips / "part-0.parquet", trips / "newest.parquet")
    assert 'released as source "trips"' in desk.release(trips / "newest.parquet", "--total", 1)[1]
    status, said = desk.release(trips / "newest.parquet", "--total", 1, "--source", "newest")
    assert status == 3
    assert 'is in a folder that was released as source "trips" before' in said
    assert "or put other data into a new folder" in said
    (desk.place / "b.db").unlink()
    assert desk.release(trips / "part-0.parquet", "--total", 1)[0] == 0
    assert desk.release(trips)[0] == 0
    assert desk.spent() == {"part-0.parquet": 0.8}
    # From now on the program knows all parts.
    hard = desk.place / "a" / "b" / "hard part-2.parquet"
    assert 'released as source "part-0.parquet"' in desk.release(hard, "--total", 1)[1]


def test_another_name_for_known_files_is_refused(desk: Desk) -> None:
    trips = desk.place / "trips"
    assert desk.release(trips, "--total", 1, "--source", "rides")[0] == 0
    for data in (trips, f"{trips}/*.parquet", trips / "part-2.parquet"):
        status, said = desk.release(data, "--total", 1, "--source", "more rides")
        assert status == 3
        assert 'was released as source "rides" before' in said
        assert "name that source, or put other data into a new file" in said
    # Another spelling is the same name.
    assert desk.release(trips, "--source", "RIDES")[0] == 0
    assert desk.spent() == {"rides": 0.8}


def test_parts_of_two_sources_are_not_released_together(desk: Desk) -> None:
    trips = desk.place / "trips"
    for name in ("part-0", "part-1"):
        assert desk.release(trips / f"{name}.parquet", "--total", 1, "--source", name)[0] == 0
    for options in ((), ("--source", "part-0"), ("--source", "trips")):
        status, said = desk.release(trips, "--total", 1, *options)
        assert status == 3
        assert 'belong to the sources "part-0", "part-1"' in said


def test_patterns_of_two_folders_share_no_budget_by_accident(desk: Desk) -> None:
    for folder in ("trips", "a/b"):
        status, said = desk.release(f"{desk.place}/{folder}/*.parquet", "--total", 1)
        assert status == 2
        assert "since a pattern has no fixed name" in said
    assert not (desk.place / "b.db").exists()


def test_an_address_of_a_store_needs_a_source(desk: Desk) -> None:
    fsspec = pytest.importorskip("fsspec")
    with fsspec.filesystem("memory").open("/rides/all.parquet", "wb") as file:
        file.write((desk.place / "trips" / "part-0.parquet").read_bytes())
    status, said = desk.release("memory://rides", "--total", 1)
    assert status == 2
    assert "an address of a store has no fixed name" in said
    assert desk.release("memory://rides", "--total", 1, "--source", "rides")[0] == 0
    # The same file under another source name.
    status, said = desk.release("memory://rides/all.parquet", "--total", 1, "--source", "other")
    assert status == 3
    assert 'memory://rides/all.parquet was released as source "rides"' in said


def test_a_renamed_file_is_found_by_its_number_and_asks(desk: Desk) -> None:
    """The number of a deleted file may be reused for other data. The program can't detect this."""
    old = desk.place / "survey.csv"
    old.write_text("x,y\n0.1,0.2\n")
    assert desk.release(old, "--total", 1)[0] == 0
    new = desk.place / "interviews.csv"
    old.rename(new)
    new.write_text("x,y\n0.3,0.2\n")  # the same bytes would be the same source
    for options in ((), ("--source", "interviews")):
        status, said = desk.release(new, "--total", 1, *options)
        assert status == 3
        assert (
            'has the number on the disk of a file that was released as source "survey.csv"' in said
        )
        assert "name that source if these are the same data, renamed or changed" in said
    assert desk.release(new, "--source", "survey.csv")[0] == 0
    # A changed copy can't be detected.
    (desk.place / "copy.csv").write_text("x,y\n0.3,0.4\n")
    assert desk.release(desk.place / "copy.csv", "--total", 1)[0] == 0
    assert desk.spent() == {"survey.csv": 0.8, "copy.csv": 0.4}


def test_a_file_that_takes_the_place_of_another_is_the_same_source(desk: Desk) -> None:
    path, new = desk.place / "survey.csv", desk.place / "new.csv"
    for row in range(2):
        new.write_text(f"x,y\n0.{row},0.2\n")
        new.replace(path)
        assert desk.release(path, *(() if row else ("--total", 1)), "--source", "survey")[0] == 0
    assert desk.release(path, "--total", 1)[0] == 3
    assert desk.spent() == {"survey": 0.8}


def test_the_same_bytes_need_the_name_of_their_source(desk: Desk) -> None:
    """One record decides whether bytes are equal, so they choose no source by themselves."""
    first, second = desk.place / "town.csv", desk.place / "a" / "clinic.csv"
    first.write_text("x,y\n0.1,0.2\n")
    shutil.copy(first, second)
    assert desk.release(first, "--total", 1)[0] == 0
    for options in ((), ("--source", "clinic")):
        status, said = desk.release(second, "--total", 1, *options)
        assert status == 3
        assert 'the same bytes as a file that was released as source "town.csv"' in said
    assert desk.release(second, "--source", "town.csv")[0] == 0
    other = desk.place / "a" / "school.csv"
    other.write_text("x,y\n0.1,0.2\n0.3,0.4\n")
    assert desk.release(other, "--total", 1)[0] == 0
    # One file can't have two owners, and the advice is possible.
    shutil.copy(first, other)
    for name in ("school.csv", "town.csv"):
        assert desk.release(other, "--source", name)[0] == 3
    assert "put these data into a new file" in desk.release(other, "--source", "school.csv")[1]
    shutil.copy(first, desk.place / "a" / "new.csv")
    assert desk.release(desk.place / "a" / "new.csv", "--source", "town.csv", epsilon=0.1)[0] == 0


def test_a_lost_key_of_contents_is_said(desk: Desk) -> None:
    first, copy = desk.place / "town.csv", desk.place / "a" / "clinic.csv"
    first.write_text("x,y\n0.1,0.2\n")
    shutil.copy(first, copy)
    status, said = desk.release(first, "--total", 1)
    assert status == 0
    assert "would not be noticed" not in said
    (key,) = home_folder("keys").iterdir()
    key.unlink()
    assert (
        "copies of files that were released before would not be noticed"
        in (desk.release(copy, "--total", 1)[1])
    )


@pytest.mark.parametrize(
    "other",
    [
        *("rides-2025.csv", "rides-2024.tsv", "rides-2024.csv.gz", ".rides-2024.csv"),
        *("rides-2024.csv.bak", "rides-2024.csv~", "rides-2024 copy.csv", "rides-2024(1).csv"),
        *("rides-2024 (2).CSV", "Rides-2024 - Copy (3).csv", "Kopie von rides-2024.csv"),
        *("rides-2024.old.csv", "rides-2024_backup.csv~", "._rides-2024.csv"),
    ],
)
def test_a_part_a_year_or_a_format_asks_whose_it_is(desk: Desk, other: str) -> None:
    first, second = desk.place / "rides-2024.csv", desk.place / other
    first.write_text("x,y\n0.1,0.2\n")
    pd.read_csv(first).assign(x=0.3).to_csv(second, index=False)
    assert desk.release(first, "--total", 1, "--source", "rides")[0] == 0
    status, said = desk.release(second, "--total", 1)
    assert status == 3
    assert f"{other} is called like rides-2024.csv except for a number" in said
    assert 'and that file was released as source "rides"' in said
    assert desk.release(second, "--total", 1, "--source", "of another town")[0] == 0


def test_files_of_one_name_share_a_budget(desk: Desk) -> None:
    """The file name is the default name of the source, in any folder and if it is compressed."""
    places = [desk.place / name for name in ("rides.csv", "rides.csv.gz", "a/rides.csv")]
    for number, path in enumerate(places):
        pd.DataFrame({"x": [0.1], "y": [0.2]}).to_csv(path, index=False)
        options = () if number else ("--total", 1)
        status, said = desk.release(path, *options, epsilon=0.3)
        assert status == 0, said
        assert "so its budget is debited" not in said
    assert desk.spent() == {"rides.csv": 0.9}


def test_an_open_file_is_the_file_behind_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = desk.place / "survey.csv"
    path.write_text("x,y\n0.1,0.2\n")
    assert desk.release(path, "--total", 1)[0] == 0
    with path.open("rb") as file, monkeypatch.context() as patch:
        name = f"/proc/self/fd/{file.fileno()}"
        assert desk.release(name, "--total", 2)[0] == 3
        patch.setattr("sys.stdin", type("Stdin", (), {"buffer": file}))
        status, said = desk.release("-", "--total", 1, "--source", "from a pipe")
        assert status == 3
        assert 'was released as source "survey.csv" before' in said


def test_two_names_at_once_open_one_budget(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process releases under another name between the check and the debit."""
    trips, owner = desk.place / "trips", Budget.owner
    meanwhile = iter([("--total", 1)])

    def late(self: Budget, origins: Any, source: Any = None, **more: Any) -> str | None:
        found = owner(self, origins, source, **more)
        if source is not None and (options := next(meanwhile, None)):
            assert desk.release(trips, *options, epsilon=1)[0] == 0
        return found

    monkeypatch.setattr(Budget, "owner", late)
    status, said = desk.release(trips / "part-0.parquet", "--total", 1, epsilon=1)
    assert status == 3
    assert 'was released as source "trips" before' in said
    assert desk.spent() == {"trips": 1.0}


def test_a_second_name_in_a_folder_is_said(desk: Desk) -> None:
    trips = desk.place / "trips"
    os.link(trips / "part-1.parquet", trips / "again.parquet")
    said = "note: part-1.parquet is left out: another name of again.parquet"
    for options in ((), ("--unit", "who", "--cap", 1, "--source", "persons")):
        assert said in desk.release(trips, "--total", 1, *options)[1]
    sweep = ["sweep", str(trips), "--columns", "x,y", "--domain", "0,1;0,1", "--methods", "privqt"]
    sweep += ["--epsilons", "1", "--repeats", "1", "--out", str(desk.place / "out.csv")]
    assert main(sweep) == 0
    assert said in desk.capture.readouterr().err


def test_persons_keep_to_their_files(desk: Desk) -> None:
    """Persons are distributed over temporary files, but the release is charged to the folder."""
    trips = desk.place / "trips"
    persons = ("--unit", "who", "--cap", 1)
    assert desk.release(trips, "--total", 1, *persons)[0] == 0
    assert desk.release(trips / "part-0.parquet", "--total", 2, *persons)[0] == 3
    (entry,) = Budget(desk.place / "b.db").datasets()[0].entries
    assert "origins" not in entry.what
    status, said = desk.release(desk.place / "trips", *persons)
    assert (status, desk.spent()) == (0, {"trips": 0.8}), said


@pytest.mark.parametrize("kind", ["csv", "parquet", "folder"])
def test_a_column_of_persons_is_known_by_its_name(desk: Desk, kind: str) -> None:
    rows = {"x": [0.1], "y": [0.2], "who": [1], "device": [7]}

    def write(order: list[str]) -> Path:
        frame = pd.DataFrame(rows)[order]
        if kind == "csv":
            frame.to_csv(desk.place / "rides.csv", index=False)
            return desk.place / "rides.csv"
        folder = desk.place / "rides"
        folder.mkdir(exist_ok=True)
        frame.to_parquet(folder / "all.parquet")
        return folder if kind == "folder" else folder / "all.parquet"

    data = write(["who", "device", "x", "y"])
    assert desk.release(data, "--unit", "1", "--cap", 1, "--total", 1, epsilon=0.1)[0] == 0
    # The name and the number of a column mean the same column.
    assert desk.release(data, "--unit", "who", "--cap", 1, epsilon=0.1)[0] == 0
    write(["device", "who", "x", "y"])
    status, said = desk.release(data, "--unit", "1", "--cap", 1, epsilon=0.1)
    assert status == 3
    assert "unit_column = device is refused" in said
    assert desk.release(data, "--unit", "2", "--cap", 1, epsilon=0.1)[0] == 0
    entries = Budget(desk.place / "b.db").datasets()[0].entries
    assert {one.what["unit_column"] for one in entries} == {"who"}


def test_two_columns_of_one_name_tell_no_persons_apart(desk: Desk) -> None:
    path = desk.place / "rides.csv"
    path.write_text("x,y,id,id\n0.1,0.2,1,2\n")
    for unit in ("id", "id (2)", "3", "4"):
        status, said = desk.release(path, "--unit", unit, "--cap", 1, "--total", 1)
        assert status == 2
        assert 'has several columns "id", and one of them is the column of persons' in said
    header = ("--header", "x,y,person,device", "--unit")
    path.write_text("0.1,0.2,1,2\n")
    assert desk.release(path, *header, "3", "--cap", 1, "--total", 1)[0] == 0
    (entry,) = Budget(desk.place / "b.db").datasets()[0].entries
    assert entry.what["unit_column"] == "person"
    assert desk.release(path, *header, "device", "--cap", 1)[0] == 3


@pytest.mark.parametrize("kind", ["table", "counts", "folder", "npy", "open file"])
def test_python_knows_what_was_read(desk: Desk, kind: str) -> None:
    """Files that library functions read are protected in the same way as on the command line."""
    place, part = desk.place, desk.place / "trips" / "part-0.parquet"
    np.savetxt(place / "grid.csv", np.ones((4, 4)), fmt="%d", delimiter=",")
    np.save(place / "points.npy", np.full((9, 2), 0.5))
    domain = Domain(((0.0, 1.0), (0.0, 1.0)))

    def opened() -> Dataset:
        with part.open("rb") as file:
            return read_table(file).select(["x", "y"])

    data: dict[str, Callable[[], Dataset | Stored]] = {
        "table": lambda: read_table(part, unreadable="missing").select(["x", "y"]),
        "counts": lambda: read_counts(place / "grid.csv", domain=domain),
        "folder": lambda: stored(part.parent, ["x", "y"]),
        "npy": lambda: read_table(str(place / "points.npy")).select(),
        "open file": opened,
    }
    request = Request(config=Config(method="privqt", epsilon=0.4, grid=4), domain=domain)

    def run(source: str) -> None:
        draw.release(
            data[kind](), request, budget=Budget(place / "b.db"), source=source, total=1.0,
            folder=place / "out" / source,
        )  # fmt: skip

    run("first")
    with pytest.raises(PrivacyRefusal, match='was released as source "first" before'):
        run("second")
    assert desk.spent() == {"first": 0.4}


def test_python_names_the_persons_that_were_read(desk: Desk) -> None:
    domain = Domain(((0.0, 1.0), (0.0, 1.0)))
    config = Config(method="privqt", epsilon=0.4, grid=4, neighbours=Neighbours(cap=2))

    def run(data: Dataset | Stored, unit: str) -> None:
        request = Request(config=config, domain=domain, unit=unit)
        draw.release(
            data, request, budget=Budget(desk.place / "b.db"), source="rides", total=1.0,
            folder=desk.place / "out" / unit,
        )  # fmt: skip

    folder = desk.place / "trips"
    table = read_table(folder / "part-0.parquet").select(["x", "y"], unit="who")
    with pytest.raises(InputError, match='"rider" is not what was read: the data'):
        run(table, "rider")
    run(table, "3")
    with pytest.raises(InputError, match="needs stored records with a limited number"):
        run(stored(folder, ["x", "y"]), "who")
    with capped(stored(folder, ["x", "y"]), "who", 2) as few:
        run(few, "who")
    entries = Budget(desk.place / "b.db").datasets()[0].entries
    assert [one.what["unit_column"] for one in entries] == ["who", "who"]


def test_a_budget_file_without_its_note_is_said(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = desk.place / "trips"
    assert "no note" not in desk.release(data, "--total", 1, epsilon=0.2)[1]
    monkeypatch.setenv("DPVIZ_HOME", str(desk.place / "elsewhere"))
    for _ in range(2):  # reading the budget changes nothing
        assert main(["budget", str(desk.place / "b.db"), "--json"]) == 0
        printed = desk.capture.readouterr()
        assert json.loads(printed.out)
        assert f"has no note in {desk.place}" in printed.err or "has no note in " in printed.err
        assert "set DPVIZ_HOME to the folder with its note" in printed.err
    assert "has no note in " in desk.release(data, epsilon=0.2)[1]
    assert "has no note in " not in desk.release(data, epsilon=0.2)[1]


@pytest.mark.parametrize("kind", ["csv", "folder"])
def test_the_number_of_the_column_of_persons_leaves_it_out_of_the_others(
    desk: Desk, kind: str
) -> None:
    frame = pd.DataFrame({"who": [1], "x": [0.1], "y": [0.2]})
    path = desk.place / ("rides.csv" if kind == "csv" else "rides")
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        path.mkdir()
        frame.to_parquet(path / "all.parquet")
    common = ("release", path, "--unit", 1, "--cap", 1, "--domain", "0,1;0,1", "--method", "privqt")
    common += ("--epsilon", 0.4, "--budget-file", desk.place / "b.db", "--total", 1)
    assert main([*map(str, common), "--out", str(desk.place / "out")]) == 0, (
        desk.capture.readouterr()
    )
