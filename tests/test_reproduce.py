"""The lines that the screen offers really repeat the run."""

import json
import shlex

import numpy as np
import pytest

from dpviz.command_line import main
from dpviz.comparison import run
from dpviz.config import Config
from dpviz.data.read import read_counts, read_table
from dpviz.data.samples import load_sample
from dpviz.methods import WAVECLUSTER
from dpviz.noise import SeededNoise
from dpviz.pipeline import Source
from dpviz.reproduce import Reproduction, command, python_lines


@pytest.mark.parametrize("own_file", [False, True])
@pytest.mark.parametrize("method", WAVECLUSTER)
def test_python_and_command_repeat_the_run(capsys, tmp_path, method, own_file):
    if own_file:
        path = tmp_path / "it's a table.csv"
        path.write_bytes(b"a,b b,c\n" + b"".join(b"%d,x,%d\n" % (i % 9, i % 11) for i in range(99)))
        data = read_table(str(path)).select(("a", "c"))
        name, columns = str(path), data.columns
    else:
        data, name, columns = load_sample("incomes"), "incomes", None
    config = Config(
        method=method, grid=16, density=0.37, epsilon=0.3123456, alpha=0.61, wavelet="db2",
        level=2, synopsis="quadtree", variant="published",
    )  # fmt: skip
    source = Source.build(data, 16, outside="drop")
    expected = run(source, config, SeededNoise(12))
    lines = Reproduction(
        data=name, columns=columns, domain=source.domain, outside="drop", config=config, seed=12
    )
    found: dict = {}
    exec(python_lines(lines).replace("print(", "("), found)
    assert np.array_equal(found["model"].label_grid_, expected.stages.labels)
    assert main([*shlex.split(command(lines))[3:], "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    if WAVECLUSTER[method].card.spends:
        assert report["private"][0]["cluster_sizes"] == expected.stages.cluster_sizes.tolist()
        assert report["private"][0]["threshold"] == pytest.approx(expected.stages.threshold.value)
    else:
        assert report["true"]["cluster_sizes"] == expected.stages.cluster_sizes.tolist()


def test_a_grid_of_counts_is_repeated_as_counts(capsys, tmp_path):
    path = tmp_path / "counts.npy"
    np.save(path, np.random.default_rng(0).poisson(3, (20, 24)))
    data = read_counts(str(path))
    source = Source.build(data, 8)
    config = Config(method="privthr", density=0.4, grid=8)
    expected = run(source, config, SeededNoise(5))
    lines = Reproduction(
        data=str(path),
        columns=data.columns,
        counts=True,
        domain=source.domain,
        outside="clip",
        config=config,
        seed=5,
    )
    found: dict = {}
    exec(python_lines(lines).replace("print(", "("), found)
    assert np.array_equal(found["model"].label_grid_, expected.stages.labels)
    assert main([*shlex.split(command(lines))[3:], "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["private"][0]["cluster_sizes"] == expected.stages.cluster_sizes.tolist()
