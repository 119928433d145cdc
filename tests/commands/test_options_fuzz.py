"""With any options, a command ends soon: it succeeds, or prints an error of one sentence."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import socket
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpviz.commands.command_line import main
from dpviz.experiments.illustrations import FIGURES
from dpviz.families import CARDS
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.parameters import CELLS, STARTS, TEMPERATURES
from dpviz.kmeans.schedule import SCHEDULES
from dpviz.kmeans.space import GEOMETRIES
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER

LINES = 1_000
PARTS = 16
#: CPU seconds (other programs do not change them), and seconds of waiting for an event.
SECONDS, WAITING = 20, 60

ROWS = [f"{i % 7},{i % 5}.5,p{i % 9},{'ab'[i % 2]}" for i in range(60)]
FILES = {
    "good.csv": "x,y,who,kind\n" + "\n".join(ROWS),
    "two.csv": "x,y\n" + "\n".join(row[: row.index(",p")] for row in ROWS),
    "wide.tsv": "a\tb\tc\n" + "\n".join(f"{i}\t{i * i % 11}\t{-i}" for i in range(40)),
    "hostile.csv": '"=1+1","<b>x\x1b[31m"\n' + "\n".join(f"{i},{i % 3}" for i in range(30)),
    "numbers.csv": "\n".join(f"{i % 4},{i % 3}" for i in range(30)),
    "same.csv": "x,y\n" + "1,1\n" * 20,
    "huge.csv": "x,y\n1e308,-1e308\n-1e308,1e308\n0,0\n1,1\n",
    "one.csv": "x,y\n1,2\n",
    "text.csv": "name,city\n" + "ann,oslo\n" * 9,
    "counts.csv": "1,2,3\n4,0,6\n7,8,9\n",
    "many_counts.csv": "100000000,1\n1,99999999\n",
    "header.csv": "x,y\n",
    "empty.csv": "",
    "spaces.csv": " " * 5000,
    "garbage.parquet": "PAR1\x00\xff",
    "not_a_budget.db": "x" * 200,
}

NUMBERS = [
    "nan", "inf", "-inf", "-1", "0", "-0.0", "1e308", "1e-308", "1e400", "", " ", "x", "½", "１２",
    "1_000", "0x10", "1e", "--", "-", "9" * 400, "9" * 5000, "+1", "٣", "1,2", "2.5", "-5,5",
    str(2**63), str(2**63 - 1), str(-(2**63)), "1000001", "\n", "\udcff",
]  # fmt: skip
TEXTS = [
    "", " ", "\n", "a\nb", "=1+1", "-x", "ж", "\udcff", "x" * 3000, "../..", "%s%n", "{}", "<b>",
    "'\"", "∞", "\x1b[31m", "a,b", ",", ";", "1", "0", "None", "x", "y", "who", "\u202e",
]  # fmt: skip
PATHS = [
    *("", ".", "..", "/", "/dev/null", "/dev/full", "nowhere/at/all.csv", "folder", "x" * 300),
    *(
        "good.csv",
        "good.csv/x",
        "~",
        "~nobody/x",
        "\udcff.csv",
        "new\nline.csv",
        "http://a.invalid/x",
    ),
    *("s3://b/x.parquet", "file:///etc/passwd", "*.csv", "-", "--", "|", "/proc/self/mem"),
]
OUTS = [
    "out.csv",
    "out.parquet",
    "out.csv.gz",
    "OUT.CSV",
    "folder/out.csv",
    "out",
    "=out.csv",
    "é.csv",
]
DATA = [*FILES, "counts.npy", "points.npy", "spirals", "incomes", "PIPE"]
DOMAINS = [
    "0,10;0,10", "-5,5;-5,5", "data", "0,1", "0,0;0,1", "5,1;0,1", "0,nan;0,1", "0,inf;0,1", "0;1",
    "0,1e308;0,1e308", "-1e308,1e308;-1e308,1e308", "0,1e-320;0,1", "0,1;0,1;0,1", ";", "here",
    "1e16,10000000000000002;0,1", "0,10;0,10;", "\udcff",
]  # fmt: skip

Line = list[str]


def pick(rng: random.Random, good: list[str], bad: list[str], share: float = 0.15) -> str:
    """A valid value; with probability ``share`` any value."""
    return rng.choice(bad if rng.random() < share else good)


def number(rng: random.Random, *good: str) -> str:
    return pick(rng, list(good), NUMBERS)


def method(rng: random.Random) -> str:
    return pick(rng, list(CARDS), TEXTS, 0.05)


#: A value for every option; whether it is valid depends on the command.
VALUES: dict[str, Callable[[random.Random], str]] = {
    "--epsilon": lambda rng: number(rng, "1", "0.1", "20", "1e-9", "1e9"),
    "--alpha": lambda rng: number(rng, "0.5", "0.9", "1e-12"),
    "--grid": lambda rng: number(rng, "4", "8", "8,4", "2", "3,7", "4,4,4", "128", "999999"),
    "--density": lambda rng: number(rng, "0.3", "0.58", "1e-300", "0.9999999999"),
    "--wavelet": lambda rng: pick(rng, ["haar", "db2", "bior1.3", "sym5"], [*TEXTS, "mexh"]),
    "--level": lambda rng: number(rng, "1", "2", "3"),
    "--synopsis": lambda rng: pick(rng, ["quadtree", "privelet", "uniform_grid"], TEXTS),
    "--clusters": lambda rng: number(rng, "1", "2", "3", "8", "60", "1000"),
    "--iterations": lambda rng: number(rng, "1", "2", "5"),
    "--start": lambda rng: pick(rng, list(STARTS), TEXTS),
    "--schedule": lambda rng: pick(rng, list(SCHEDULES), TEXTS),
    "--geometry": lambda rng: pick(rng, list(GEOMETRIES), TEXTS),
    "--temperature": lambda rng: pick(rng, list(TEMPERATURES), TEXTS),
    "--cells": lambda rng: pick(rng, list(CELLS), TEXTS),
    "--choose": lambda rng: pick(rng, ["given", "private"], TEXTS),
    "--variant": lambda rng: pick(rng, ["sound", "published"], TEXTS),
    "--columns": lambda rng: pick(
        rng, ["x,y", "1,2", "y,x"], [*TEXTS, "x,x", '"', "0", "-1,2"], 0.5
    ),
    "--domain": lambda rng: rng.choice(DOMAINS),
    "--outside": lambda rng: pick(rng, ["clip", "drop"], TEXTS),
    "--unit": lambda rng: pick(rng, ["who", "kind"], TEXTS),
    "--cap": lambda rng: number(rng, "1", "3", "100"),
    "--classes": lambda rng: pick(rng, ["kind", "who"], TEXTS),
    "--neighbours": lambda rng: pick(rng, ["add_remove", "replace_one"], TEXTS),
    "--seed": lambda rng: number(rng, "0", "7", str(2**63 - 1), str(2**53)),
    "--repeats": lambda rng: number(rng, "1", "2", "3"),
    "--jobs": lambda rng: pick(rng, ["1"], ["0", "-1", "x", "nan", "", "1.5", "9" * 5000]),
    "--labels": lambda rng: pick(rng, OUTS, PATHS),
    "--missing": lambda rng: pick(rng, ["-,NA", "1", "-9999"], [*TEXTS, *NUMBERS], 0.3),
    "--skip": lambda rng: number(rng, "0", "1", "3"),
    "--encoding": lambda rng: pick(
        rng, ["utf-8", "cp1252"], [*TEXTS, "utf-16", "hex", "idna"], 0.4
    ),
    "--part": lambda rng: pick(rng, ["a"], TEXTS),
    "--method": method,
    "--scores": lambda rng: pick(rng, ["dsg_c", "wcss_ratio", "ocm,two_ce"], TEXTS),
    "--claim": lambda rng: number(rng, "1", "0.5"),
    "--scenario": lambda rng: pick(rng, ["largest_cell", "neighbours"], TEXTS),
    "--source": lambda rng: pick(rng, ["survey", "Umfrage ä"], TEXTS),
    "--total": lambda rng: number(rng, "3", "1000"),
    "--title": lambda rng: pick(rng, ["A title", "<script>"], TEXTS),
    "--out": lambda rng: pick(rng, OUTS, PATHS),
}
FLAGS = ["--json", "--counts", "--no-header", "--has-header", "--resume", "--list", "--help",
         "--nothing", "-x"]  # fmt: skip
READING = ["--missing", "--skip", "--encoding", "--part"]
COMMON = ["--columns", "--domain", "--outside", "--unit", "--cap", "--neighbours", "--seed"]
OF_WAVECLUSTER = ["--alpha", "--grid", "--density", "--wavelet", "--level", "--synopsis"]
OF_KMEANS = ["--clusters", "--iterations", "--start", "--schedule", "--geometry", "--temperature",
             "--cells", "--choose"]  # fmt: skip


def options(rng: random.Random, names: list[str], most: int = 3) -> Line:
    """Some options and their values, in both spellings."""
    line: Line = []
    for name in rng.choices(names, k=rng.randrange(most + 1)):
        value = VALUES[name](rng)
        line += [f"{name}={value}"] if rng.random() < 0.3 else [name, value]
    return line


def data(rng: random.Random) -> str:
    return pick(rng, ["two.csv", "two.csv", "good.csv", "wide.tsv"], [*DATA, *PATHS], 0.35)


def a_run(rng: random.Random) -> Line:
    name = method(rng)
    family = OF_KMEANS if name in KMEANS else OF_WAVECLUSTER
    line = ["run", data(rng), "--method", name]
    if rng.random() < 0.6:
        line += ["--clusters", "3"] if name in KMEANS else ["--grid", "8", "--density", "0.3"]
    several = [*COMMON, *family, *family, "--epsilon", "--repeats", "--labels", "--variant"]
    line += options(rng, READING, 1) if rng.random() < 0.2 else []
    return line + options(rng, [*several, "--classes"])


def a_sweep(rng: random.Random) -> Line:
    methods = ",".join(
        rng.sample([*WAVECLUSTER, "dplloyd", "eugkm", "magic", ""], k=rng.choice([1, 2]))
    )
    epsilons = rng.choice(["1", "0.5,1", "1,1", "nan", "", ",", "1,x", "-1", "0", "1e400"])
    line = ["sweep", data(rng), "--methods", methods, "--epsilons", epsilons, "--out"]
    line += [pick(rng, ["sweep.csv", "sweep.parquet"], [*OUTS, *PATHS]), "--repeats", "2"]
    line += ["--grid", "8"] if rng.random() < 0.5 else []
    return line + options(
        rng, [*COMMON, *OF_WAVECLUSTER, *OF_KMEANS, "--repeats", "--jobs", "--scores"], 2
    )


def a_figure(rng: random.Random) -> Line:
    line = ["figures", pick(rng, list(FIGURES), [*TEXTS, "000-5,", "all"], 0.6), "--repeats", "1"]
    of = pick(
        rng, ["two.csv", "two.csv:grid=8"], [*PATHS, "two.csv:grid=x", "two.csv:a=1", "a:=:"], 0.5
    )
    line += [
        "--data",
        of + ":density=0.3" * rng.randrange(2),
        "--out",
        pick(rng, ["figures"], PATHS),
    ]
    return line + options(
        rng, ["--domain", "--seed", "--variant", "--repeats", "--jobs", "--columns"], 2
    )


def an_audit(rng: random.Random) -> Line:
    line = ["audit", method(rng)]
    line += rng.choice([["--list"], ["--runs", rng.choice(["1", "0", "-3", "x", "60", "nan"])]])
    return line + options(rng, ["--variant", "--claim", "--scenario", "--seed"], 2)


def an_entry(rng: random.Random) -> Line:
    target = pick(rng, ["dpviz:DPLloyd", "nowhere.py"], [*TEXTS, "good.csv:x", "sys:exit"], 0.5)
    line = ["benchmark", target, "--set", "domain=0,1;0,1", "--sets", "tiny4"]
    line += ["--methods", pick(rng, ["dplloyd"], TEXTS), "--epsilons", number(rng, "1")]
    return [*line, "--repeats", number(rng, "1", "2"), *options(rng, ["--out", "--jobs"], 1)]


def a_release(rng: random.Random) -> Line:
    line = ["release", data(rng), "--method", method(rng), "--epsilon", number(rng, "1", "0.5")]
    line += ["--budget-file", pick(rng, ["budget.db"], [*PATHS, "not_a_budget.db"])]
    line += ["--out", pick(rng, [f"released{rng.randrange(10**9)}"], PATHS)]
    line += ["--domain", "0,10;0,10"] if rng.random() < 0.7 else []
    line += ["--total", "1000"] if rng.random() < 0.7 else []
    line += ["--source", "survey"] if rng.random() < 0.3 else []
    return line + options(
        rng, [*COMMON, *OF_KMEANS, *OF_WAVECLUSTER, "--title", "--source", "--total"]
    )


def a_conversion(rng: random.Random) -> Line:
    line = ["convert", data(rng), pick(rng, ["new.csv", "new.parquet"], [*OUTS, *PATHS], 0.3)]
    return line + options(rng, [*READING, "--columns"], 1)


def a_sample(rng: random.Random) -> Line:
    name = pick(rng, ["incomes", "spirals"], TEXTS)
    return ["sample", name, *rng.choice([["--list"], [], options(rng, ["--out"], 2)])]


def a_budget(rng: random.Random) -> Line:
    return ["budget", pick(rng, ["budget.db"], [*PATHS, *FILES])]


def nonsense(rng: random.Random) -> Line:
    return rng.choices(
        [*TEXTS, *FLAGS, *NUMBERS, *VALUES, "run", "sample", "two.csv"], k=rng.randrange(5)
    )


COMMANDS = {
    a_run: 50, a_sweep: 12, a_figure: 3, an_audit: 5, an_entry: 2, a_release: 14, a_conversion: 8,
    a_sample: 5, a_budget: 4, nonsense: 5, lambda rng: ["methods"]: 2,
}  # fmt: skip


def a_line(rng: random.Random) -> Line:
    """One command line, in which a few or many parts may be damaged."""
    (command,) = rng.choices(list(COMMANDS), list(COMMANDS.values()))
    line = command(rng)
    line += ["--json"] if rng.random() < 0.6 else []
    while line and rng.random() < 0.12:
        place = rng.randrange(len(line))
        damage = rng.randrange(4)
        if damage == 0:
            del line[place]
        elif damage == 1:
            line.insert(place, rng.choice([*FLAGS, *TEXTS]))
        elif damage == 2:
            line.append(line[place])
        else:
            line[place] = rng.choice([*TEXTS, *NUMBERS, *PATHS])
    if "audit" in line and not {"--runs", "--list"} & set(line):
        line += ["--runs", "60"]  # the default number of runs would take minutes
    return line


class HangError(BaseException):
    """Raised in a command that takes too long; no error handler catches it."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder in which commands may not connect to any host."""
    np.save(tmp_path / "counts.npy", np.arange(9).reshape(3, 3))
    np.save(tmp_path / "points.npy", np.random.default_rng(0).random((50, 2)))
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    asked: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, where: asked.append(where))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *where, **_: asked.append(where))
    yield tmp_path
    assert asked == []


def write_files() -> None:
    """Write all text files again, because a command may have changed them."""
    for name, content in FILES.items():
        with open(name, "wb") as file:
            file.write(content.encode())


def with_pipe(line: Line) -> tuple[Line, int]:
    """Replace PIPE in a command line by a pipe with data; return the pipe's number, too."""
    reading, writing = os.pipe()
    os.write(writing, FILES["two.csv"].encode())
    os.close(writing)
    return [f"/dev/fd/{reading}" if part == "PIPE" else part for part in line], reading


def stop(*_: object) -> None:
    raise HangError


@pytest.mark.daily("7")
@pytest.mark.parametrize("part", range(PARTS))
def test_every_line_ends_soon_and_in_one_sentence(part, folder, capsys, monkeypatch):
    rng = random.Random(part)
    seen: Counter[object] = Counter()
    before = [signal.signal(one, stop) for one in (signal.SIGPROF, signal.SIGALRM)]
    try:
        for _ in range(LINES // PARTS):
            line = a_line(rng)
            write_files()
            given, pipe = with_pipe(line)
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x,y\n1,2\n3,4\n5,6\n")))
            capsys.readouterr()
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.alarm(WAITING)
            try:
                status: object = main(given)
            except SystemExit as end:
                status = ("help", end.code)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.alarm(0)
                os.close(pipe)
            check(line, status, *capsys.readouterr())
            seen[status] += 1
    finally:
        for one, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(one, handler)
    # Many of the command lines succeed, and many are refused.
    assert min(seen[0], seen[2]) > LINES // PARTS // 8


def check(line: Line, status: object, out: str, err: str) -> None:
    """Assert that one command line kept the contract."""
    assert "Traceback" not in err, line
    said = [one for one in err.splitlines() if not one.startswith("note: ")]
    if status == ("help", 0):
        assert {"--help", "-h", "--hel", "--he"} & set(line), line
        assert "usage: dpviz" in out, line
    elif status == 0:
        assert said == [], (line, err)
        if "--json" in line:
            assert isinstance(json.loads(out), dict), line
            assert out.count("\n") == 1, line
        assert out.strip(), line
    else:
        assert status in (2, 3), (line, status, err)
        assert out == "", (line, out)
        assert len(said) == 1, (line, err)
        assert said[0].startswith("dpviz: "), (line, err)
        assert said[0].endswith("."), (line, err)
        assert status == 2 or said[0].startswith("dpviz: refused: "), (line, err)
