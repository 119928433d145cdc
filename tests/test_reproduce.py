"""The command and the Python lines on the screen repeat the run."""

import json
import shlex

import numpy as np
import pytest

from dpviz.commands.command_line import main
from dpviz.commands.reproduce import Reproduction, command, python_lines
from dpviz.data.reading.read import read_counts, read_table
from dpviz.data.samples import load_sample
from dpviz.data.units import cap_records
from dpviz.grid.domain import Domain
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.parameters import DEFAULTS, KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.truth import run_kmeans
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import run


def of_a_file(tmp_path):
    path = tmp_path / "it's a table.csv"
    path.write_bytes(b"a,b b,c\n" + b"".join(b"%d,x,%d\n" % (i % 9, i % 11) for i in range(99)))
    data = read_table(str(path)).select(("a", "c"))
    return data, str(path), data.columns


def of_a_sample(tmp_path):
    return load_sample("incomes"), "incomes", None


def in_python(lines):
    """Model after a run of the Python lines."""
    found: dict = {}
    exec(python_lines(lines).replace("print(", "("), found)
    return found["model"]


def on_the_command_line(capsys, lines):
    assert main([*shlex.split(command(lines))[3:], "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("origin", [of_a_sample, of_a_file])
@pytest.mark.parametrize("method", WAVECLUSTER)
def test_python_and_command_repeat_the_run(capsys, tmp_path, method, origin):
    data, name, columns = origin(tmp_path)
    config = Config(
        method=method, grid=16, density=0.37, epsilon=0.3123456, alpha=0.61, wavelet="db2",
        level=2, synopsis="quadtree", variant="published",
    )  # fmt: skip
    source = Source.build(data, 16, outside="drop")
    expected = run(source, config, SeededNoise(12))
    lines = Reproduction(
        data=name, columns=columns, domain=source.domain, outside="drop", config=config, seed=12
    )
    assert np.array_equal(in_python(lines).label_grid_, expected.stages.labels)
    report = on_the_command_line(capsys, lines)
    if WAVECLUSTER[method].card.spends:
        assert report["private"][0]["cluster_sizes"] == expected.stages.cluster_sizes.tolist()
        assert report["private"][0]["threshold"] == pytest.approx(expected.stages.threshold.value)
    else:
        assert report["true"]["cluster_sizes"] == expected.stages.cluster_sizes.tolist()


def repeated(capsys, dataset, **given):
    """Check that both kinds of lines repeat a run on a file."""
    source = Source.build(dataset, 8)
    config = Config(method="privthr", density=0.4, grid=8)
    expected = run(source, config, SeededNoise(5))
    lines = Reproduction(
        columns=dataset.columns, domain=source.domain, outside="clip", config=config, seed=5,
        **given,
    )  # fmt: skip
    assert np.array_equal(in_python(lines).label_grid_, expected.stages.labels)
    report = on_the_command_line(capsys, lines)
    assert report["private"][0]["cluster_sizes"] == expected.stages.cluster_sizes.tolist()


@pytest.mark.parametrize("counts", [False, True])
def test_a_part_is_repeated_by_its_name(capsys, tmp_path, counts):
    rows = np.random.default_rng(0).poisson(3, (20, 24))
    if not counts:
        rows = np.stack([np.arange(99) % 9, np.arange(99) % 11], axis=1)
    path = tmp_path / "two.npz"
    np.savez(path, other=np.ones((3, 2)), **{"it's one": rows})
    read = (lambda *a, **k: read_table(*a, **k).select()) if not counts else read_counts
    data = read(str(path), part="it's one")
    repeated(capsys, data, data=str(path), counts=counts, sheet="it's one")


@pytest.mark.parametrize("missing", [("-9999", "a,b"), ("-",), ("--json",), ("--",)])
def test_how_a_file_is_read_is_repeated(capsys, tmp_path, missing):
    path = tmp_path / "a.csv"
    rows = "".join(f"{at % 9};{at % 11};Köln\n" for at in range(99))
    path.write_bytes(f"about\nall this;-;x\na;b;city\n{rows}{missing[0]};3;y\n".encode("cp1252"))
    given = {"skip": 2, "encoding": "cp1252", "missing": missing}
    data = read_table(str(path), **given).select(("a", "b"))
    assert (data.n, data.dropped) == (99, 1)
    repeated(capsys, data, data=str(path), **given)


def test_rows_left_out_are_left_out_again(capsys, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{at % 9},{at % 11}\n" for at in range(99)) + "x,3\n5\n")
    data = read_table(path, unreadable="leave out").select(unreadable="leave out")
    assert data.dropped == 2
    repeated(capsys, data, data=str(path), leave_out=True)


def test_a_grid_of_counts_is_repeated_as_counts(capsys, tmp_path):
    path = tmp_path / "counts.npy"
    np.save(path, np.random.default_rng(0).poisson(3, (20, 24)))
    data = read_counts(str(path))
    repeated(capsys, data, data=str(path), counts=True)


#: For every choice, a value that is not its default.
OTHER = {
    "iterations": 3,
    "start": "random",
    "schedule": "uniform",
    "geometry": "l1",
    "temperature": "posterior",
    "cells": "refined",
    "choose": "private",
}


def assert_repeated(capsys, lines, expected):
    model = in_python(lines)
    assert np.array_equal(model.cluster_centers_, expected.centers)
    assert model.ledger_.spends == expected.ledger.spends
    report = on_the_command_line(capsys, lines)
    shown = report["private"][0] if expected.ledger.spends else report["true"]
    # A report uses the numbers of the true clusters; a run numbers its clusters by position.
    assert sorted(shown["centers"]) == sorted(expected.centers.tolist())


@pytest.mark.parametrize("origin", [of_a_sample, of_a_file])
@pytest.mark.parametrize("method", KMEANS)
def test_python_and_command_repeat_a_run_of_kmeans(capsys, tmp_path, method, origin):
    data, name, columns = origin(tmp_path)
    config = KMeansConfig(
        method=method, clusters=4, epsilon=0.3123456, variant="published",
        neighbours=Neighbours(relation="replace_one"),
        **{choice: OTHER[choice] for choice in DEFAULTS[method]},
    )  # fmt: skip
    domain = Domain(tuple((-0.25, hi * 0.9) for hi in data.points.max(axis=0)))
    records = Records.build(data, domain, "drop")
    assert records.n < data.n
    expected = run_kmeans(records, config, SeededNoise(12))
    lines = Reproduction(
        data=name, columns=columns, domain=domain, outside="drop", config=config, seed=12
    )
    assert_repeated(capsys, lines, expected)


@pytest.mark.parametrize("method", ["kmeans", "dplloyd", "eugkm"])
def test_defaults_of_kmeans_are_repeated_on_the_range_of_the_data(capsys, tmp_path, method):
    data, name, columns = of_a_file(tmp_path)
    records = Records.build(data)
    config = KMeansConfig(method=method)
    expected = run_kmeans(records, config, SeededNoise(0))
    lines = Reproduction(
        data=name, columns=columns, domain=records.domain, outside="clip", config=config, seed=0
    )
    assert_repeated(capsys, lines, expected)
    assert "--domain data" in command(lines)
    assert "neighbours" not in python_lines(lines)


@pytest.mark.parametrize("method", ["kmeans", "dplloyd", "eugkm"])
def test_kmeans_of_a_grid_of_counts_is_repeated(capsys, tmp_path, method):
    path = tmp_path / "counts.npy"
    np.save(path, np.random.default_rng(0).poisson(3, (20, 24)))
    data = read_counts(str(path))
    records = Records.build(data)
    config = KMeansConfig(method=method, clusters=5)
    expected = run_kmeans(records, config, SeededNoise(5))
    lines = Reproduction(
        data=str(path), columns=data.columns, counts=True, domain=records.domain,
        outside="clip", config=config, seed=5,
    )  # fmt: skip
    assert_repeated(capsys, lines, expected)


PEOPLE = Neighbours(relation="replace_one", cap=2)


@pytest.mark.parametrize("method", ["wavecluster", "privqt", "kmeans", "dplloyd"])
@pytest.mark.parametrize("bounds", ["-1,9;-1,9", None])
def test_persons_are_repeated_with_their_cap(capsys, tmp_path, method, bounds):
    path = tmp_path / "visits.csv"
    rows = np.random.default_rng(0).integers(0, [9, 9, 30], (99, 3))
    path.write_text("a,c,who\n" + "".join(f"{a},{c},p{who}\n" for a, c, who in rows))
    data = cap_records(read_table(str(path)).select(("a", "c"), unit="who"), 2)
    assert data.n < 99
    domain = Domain.parse(bounds) if bounds else Domain.from_data(data.points)
    lines = Reproduction(
        data=str(path), columns=("a", "c"), unit="who", domain=domain, outside="clip", seed=3,
        config=(Config if method in WAVECLUSTER else KMeansConfig)(
            method=method, epsilon=0.7, neighbours=PEOPLE,
            **({"grid": 8} if method in WAVECLUSTER else {"clusters": 3}),
        ),
    )  # fmt: skip
    model = in_python(lines)
    if method in KMEANS:
        expected = run_kmeans(Records.build(data, domain), lines.config, SeededNoise(3))
        assert_repeated(capsys, lines, expected)
        return
    expected = run(Source.build(data, 8, domain), lines.config, SeededNoise(3))
    assert np.array_equal(model.label_grid_, expected.stages.labels)
    assert model.ledger_.spends == expected.ledger.spends
    report = on_the_command_line(capsys, lines)
    shown = report["private"][0] if expected.ledger.spends else report["true"]
    assert shown["cluster_sizes"] == expected.stages.cluster_sizes.tolist()


def printed(capsys, lines):
    """Last output of the Python lines."""
    exec(python_lines(lines), {})
    return float(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.parametrize("method", ["wavecluster", "privqt", "kmeans", "dplloyd"])
@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("outside", ["clip", "drop"])
def test_classes_are_scored_again(capsys, tmp_path, method, unit, outside):
    path = tmp_path / "visits.csv"
    rows = np.random.default_rng(0).integers(0, [9, 9, 30, 3], (99, 4))
    path.write_text("a,c,who,kind\n" + "".join(f"{a},{c},p{who},{k}\n" for a, c, who, k in rows))
    lines = Reproduction(
        data=str(path), columns=("a", "c"), unit=unit, classes="kind", outside=outside, seed=3,
        domain=Domain.parse("0,7;-1,9"),
        config=(Config if method in WAVECLUSTER else KMeansConfig)(
            method=method, epsilon=0.7, **({"neighbours": PEOPLE} if unit else {}),
            **({"grid": 8} if method in WAVECLUSTER else {"clusters": 3}),
        ),
    )  # fmt: skip
    report = on_the_command_line(capsys, lines)
    found = report["metrics"]["class_f"]["values"][0] if report["metrics"] else None
    assert printed(capsys, lines) == pytest.approx(found or report["true"]["class_f"], abs=1e-12)


def test_classes_of_a_sample_need_no_option(capsys):
    config = KMeansConfig(method="eugkm", clusters=2)
    domain = load_sample("incomes").domain
    lines = Reproduction(
        data="incomes", columns=None, classes="class", domain=domain, outside="clip",
        config=config, seed=1,
    )  # fmt: skip
    assert "--classes" not in command(lines)
    report = on_the_command_line(capsys, lines)
    assert printed(capsys, lines) == report["metrics"]["class_f"]["values"][0]
