"""One function writes files, under any name, either completely or not at all."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pandas as pd
import pytest

from dpviz.base.replace import replacing
from dpviz.commands.command_line import main
from tests.support import ROOT
from tests.support.disk import files_no_larger_than

#: Bytes that are not UTF-8, as Python represents them in a name.
ODD = os.fsdecode(b"caf\xe9")

#: Calls that write in place because they can't destroy an old file: in new or temporary folders,
#: databases and notes of the program, and the streams of a process.
IN_PLACE = {
    "dpviz/__main__.py",  # standard streams that were closed
    "dpviz/audit/external_runs.py",  # the data of a run, in a temporary folder
    "dpviz/data/conversion.py",  # a file that is open
    "dpviz/data/reading/reader.py",  # an answer on standard output
    "dpviz/data/stored_units.py",  # temporary files
    "dpviz/privacy/lifetime_budget.py",  # a part that is renamed
    "dpviz/release/draw.py",  # a new folder that is renamed
    "dpviz/base/replace.py",
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "points.csv"
    rows = "\n".join(f"{row % 7},{row % 11}" for row in range(300))
    path.write_text(f"x,y\n{rows}\n", encoding="utf-8")
    return path


def commands(table: Path, out: Path) -> dict[str, list[str]]:
    data = [str(table), "--domain", "0,7;0,11", "--grid", "8"]
    return {
        "sample": ["sample", "spirals", "--out", f"{out}.csv"],
        "run": ["run", *data, "--method", "privqt", "--labels", f"{out}.csv"],
        "sweep": ["sweep", *data, "--methods", "privqt", "--epsilons", "1", "--repeats", "2",
                  "--out", f"{out}.parquet"],
    }  # fmt: skip


@pytest.mark.parametrize("command", ["sample", "run"])
def test_on_a_full_disk_the_file_that_was_there_stays(table, tmp_path, command, capsys):
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = commands(table, folder / "points")[command]
    assert main(arguments) == 0
    (path,) = folder.iterdir()
    before = path.read_bytes()
    with files_no_larger_than(1000):
        assert main(arguments) == 2
    assert "File too large" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert list(folder.iterdir()) == [path]


@pytest.mark.parametrize("command", ["sample", "run", "sweep"])
def test_a_name_that_is_no_utf8_is_a_name_as_any_other(table, tmp_path, command, capsys):
    folder = tmp_path / ODD
    folder.mkdir()
    for arguments in (commands(table, folder / ODD)[command],) * 2:
        assert main(arguments) == 0, capsys.readouterr().err
    (path,) = folder.iterdir()
    with path.open("rb") as file:
        found = pd.read_parquet(file) if path.suffix == ".parquet" else pd.read_csv(file)
    assert len(found)


def test_the_figures_of_papers_have_names_that_are_no_utf8(tmp_path):
    assert main(["figures", "000-2", "--repeats", "1", "--out", str(tmp_path / ODD)]) == 0
    assert len(list((tmp_path / ODD).iterdir()))


def test_the_new_file_takes_the_place_of_the_old_one_at_the_end(tmp_path):
    path = tmp_path / ("n" * 255)
    path.write_bytes(b"old")
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path.name)
    with replacing(link) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == link.read_bytes() == b"new"
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert path.read_bytes() == b"new"
    assert {one.name for one in tmp_path.iterdir()} == {path.name, "link"}


def test_a_device_stays_a_device():
    with replacing("/dev/null") as file:
        file.write(b"gone")
    assert Path("/dev/null").is_char_device()


def test_a_folder_and_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "circle").symlink_to("circle")
    for name in (".", "circle", "missing/file"):
        with pytest.raises(OSError, match=r"\w"), replacing(tmp_path / name) as file:
            file.write(b"lost")
    assert os.listdir(tmp_path) == ["circle"]


def test_nothing_else_writes_in_place():
    found = set()
    for path in sorted((ROOT / "dpviz").rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and _writes(call):
                found.add(str(path.relative_to(ROOT)))
    assert found <= IN_PLACE
    assert "dpviz/base/replace.py" in found


def _writes(call: ast.Call) -> bool:
    """Whether a call opens a file for writing, directly or through a library."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name == "open":
        given = [*call.args, *(one.value for one in call.keywords)]
        modes = {one.value for one in given if isinstance(one, ast.Constant)}
        return not modes.isdisjoint({"w", "wb", "x", "xb", "a", "ab"})
    if name == "write_table":  # the function of pyarrow, not our own
        return isinstance(call.func, ast.Attribute)
    return name in {"write_text", "write_bytes", "savez", "to_file"}
