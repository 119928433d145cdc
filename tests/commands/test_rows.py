"""Rows that can't be read, or that are far away, on the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpviz.commands.command_line import main
from dpviz.data.reading.read import read_table
from tests.data.reading.test_unread import as_csv, table_of

RUN = ("--columns", "lon,lat", "--method", "privthr", "--grid", "8")


def called(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main([str(one) for one in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_rows_are_listed_and_left_out_by_an_option(capsys, tmp_path) -> None:
    path = tmp_path / "a.csv"
    data = as_csv(table_of(300, r47lat="n.v.", r9lon="west", r12lat="")) + b"1,2\n"
    path.write_bytes(data)
    status, out, err = called(capsys, "run", path, *RUN)
    assert (status, out) == (2, "")
    assert err.splitlines() == [
        'not read: row 9, column "lon": "west"',
        'not read: row 47, column "lat": "n.v."',
        "not read: row 302: 2 fields where most have 3",
        'dpviz: row 9, column "lon" holds "west" where a number is expected: correct the cell or '
        "choose another column, or leave these 3 rows out with --leave-out.",
    ]
    status, out, err = called(capsys, "run", path, *RUN, "--leave-out", "--json")
    assert status == 0
    assert err.splitlines()[:3] == [
        'left out: row 9, column "lon": "west"',
        'left out: row 47, column "lat": "n.v."',
        "left out: row 302: 2 fields where most have 3",
    ]
    report: dict[str, Any] = json.loads(out)["data"]
    released = read_table(data, unreadable="missing").select(["lon", "lat"], unreadable="missing")
    assert (report["n"], report["dropped"]) == (released.n, released.dropped) == (297, 4)
    assert report["notes"][:1] == list(released.notes)
    # The result is the same when the file is read part by part.
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "a.csv").write_bytes(data)
    status, _, err = called(capsys, "run", folder, *RUN, "--domain", "13,14;52,53")
    assert status == 2
    assert "--leave-out" in err
    given = ("--domain", "13,14;52,53", "--leave-out", "--json")
    status, out, _ = called(capsys, "run", folder, *RUN, *given)
    assert status == 0
    stored = json.loads(out)["data"]
    assert (stored["n"], stored["dropped"]) == (297, 4)


def test_a_far_row_is_named_with_the_domain_that_leaves_it_out(capsys, tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(as_csv(table_of(300, r47lat=513412)))
    status, out, _ = called(capsys, "run", path, *RUN, "--json")
    assert status == 0
    (note,) = json.loads(out)["data"]["notes"]
    assert 'row 47, column "lat": "513412"' in note
    box = "13.0,13.96;52.0,52.88"
    assert note.endswith(f'. --domain "{box}" --outside drop leaves this row out.')
    taken = ("--domain", box, "--outside", "drop", "--json")
    status, out, _ = called(capsys, "run", path, *RUN, *taken)
    report = json.loads(out)["data"]
    assert (report["n"], report["outside"]) == (299, 1)
    assert not [one for one in report["notes"] if "far" in one]


def test_a_grid_of_counts_has_no_rows_to_leave_out(capsys, tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2\n3,4\n")
    status, _, err = called(capsys, "run", path, "--counts", "--leave-out", "--method", "privthr")
    assert status == 2
    assert "--leave-out can't be used with --counts" in err
