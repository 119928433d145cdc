"""Sweeps: rows do not depend on the way of running, and a kill never loses or repeats a row."""

import json
import math
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpviz.base.errors import InputError
from dpviz.commands import command_line
from dpviz.commands.sweep import sweep_command
from dpviz.data.dataset import Dataset
from dpviz.experiments import sweep
from dpviz.experiments.journal import APPLICATION, KEYS, Store
from dpviz.experiments.sweep import (
    COLUMNS,
    MOST_SEED,
    Plan,
    Subject,
    SweepCancelled,
    differences,
    rows_of,
    run_sweep,
    subject_of_sample,
    summary,
)
from dpviz.families import FAMILIES, SCORES, trial_of
from dpviz.family.family import AbstractFamily
from dpviz.family.score import OF_CLASSES
from dpviz.grid.domain import Domain
from dpviz.privacy.ledger import Neighbours
from tests.support.disk import files_no_larger_than
from tests.support.read_only import obey_modes

BOX, SMALL = Domain(((0, 1), (0, 1))), Domain(((0.3, 0.7), (0, 1)))


def blobs(n=400, d=2, seed=0):
    generator = np.random.default_rng(seed)
    centres = generator.uniform(0.2, 0.8, (3, d))
    points = centres[generator.integers(3, size=n)] + generator.normal(0, 0.04, (n, d))
    return np.clip(points, 0, 1)


def subject(name="blobs", seed=0, **more):
    settings = {"grid": 16, "density": 0.3, "clusters": 3}
    given = {"dataset": Dataset(name=name, points=blobs(seed=seed)), "domain": BOX}
    return Subject(**{"name": name, "title": name, "settings": settings, **given, **more})


def plan(**more):
    given = {
        "subjects": (subject("one"), subject("two", seed=1)),
        "methods": ("dplloyd", "privthr", "baseline"),
        "epsilons": (1.0, 0.5),
        "seeds": tuple(range(5)),
    }
    return Plan(**{**given, **more})


@pytest.fixture
def small_parts(monkeypatch):
    """Cut the work into parts of two seeds."""
    monkeypatch.setattr(sweep, "MOST_SEEDS", 2)


def same(found, expected):
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


# -- rows --------------------------------------------------------------------------------


def test_rows_are_the_draws_of_their_trials_in_the_order_of_the_plan():
    asked = plan(scores=("dsg_c", "k", "nicv_ratio", "ocm"))
    table = run_sweep(asked)
    assert list(table.columns) == [*COLUMNS, "dsg_c", "k", "nicv_ratio", "ocm"]
    keys = [
        (data.name, method, epsilon, seed)
        for data in asked.subjects
        for method in ("dplloyd", "privthr", "baseline")
        for epsilon in (0.5, 1.0)
        for seed in range(5)
    ]
    shown = table[["data", "method", "epsilon", "seed"]]
    assert list(shown.itertuples(index=False, name=None)) == keys
    assert table["run"].is_unique
    assert table["run"].str.fullmatch("[0-9a-f]{16}").all()
    for row in table.iloc[[3, 17, 22, 58]].itertuples():
        data = next(one for one in asked.subjects if one.name == row.data)
        config = sweep._setting(asked, data, row.method, row.epsilon, {}).config
        trial = trial_of(data.dataset, config, BOX)
        one = trial.draw(row.seed)
        if row.method == "dplloyd":
            assert trial.scores(one, row.seed, ("nicv_ratio",))["nicv_ratio"] == row.nicv_ratio
            assert math.isnan(row.dsg_c)
            assert math.isnan(row.k)
        else:
            expected = trial.scores(one, row.seed, ("dsg_c", "ocm"))
            assert (expected["dsg_c"], expected["ocm"], one.k) == (row.dsg_c, row.ocm, row.k)
            assert math.isnan(row.nicv_ratio)


def test_another_parameter_runs_along_the_axis():
    asked = plan(
        methods=("privthr", "privthrem"), scores=("dsg_c",), axis="alpha", values=(0.9, 0.2, 0.9),
        options={"privthr.alpha": 0.5}, seeds=(0, 1),
    )  # fmt: skip
    assert (asked.values, asked.settings) == ((0.2, 0.9), 4)
    table = run_sweep(asked)
    assert list(table.columns) == [*COLUMNS, "dsg_c"]
    keys = [
        (data.name, method, epsilon, alpha, seed)
        for data in asked.subjects
        for method in ("privthr", "privthrem")
        for epsilon in (0.5, 1.0)
        for alpha in (0.2, 0.9)
        for seed in range(2)
    ]
    shown = table[["data", "method", "epsilon", "alpha", "seed"]]
    assert list(shown.itertuples(index=False, name=None)) == keys
    # The row is equal to the row of a sweep with only this option, and has the same name.
    for alpha in (0.2, 0.9):
        same(
            table[table["alpha"] == alpha].reset_index(drop=True),
            run_sweep(replace(asked, axis="epsilon", values=(), options={"alpha": alpha})),
        )
    same(rows_of(table, asked), table)
    found = summary(table, "dsg_c", "alpha")
    assert list(found.columns[:5]) == ["data", "method", "variant", "epsilon", "alpha"]
    assert (found["draws"] == 2).all()
    assert len(found) == 2 * 2 * 2 * 2


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"axis": "alpha"}, "values of the axis alpha are missing: give 1 or more"),
        ({"values": (0.5,)}, "of the axis epsilon are 0.5: leave them out"),
        ({"axis": "level", "values": (1,)}, 'axis = "level" does not apply to privthr: '),
        ({"axis": "grid", "values": (16.5,)}, "grid = 16.5 is not a whole number of cells"),
        ({"axis": "grid", "values": (1,)}, "grid"),
        ({"axis": "magic", "values": (0.5,)}, "choose epsilon or grid or density or alpha"),
        ({"axis": "alpha", "values": (0.5, 2)}, "alpha = 2 must lie between 0 and 1"),
        (
            {"axis": "alpha", "values": (0.5,), "methods": ("privthr", "privqt")},
            'axis = "alpha" does not apply to privthr, privqt: choose epsilon or grid or density',
        ),
    ],
)
def test_an_axis_is_a_number_that_all_methods_have(given, sentence):
    with pytest.raises(InputError, match=sentence):
        plan(**{"methods": ("privthr",), **given})


@pytest.mark.parametrize(("axis", "values"), [("grid", (8, 12, 100)), ("density", (0.2, 0.6))])
def test_each_value_of_an_axis_is_compared_with_its_own_truth(axis, values):
    asked = plan(
        subjects=(subject("one"),), methods=("privthr",), scores=("dsg_c", "k"), axis=axis,
        values=values,
    )  # fmt: skip
    table = run_sweep(asked)
    for value in values:
        (one,) = asked.subjects
        given = replace(one, settings={**one.settings, axis: value})
        alone = run_sweep(replace(asked, axis="epsilon", values=(), subjects=(given,)))
        rows = table[table[axis].astype(float) == value].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows, alone)
    # Sides are text in the table, and numbers along the axis.
    assert summary(table, "dsg_c", axis)[axis].unique().tolist() == list(map(float, values))


def test_a_value_that_the_method_chooses_is_no_axis():
    with pytest.raises(InputError, match="privqt chooses it privately"):
        plan(methods=("privqt",), options={"choose": "private"}, axis="grid", values=(8, 16))


def test_counts_have_no_axis_of_grids():
    counts = Dataset(name="counts", counts=np.full((8, 8), 3))
    with pytest.raises(InputError, match="its counts fix the grid"):
        plan(
            subjects=(Subject(name="counts", title="", dataset=counts),),
            methods=("privqt",), axis="grid", values=(8, 16),
        )  # fmt: skip


def test_the_command_takes_an_axis(tmp_path):
    out = tmp_path / "alpha.csv"
    line = "sweep incomes --methods privthr --epsilons 1 --axis alpha --values 0.3,0.8 --repeats 1"
    given = command_line._parser().parse_args([*line.split(), "--out", str(out)])
    sweep_command(given)
    assert pd.read_csv(out)["alpha"].tolist() == [0.3, 0.8]


def test_settings_stand_in_the_rows_as_far_as_a_method_has_them():
    table = run_sweep(
        plan(
            subjects=(subject(settings={"grid": (16, 8), "density": 0.3, "clusters": 3}),),
            methods=("privthr", "privqt", "baseline", "mcmc", "eugkm"),
            epsilons=(1,),
            seeds=(4,),
            variant="published",
            neighbours=Neighbours(relation="replace_one", cap=2),
            options={"alpha": 0.8, "density": 0.4, "iterations": 2, "mcmc.iterations": 3},
        )
    ).set_index("method")
    assert table["grid"].dropna().to_dict() == dict.fromkeys(
        ("privthr", "privqt", "baseline"), "16x8"
    )
    assert table["density"].dropna().unique().tolist() == [0.4]
    assert table["alpha"].dropna().to_dict() == {"privthr": 0.8}
    assert table["synopsis"].dropna().to_dict() == {"baseline": "adaptive_grid"}
    assert table["n_clusters"].dropna().to_dict() == {"mcmc": 3, "eugkm": 3}
    assert table["iterations"].dropna().to_dict() == {"mcmc": 3}
    assert table["geometry"].dropna().to_dict() == {"mcmc": "l1"}
    for name, value in {
        "variant": "published",
        "neighbours": "replace_one",
        "cap": 2,
        "outside": "clip",
        "domain": "0.0,1.0;0.0,1.0",
        "seed": 4,
    }.items():
        assert table[name].unique().tolist() == [value]


def test_no_score_is_called_like_a_column_before_the_scores():
    assert not set(SCORES) & set(COLUMNS)


def test_data_sets_under_two_names_have_rows_each(tmp_path):
    twice = plan(subjects=(subject("a"), subject("b")), methods=("privqt",), epsilons=(1,))
    told = Told()
    table = run_sweep(twice, out=tmp_path / "out.csv", progress=told)
    assert table["data"].tolist() == ["a"] * 5 + ["b"] * 5
    same(table[5:].reset_index(drop=True)[["run", "dsg_c"]], table[:5][["run", "dsg_c"]])
    assert told[-1] == (5, 5)
    same(rows_of(table, replace(twice, subjects=(subject("b"),))), table[5:].reset_index(drop=True))
    same(run_sweep(twice, out=tmp_path / "out.csv", resume=True), table)


def test_cheap_scores_by_default():
    cheap = dict.fromkeys([*FAMILIES["kmeans"].swept, *FAMILIES["wavecluster"].swept])
    # These data have no classes.
    wanted = [name for name in cheap if name not in OF_CLASSES]
    assert list(run_sweep(plan(seeds=(0,))).columns[len(COLUMNS) :]) == wanted


def test_repeated_choices_count_once():
    asked = plan(methods=("privqt", "privqt"), epsilons=(16, 1, 16.0), seeds=(3, 1, 3))
    table = run_sweep(asked)
    assert table["epsilon"].tolist() == [1, 1, 16, 16] * 2
    assert table["seed"].tolist() == [1, 3] * 4


def test_run_ids_hash_all_that_a_row_depends_on_and_nothing_else():
    base = plan(subjects=(subject(),), methods=("privthr",), epsilons=(1,), seeds=(0,))
    scored = replace(base, scores=("dsg_c", "k"))

    def row(one):
        return next(sweep._planned(one))[1]

    same_rows = (
        replace(base, subjects=(subject("other name"),)),
        replace(base, epsilons=(1, 2), seeds=(0, 1), methods=("privthr", "dplloyd")),
        replace(
            base, subjects=(subject(dataset=replace(subject().dataset, domain=BOX), domain=None),)
        ),
    )
    assert {row(one) for one in same_rows} == {row(base)}
    assert row(replace(scored, scores=("k", "dsg_c"))) == row(scored)
    others = [
        replace(base, subjects=(subject(seed=1),)),
        replace(base, subjects=(subject(domain=Domain(((0, 1), (0, 2)))),)),
        replace(base, subjects=(subject(domain=Domain(BOX.bounds, declared=False)),)),
        replace(base, subjects=(subject(outside="drop"),)),
        replace(base, subjects=(subject(settings={"grid": 8}),)),
        replace(base, options={"alpha": 0.5}),
        replace(base, variant="published"),
        replace(base, neighbours=Neighbours(cap=2)),
        replace(base, epsilons=(2,)),
        replace(base, methods=("privqt",)),
        replace(base, seeds=(1,)),
        scored,
    ]
    assert len({row(one) for one in [base, *others]}) == len(others) + 1


def test_the_true_run_is_computed_once_for_all_settings_that_share_it(monkeypatch):
    built = []

    def counted(family, dataset, config, *rest):
        built.append((dataset.name, type(config).__name__))
        return build(family, dataset, config, *rest)

    build = AbstractFamily.build
    monkeypatch.setattr(AbstractFamily, "build", counted)
    run_sweep(plan())
    assert built == [(name, kind) for name in ("one", "two") for kind in ("KMeansConfig", "Config")]


def test_counts_and_more_columns_than_two():
    counts = Dataset(name="counts", counts=np.random.default_rng(0).poisson(2, (12, 10)))
    cube = Dataset(name="cube", points=blobs(d=3))
    table = run_sweep(
        plan(
            subjects=(
                subject(dataset=counts, domain=None),
                subject("cube", dataset=cube, domain=None),
            ),
            methods=("privqt", "eugkm"),
            epsilons=(1,),
            seeds=(0,),
        )
    )
    assert table.attrs["notes"] == []
    assert table["grid"].dropna().tolist() == ["12x10", "16"]
    assert table["domain"].iloc[0] == "0.0,12.0;0.0,10.0"
    spans = f"range of the data, not private: {Domain.from_data(cube.points)}"
    assert table["domain"].iloc[2] == spans


def test_sample_sets_bring_what_suits_them():
    one = subject_of_sample("incomes")
    assert (one.name, one.title) == ("incomes", "Incomes and one person")
    assert one.settings == {"grid": 32, "density": 0.5, "clusters": 2}
    assert one.bounds("sound") == one.dataset.domain
    assert one.bounds("published") == Domain.from_data(one.dataset.points)
    assert not one.bounds("published").declared


# -- the same rows for any way of running ------------------------------------------------


@pytest.mark.exhaustive(reason="the next test compares one and two processes")
def test_rows_are_the_same_to_the_last_bit_whatever_the_number_of_processes(small_parts):
    asked = plan(methods=("dpkmeansup", "mcmc", "baseline", "privthrem"))
    same(run_sweep(asked, jobs=2), run_sweep(asked, jobs=1))
    # Workers remain for the next sweep; it must not use the data that they have in memory.
    other = plan(subjects=(subject("one", seed=7), subject("two", outside="drop", domain=SMALL)))
    same(run_sweep(other, jobs=2), run_sweep(other, jobs=1))


def test_a_method_that_does_not_fit_a_data_set_is_told_and_ends_nothing(small_parts):
    fine = subject("fine", settings={"grid": 10_000, "density": 0.3, "clusters": 3})
    asked = plan(subjects=(fine, subject("one")), methods=("privqt", "eugkm"))
    table = run_sweep(asked)
    pairs = table[["data", "method"]].drop_duplicates().to_numpy().tolist()
    assert pairs == [["fine", "eugkm"], ["one", "privqt"], ["one", "eugkm"]]
    (note,) = table.attrs["notes"]
    assert note.startswith("fine, privqt: grid = 10000 x 10000 has 100,000,000 cells")
    assert note.endswith(".")
    apart = run_sweep(asked, jobs=2)
    same(apart, table)
    assert apart.attrs == table.attrs


def test_draws_that_fail_alone_leave_the_others_of_their_part(monkeypatch):
    drawn = sweep._scores

    def failing(trial, seed, names):
        if seed == 1:
            raise InputError("seed 1 does not fit.")
        return drawn(trial, seed, names)

    monkeypatch.setattr(sweep, "_scores", failing)
    told = Told()
    table = run_sweep(plan(methods=("privqt",), epsilons=(1,)), progress=told)
    assert table["seed"].tolist() == [0, 2, 3, 4] * 2
    assert table.attrs["notes"] == [
        f"{name}, privqt: seed 1 does not fit." for name in ("one", "two")
    ]
    assert told == [(5, 10), (10, 10)]


def test_several_plans_share_rows_and_find_them_again():
    first, second = plan(), plan(epsilons=(0.5, 2), methods=("baseline", "privqt"))
    table = run_sweep(first, second)
    alone = run_sweep(second)
    assert table["run"].is_unique
    assert len(table) == len(run_sweep(first)) + 2 * 5 * 3
    found = rows_of(table, second)
    same(found[alone.columns], alone)


# -- on disk -----------------------------------------------------------------------------


class Told(list):
    """Progress reports of a sweep."""

    def __call__(self, done, total):
        self.append((done, total))

    def __bool__(self):
        return True


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Table of a sweep that was not interrupted: in memory, and on disk for each file type."""
    folder = tmp_path_factory.mktemp("whole")
    tables = {}
    for ending in (".csv", ".parquet"):
        out = folder / f"out{ending}"
        tables[None] = run_sweep(plan(), out=out)
        tables[ending] = out.read_bytes()
        assert os.listdir(folder) == [out.name]
        out.unlink()
    return tables


def cut_off(out, after, asked=None, *, resume=False):
    """Start or continue a sweep, and stop it after one more part."""
    answers = iter([False] * (after + 1) + [True] * 100)
    with pytest.raises(SweepCancelled, match="stopped after"):
        run_sweep(asked or plan(), out=out, resume=resume, cancelled=lambda: next(answers))


def journal_of(out):
    return out.with_name(out.name + ".journal")


def journaled(out):
    """Names of the rows in a journal."""
    with closing(sqlite3.connect(journal_of(out))) as connection:
        return {run for (run,) in connection.execute("SELECT run FROM finished")}


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_sweep_that_was_stopped_goes_on_and_ends_as_if_it_had_not_been(
    tmp_path, small_parts, whole, ending
):
    out = tmp_path / f"out{ending}"
    cut_off(out, 4)
    assert journaled(out) == set(whole[None]["run"][: 2 + 2 + 1 + 2 + 2])
    assert os.listdir(tmp_path) == [journal_of(out).name]
    told = Told()
    table = run_sweep(plan(), out=out, resume=True, progress=told)
    assert told[0] == (9 + 1, 60)
    assert told[-1] == (60, 60)
    same(table, whole[None])
    assert out.read_bytes() == whole[ending]
    assert os.listdir(tmp_path) == [out.name]


def marked(out, how):
    """Run a sweep, or half of it; change a score on disk, by which its row is recognized."""
    if how == "journal":
        cut_off(out, 3)
        _, (_, second, _), *_ = sweep._planned(plan())
        with Store.held(out) as store:
            store.add({second: store.rows(())[second] | {"nicv_ratio": 123.456}})
        return
    run_sweep(plan(), out=out)
    if out.suffix == ".parquet":
        table = pd.read_parquet(out)
        table.loc[1, "nicv_ratio"] = 123.456
        table.to_parquet(out, index=False)
        return
    lines = out.read_text().splitlines(keepends=True)
    value = pd.read_csv(out, dtype=str)["nicv_ratio"][1]
    lines[2] = lines[2].replace(value, "123.456")
    out.write_text("".join(lines))


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("ending", "how"), [(".csv", "journal"), (".csv", "table"), (".parquet", "table")]
)
def test_finished_rows_are_taken_over_and_not_drawn_again_unless_started_anew(
    tmp_path, small_parts, whole, ending, how
):
    out = tmp_path / f"out{ending}"
    marked(out, how)
    table = run_sweep(plan(), out=out, resume=True)
    assert table.loc[1, "nicv_ratio"] == 123.456
    same(table.drop(index=1), whole[None].drop(index=1))
    marked(out, how)
    journal_of(out).unlink(missing_ok=True)
    same(run_sweep(plan(), out=out), whole[None])


def test_rows_of_an_interrupted_sweep_are_not_lost_by_starting_anew(tmp_path, small_parts, whole):
    out = tmp_path / "out.csv"
    cut_off(out, 2)
    kept = journaled(out)
    assert len(kept) == 5
    with pytest.raises(InputError) as refused:
        run_sweep(plan(), out=out)
    assert str(refused.value) == (
        f'"{journal_of(out)}" holds 5 finished rows of an interrupted sweep: go on with --resume, '
        "or remove it."
    )
    assert journaled(out) == kept
    assert os.listdir(tmp_path) == ["out.csv.journal"]
    run_sweep(plan(), out=out, resume=True)
    assert out.read_bytes() == whole[".csv"]
    # A journal without a row contains nothing that could be lost.
    journal_of(out).touch()
    same(run_sweep(plan(), out=out), whole[None])


def test_a_cancelled_sweep_hands_over_its_finished_rows(small_parts, whole):
    for after, rows in ((0, 2), (3, 7)):
        answers = iter([False] * (after + 1) + [True] * 100)
        with pytest.raises(SweepCancelled, match=f"stopped after {rows} of 60 draws") as stopped:
            run_sweep(plan(), cancelled=lambda answers=answers: next(answers))
        same(stopped.value.table, whole[None][:rows])
        assert stopped.value.table.attrs["notes"] == []
    with pytest.raises(SweepCancelled, match="stopped after 0") as stopped:
        run_sweep(plan(), cancelled=lambda: True)
    assert list(stopped.value.table.columns) == list(whole[None].columns)
    assert stopped.value.table.empty


def test_what_is_started_anew_leaves_nothing_of_the_old_to_resume(tmp_path, small_parts):
    out = tmp_path / "out.csv"
    run_sweep(plan(), out=out)
    cut_off(out, 0)
    assert not out.exists()
    assert len(journaled(out)) == 2


def test_a_sweep_that_is_stopped_again_and_again_keeps_all_its_rows(tmp_path, small_parts):
    out = tmp_path / "out.csv"
    for rows in (4, 7, 10):  # parts of 2 and 2, 1 and 2, 2 and 1 seeds
        cut_off(out, 1, resume=True)
        assert len(journaled(out)) == rows


def test_resuming_with_more_settings_draws_the_new_ones_alone(tmp_path, small_parts):
    out = tmp_path / "out.csv"
    first = plan()
    run_sweep(first, out=out)
    more = replace(first, epsilons=(*first.epsilons, 7.0))
    told = Told()
    table = run_sweep(more, out=out, resume=True, progress=told)
    same(table, run_sweep(more))
    assert told[0][0] > len(run_sweep(first))


def test_rows_of_other_settings_are_not_lost(tmp_path, small_parts):
    out = tmp_path / "out.csv"
    run_sweep(plan(), out=out)
    kept = out.read_bytes()
    other = plan(epsilons=(1, 2), methods=("privthr", "privqt"), seeds=(3, 9))
    with pytest.raises(InputError, match=r"resume would lose .* rows of other settings"):
        run_sweep(other, out=out, resume=True)
    assert out.read_bytes() == kept


@pytest.mark.parametrize("first", ["x", "run"])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_that_no_sweep_wrote_is_not_lost(tmp_path, ending, first):
    out = tmp_path / f"own{ending}"
    own = pd.DataFrame({first: [1.0, 2.0], "km": [5.2, 10.1]})
    own.to_csv(out, index=False) if ending == ".csv" else own.to_parquet(out, index=False)
    kept = out.read_bytes()
    for resume in (False, True):
        with pytest.raises(InputError, match="not a table of a sweep"):
            run_sweep(plan(), out=out, resume=resume)
    assert out.read_bytes() == kept
    assert os.listdir(tmp_path) == [out.name]


def test_the_columns_of_a_table_begin_with_those_it_is_known_by():
    assert tuple(COLUMNS)[: len(KEYS)] == KEYS


def database(path, *commands):
    """Make a file of SQLite."""
    with closing(sqlite3.connect(path)) as connection:
        for command in commands:
            connection.execute(command)
        connection.commit()


FOREIGN = {
    "text": b"Monday: 5 km\nTuesday: rest\n",
    "short": b"[1]",
    "one byte": b"1",
    "first bytes of SQLite": b"SQLite format 3\0",
    "journal of an earlier version": b'{"run": "0123456789abcdef", "scores": {"k": 1.0}}\n',
    "torn journal of an earlier version": b'{"run": "01',
    "database": ("CREATE TABLE finished (run TEXT, names TEXT, scores BLOB)",),
    "database of another program": ("PRAGMA application_id = 4711",),
    "database with a log": ("PRAGMA journal_mode = WAL", "CREATE TABLE notes (text)"),
}


@pytest.mark.some(5)
@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("what", [*FOREIGN, "folder", "link", "link to nothing", "pipe"])
def test_a_journal_that_no_sweep_of_this_version_wrote_is_not_lost(tmp_path, what, resume):
    out = tmp_path / "out.csv"
    run_sweep(plan(seeds=(0,)), out=out)
    path, own = journal_of(out), tmp_path / "own"
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what.startswith("link"):
        path.symlink_to(own)
        if what == "link":
            database(own, f"PRAGMA application_id = {APPLICATION}")
    elif isinstance(FOREIGN[what], bytes):
        path.write_bytes(FOREIGN[what])
    else:
        database(path, *FOREIGN[what])
    kept = {one: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()}
    names = sorted(os.listdir(tmp_path))
    with pytest.raises(InputError) as refused:
        run_sweep(plan(), out=out, resume=resume, progress=lambda *_: pytest.fail("drawn"))
    assert str(refused.value) == (
        f'"{path}" already exists and is not from a sweep of this version: move it, or choose '
        "another file, so that it is not lost."
    )
    assert {one: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()} == kept
    assert sorted(os.listdir(tmp_path)) == names


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("interrupted", [False, True])
@pytest.mark.parametrize("what", ["file", "folder", "link to nothing"])
def test_a_file_in_the_place_of_the_unfinished_table_is_not_lost(
    tmp_path, what, interrupted, resume
):
    out = tmp_path / "out.csv"
    if interrupted:
        cut_off(out, 0)
    part = tmp_path / "out.csv.part"
    if what == "file":
        part.write_bytes(b"half a download")
    elif what == "folder":
        part.mkdir()
    else:
        part.symlink_to("nowhere")
    names = sorted(os.listdir(tmp_path))
    with pytest.raises(InputError) as refused:
        run_sweep(plan(), out=out, resume=resume, progress=lambda *_: pytest.fail("drawn"))
    assert str(refused.value).startswith(f'"{part}" already exists and is not from a sweep')
    assert sorted(os.listdir(tmp_path)) == names
    if what == "file":
        assert part.read_bytes() == b"half a download"


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.daily(".csv")
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_what_a_sweep_left_that_was_killed_at_its_end_is_no_hindrance(
    tmp_path, monkeypatch, whole, ending
):
    out = tmp_path / f"out{ending}"
    part = out.with_name(f"{out.name}.part")
    for share in (0, 0.01, 0.5, 1):
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", interrupt)
            patch.setattr(Path, "unlink", lambda *_, **__: None)
            with pytest.raises(KeyboardInterrupt):
                run_sweep(plan(), out=out)
        part.write_bytes(whole[ending][: round(share * len(whole[ending]))])
        assert sorted(os.listdir(tmp_path)) == [journal_of(out).name, part.name]
        told = Told()
        run_sweep(plan(), out=out, resume=True, progress=told)
        assert told == []
        assert out.read_bytes() == whole[ending]
        assert os.listdir(tmp_path) == [out.name]
        out.unlink()


def test_a_sweep_without_a_row_writes_nothing(tmp_path):
    out = tmp_path / "out.csv"
    run_sweep(plan(options={"grid": 2**20}, methods=("privqt",)), out=out)
    assert not out.exists()
    assert not journal_of(out).exists()


def test_two_sweeps_do_not_write_one_file(tmp_path):
    out = tmp_path / "out.csv"
    for resume in (False, True):
        with Store.held(out), pytest.raises(InputError) as refused:
            run_sweep(plan(), out=out, resume=resume)
        assert str(refused.value) == (
            f'out = "{out}" is being written by another sweep: name another file.'
        )
    assert os.listdir(tmp_path) == []
    run_sweep(plan(), out=out)
    assert os.listdir(tmp_path) == [out.name]


STARTS = """
import os, sys
from pathlib import Path
from dpviz.base.errors import InputError
from dpviz.experiments.journal import Store

def start(go, said, end):
    for pipe in (go[1], said[0], end[1]):
        os.close(pipe)
    os.read(go[0], 1)
    try:
        with Store.held(Path(sys.argv[1])):
            os.write(said[1], b"1")
            os.read(end[0], 1)
    except InputError as error:
        os.write(said[1], b"0" if "another sweep" in str(error) else b"?")

for _ in range(8):
    pipes = go, said, end = os.pipe(), os.pipe(), os.pipe()
    for _ in range(6):
        if not os.fork():
            start(*pipes)
            os._exit(0)
    os.close(go[1])
    print(sum(int(os.read(said[0], 1)) for _ in range(6)))
    os.close(end[1])
    for _ in range(6):
        os.wait()
"""


@pytest.mark.exhaustive(reason="another test starts a second sweep on one file")
def test_of_sweeps_that_start_at_once_one_goes_on(tmp_path):
    # When a sweep releases the lock, other sweeps may wait for it; each is refused or continues.
    line = [sys.executable, "-W", "ignore", "-c", STARTS, str(tmp_path / "out.csv")]
    ended = subprocess.run(line, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["1"] * 8
    assert os.listdir(tmp_path) == []


def test_a_journal_that_is_removed_before_it_is_locked_is_refused(tmp_path, monkeypatch):
    out = tmp_path / "out.csv"
    cut_off(out, 0)
    connect = sqlite3.connect

    def too_late(path, **more):
        connection = connect(path, **more)
        path.unlink()
        return connection

    monkeypatch.setattr(sqlite3, "connect", too_late)
    with pytest.raises(InputError, match="written by another sweep"):
        run_sweep(plan(), out=out)
    assert os.listdir(tmp_path) == []


def test_what_can_not_be_written_is_said_in_a_sentence(tmp_path):
    (tmp_path / "circle.csv").symlink_to("circle.csv")
    for name in ("x" * 300 + ".csv", "none/there/out.csv", "circle.csv"):
        with pytest.raises(InputError, match=r"^out = .*\.$"):
            run_sweep(plan(), out=tmp_path / name)
    with pytest.raises(InputError, match=r"can't be used \(File name too long\)"):
        run_sweep(plan(), out=tmp_path / ("x" * 250 + ".csv"))
    assert os.listdir(tmp_path) == ["circle.csv"]


@pytest.mark.daily("0", "9000", "17000")
@pytest.mark.parametrize("size", [0, 1000, 9000, 13_000, 17_000])
def test_a_full_disk_costs_no_finished_row(tmp_path, small_parts, whole, size):
    out, told = tmp_path / "out.parquet", Told()
    with files_no_larger_than(size), pytest.raises(InputError) as refused:
        run_sweep(plan(), out=out, progress=told)
    finished = max((done for done, _ in told), default=0)
    assert bool(finished) == (size > 1000)
    assert (finished == 60) == (size == 17_000), "the table is larger than the journal"
    path = out if finished == 60 else journal_of(out)
    assert str(refused.value).startswith(f'"{path}" can\'t be used (')
    assert str(refused.value).endswith(
        "): solve this problem and go on with --resume, or choose another file."
    )
    if finished:
        assert len(journaled(out)) == finished
        assert os.listdir(tmp_path) == [journal_of(out).name]
    run_sweep(plan(), out=out, resume=True)
    assert out.read_bytes() == whole[".parquet"]
    assert os.listdir(tmp_path) == [out.name]


@pytest.mark.daily("folder", "read-only journal")
@pytest.mark.parametrize("what", ["folder", "read-only journal", "unreadable journal", "table"])
def test_what_nobody_may_write_to_is_said_in_a_sentence(tmp_path, what):
    out = tmp_path / "out.csv"
    if what == "table":
        out.write_bytes(b"own")
        out.chmod(0)
    elif what != "folder":
        cut_off(out, 0)
        journal_of(out).chmod(0 if what == "unreadable journal" else 0o400)
    names = sorted(os.listdir(tmp_path))
    tmp_path.chmod(0o500 if what == "folder" else 0o700)
    line = f"-m dpviz sweep incomes --methods privthr --epsilons 1 --repeats 1 --resume --out {out}"
    ended = subprocess.run(
        [sys.executable, *line.split()],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=obey_modes,
    )
    tmp_path.chmod(0o700)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith(f'dpviz: "{out}')
    assert ended.stderr.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == names


def test_a_damaged_journal_is_refused_in_a_sentence(tmp_path, small_parts):
    out = tmp_path / "out.csv"
    cut_off(out, 30)
    content, page = journal_of(out).read_bytes(), 4096
    assert len(content) >= 3 * page
    spoilt = [content[:length] for length in (1, 50, 600, page, 2 * page)]
    spoilt += [content[:at] + bytes(page) + content[at + page :] for at in (page, 2 * page)]
    for one in spoilt:
        journal_of(out).write_bytes(one)
        for resume in (False, True):
            with pytest.raises(InputError, match=r"another file.*\.$"):
                run_sweep(plan(), out=out, resume=resume)
        assert len(journal_of(out).read_bytes()) == len(one)
    assert os.listdir(tmp_path) == [journal_of(out).name]


def test_too_many_rows_are_refused():
    with pytest.raises(InputError, match="runs are more than"):
        plan(seeds=range(10**7))


def test_numbers_survive_the_table_to_the_last_bit(tmp_path, whole):
    for ending in (".csv", ".parquet"):
        out = tmp_path / f"out{ending}"
        run_sweep(plan(), out=out)
        told = Told()
        table = run_sweep(plan(), out=out, resume=True, progress=told)
        same(table, whole[None])
        assert told == []


def test_infinite_and_missing_scores_survive_too(tmp_path, monkeypatch):
    def odd(trial, seed, names):
        return dict.fromkeys(names, (math.inf, math.nan, -math.inf, 0.1 + 0.2, 5e-324)[seed])

    monkeypatch.setattr(sweep, "_scores", odd)
    asked = plan(methods=("dplloyd", "privqt"), scores=("wcss_ratio",))
    for ending in (".csv", ".parquet"):
        out, told = tmp_path / f"out{ending}", Told()
        cut_off(out, 1, asked)
        table = run_sweep(asked, out=out, resume=True)
        assert table["wcss_ratio"][:5].tolist()[2:] == [-math.inf, 0.1 + 0.2, 5e-324]
        same(run_sweep(asked, out=out, resume=True, progress=told), table)
        assert told == []


def test_a_finished_part_survives_a_power_cut(tmp_path):
    with Store.held(tmp_path / "out.csv") as store:
        for pragma, value in {"synchronous": 2, "journal_mode": "delete"}.items():
            assert store.connection.execute(f"PRAGMA {pragma}").fetchone() == (value,)


@pytest.mark.parametrize("name", ["a?mode=ro&b=%41#c.csv", "\udcff'\".csv", ":memory:.csv"])
def test_odd_names_are_names_of_files(tmp_path, monkeypatch, small_parts, whole, name):
    monkeypatch.chdir(tmp_path)
    out = Path(name)
    cut_off(out, 0)
    assert os.listdir(tmp_path) == [f"{name}.journal"]
    run_sweep(plan(), out=out, resume=True)
    assert os.listdir(tmp_path) == [name]
    assert out.read_bytes() == whole[".csv"]


def test_scores_survive_the_journal_bit_for_bit(tmp_path):
    bits = [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF]
    bits += [0x7FF0000000000000, 0xFFF0000000000000, 1 << 63, 0, 1, 0x3FD5555555555555]
    values = struct.unpack(f"<{len(bits)}d", struct.pack(f"<{len(bits)}Q", *bits))
    row = {f"s{number}": value for number, value in enumerate(values)}
    out = tmp_path / "out.csv"
    with Store.held(out) as store:
        store.start({"taken over": row}, anew=False)
        store.add({"a": row, "none": {}, "float32": {"k": np.float32(0.1)}})
    with Store.held(out) as store:
        found = store.rows(())
    assert found.keys() == {"taken over", "a", "none", "float32"}
    assert found["none"] == {}
    assert found["float32"] == {"k": float(np.float32(0.1))}
    for name in ("taken over", "a"):
        assert list(found[name]) == list(row)
        assert struct.pack(f"<{len(bits)}d", *found[name].values()) == struct.pack(
            f"<{len(bits)}Q", *bits
        )


def assert_nothing_runs_on(mark):
    """Workers (with a mark in their environment) end with the process that started them."""
    for _ in range(300):
        if not any(mark.encode() in environment(pid) for pid in Path("/proc").glob("[0-9]*")):
            return
        time.sleep(0.1)
    pytest.fail("a killed sweep leaves processes behind")


def environment(process):
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


#: Kills the work of a journal at random moments, and prints the journal's content after each kill.
KILLS = """
import os, random, signal, sys, time
from pathlib import Path
import pandas as pd
from dpviz.experiments.journal import KEYS, Store

PARTS = [{f"{part}-{row}": {"k": part / 7, "n": row / 3} for row in range(3)} for part in range(20)]
ROWS = {row: scores for part in PARTS for row, scores in part.items()}
out, generator = Path(sys.argv[1]), random.Random(int(sys.argv[2]))
TABLE = pd.DataFrame([dict.fromkeys(KEYS, 0) | {"run": row} | one for row, one in ROWS.items()])

def work(say):
    with Store.held(out) as store:
        done = store.rows(("k", "n"))
        store.start(done, anew=False)
        for part in PARTS:
            if not part.keys() <= done.keys():
                store.add(part)
                os.write(say, b".")
        store.finish(TABLE)

finished, whole = 0, 0
for _ in range(100):
    hear, say = os.pipe()
    child = os.fork()
    if not child:
        work(say)
        os._exit(0)
    os.close(say)
    time.sleep(generator.uniform(0, 0.06))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    finished += len(os.read(hear, 100))
    os.close(hear)
    if out.exists():
        assert out.read_text() == TABLE.to_csv(index=False)
        whole += 1
    with Store.held(out) as store:
        rows = store.rows(("k", "n"))
    parts = len(rows) // 3
    assert parts in (finished, finished + 1) or (out.exists() and parts == 20), (parts, finished)
    assert rows == {row: ROWS[row] for part in PARTS[:parts] for row in part}
    finished = parts
    if out.exists() and generator.random() < 0.8:
        work(os.open(os.devnull, os.O_WRONLY))
        assert os.listdir(out.parent) == [out.name], os.listdir(out.parent)
        out.unlink()
        finished = 0
print(whole)
"""


@pytest.mark.exhaustive
@pytest.mark.daily("1")
@pytest.mark.parametrize("seed", range(2))
def test_kill_nine_at_any_time_leaves_whole_parts_in_the_journal(tmp_path, seed):
    line = [sys.executable, "-W", "ignore", "-c", KILLS, str(tmp_path / "out.csv"), str(seed)]
    ended = subprocess.run(line, capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    assert int(ended.stdout) > 0, "no kill was late enough to find a table"


CHILD = """
import sys
from pathlib import Path
from dpviz.experiments import sweep
from tests.experiments.test_sweep import plan
sweep.MOST_SEEDS = 2
sweep.run_sweep(
    plan(seeds=tuple(range(40))), jobs=int(sys.argv[2]), out=Path(sys.argv[1]), resume=True
)
"""


@pytest.mark.exhaustive(reason="another test takes over the rows of a stopped sweep")
@pytest.mark.parametrize(("jobs", "kills"), [(1, 2), (2, 3)])
def test_kill_nine_at_any_time_loses_and_doubles_no_row(tmp_path, jobs, kills):
    out, generator = tmp_path / "out.csv", np.random.default_rng(jobs)
    asked = plan(seeds=tuple(range(40)))
    had = 0
    for kill in range(kills):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(out), str(jobs)],
            env={**os.environ, "SWEEP_OF_THIS_TEST": str(out)},
        )
        # The kill may occur at any size in the next range, also during a transaction.
        target = had + int(generator.integers(9_000, 24_000)) if kill else 0
        journal = journal_of(out)
        while child.poll() is None and (not journal.exists() or journal.stat().st_size < target):
            time.sleep(0.001)
        if not kill:
            time.sleep(0.3 if jobs > 1 else 0)  # the worker processes are about to start
        else:
            child.send_signal(signal.SIGSTOP)
            with pytest.raises(InputError, match="written by another sweep"):
                run_sweep(asked, out=out, resume=True)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert journal.exists(), "killed too late to test anything"
        assert_nothing_runs_on(str(out))
        had = journal.stat().st_size
    rows = journaled(out)
    assert 0 < len(rows) < len(asked.seeds) * 2 * 3 * 2
    told = Told()
    table = run_sweep(asked, out=out, resume=True, progress=told)
    expected = run_sweep(asked)
    same(table, expected)
    assert len(rows) < told[0][0] <= len(rows) + 40
    assert out.read_text() == expected.to_csv(index=False)
    assert os.listdir(tmp_path) == [out.name]


# -- refusals ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"methods": ("privthr", "magic")}, 'method = "magic" is unknown'),
        ({"methods": ("wavecluster",)}, "wavecluster adds no noise"),
        ({"methods": ("kmeans",)}, "kmeans adds no noise"),
        ({"methods": ()}, "methods are missing: give 1 or more"),
        ({"epsilons": ()}, "epsilons are missing: give 1 or more"),
        ({"seeds": ()}, "seeds are missing: give 1 or more"),
        ({"subjects": ()}, "subjects are missing: give 1 or more"),
        ({"epsilons": (0.1, -1)}, "epsilon = -1 is not a usable privacy budget"),
        ({"scores": ()}, "scores are missing: give 1 or more"),
        ({"seeds": (-1,)}, "seed = -1: give a whole number"),
        ({"seeds": (2**63,)}, f"seed = {2**63}: give a whole number from 0 to {MOST_SEED:,}"),
        ({"seeds": (0.5,)}, "seed = 0.5: give a whole number"),
        ({"subjects": (subject(), subject(seed=1))}, 'data "blobs" is given 2 times'),
        ({"scores": ("dsg",)}, 'score = "dsg" is unknown'),
        ({"methods": ("privqt",), "scores": ("nicv",)}, 'score = "nicv" is unknown'),
        ({"options": {"magic": 1}}, "magic = 1 applies to none of dplloyd, privthr, baseline"),
        ({"options": {"temperature": "printed"}}, "temperature = printed applies to none of"),
        ({"options": {"privqt.alpha": 0.5}}, "privqt.alpha = 0.5 applies to none of"),
        ({"options": {"density": 2}}, "density"),
        ({"variant": "other"}, 'variant = "other" is unknown'),
        ({"subjects": (subject(domain=Domain(((0, 1),))),)}, "domain has 1 lo,hi pair"),
    ],
)
def test_wrong_plans_are_refused_before_anything_is_drawn(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        run_sweep(plan(**wrong), progress=lambda *_: pytest.fail("drawn"))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("out.txt", "name a file that ends in .csv or .parquet"),
        ("missing/out.csv", "that folder does not exist"),
        ("folder.csv", "is a folder"),
    ],
)
def test_tables_that_cannot_be_written_are_refused_first(tmp_path, name, sentence):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=sentence):
        run_sweep(plan(), out=tmp_path / name, progress=lambda *_: pytest.fail("drawn"))


def test_what_is_no_table_of_a_sweep_is_not_resumed_and_not_touched(tmp_path):
    for name, content in (("out.csv", b"a,b\n1,2\n"), ("out.parquet", b"nonsense")):
        out = tmp_path / name
        out.write_bytes(content)
        with pytest.raises(InputError, match="not a table of a sweep"):
            run_sweep(plan(), out=out, resume=True)
        assert out.read_bytes() == content


@pytest.mark.parametrize("jobs", [0, -1, True])
def test_processes_are_counted_from_one(jobs):
    with pytest.raises(InputError, match="jobs = "):
        run_sweep(plan(), jobs=jobs)


# -- summary -----------------------------------------------------------------------------


def test_summary_sums_up_the_draws_of_each_point():
    table = run_sweep(plan(seeds=tuple(range(20))))
    found = summary(table, "dsg_c")
    assert list(found.columns) == [
        "data", "method", "variant", "epsilon", "draws", "mean", "standard_error", "median", "low",
        "high",
    ]  # fmt: skip
    # Only one of the two families has this score.
    assert found["method"].unique().tolist() == ["privthr", "baseline"]
    assert found["data"].tolist() == ["one"] * 4 + ["two"] * 4
    assert found["epsilon"].tolist() == [0.5, 1.0] * 4
    last = found.iloc[-1]
    chosen = (table["data"] == "two") & (table["method"] == "baseline") & (table["epsilon"] == 1)
    values = table.loc[chosen, "dsg_c"].to_numpy()
    assert last["draws"] == 20 == len(values)
    assert last["mean"] == pytest.approx(values.mean())
    assert last["standard_error"] == pytest.approx(values.std(ddof=1) / 20**0.5)
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95], method="weibull")
    assert (last["low"], last["median"], last["high"]) == pytest.approx((low, median, high))
    with pytest.raises(InputError, match='score = "epsilon" is unknown'):
        summary(table, "epsilon")


def drawn(method: str, *scores: float) -> pd.DataFrame:
    rows = {"data": "one", "method": method, "variant": "sound", "epsilon": 1.0, "dsg_c": scores}
    return pd.DataFrame({**rows, "seed": range(len(scores))})


def test_draws_of_one_seed_are_compared() -> None:
    noise = np.linspace(0, 100, 20)
    first, better = drawn("privqt", *noise), drawn("privthr", *(noise - 1 - 0.01 * noise))
    # The bands overlap nearly everywhere, and still every draw is lower.
    found = differences(pd.concat([first, better]), "dsg_c").iloc[0]
    assert (found["first"], found["method"], found["draws"]) == ("privqt", "privthr", 20)
    assert found["low"] < found["difference"] < found["high"] < 0
    assert found["found"] == "lower"
    # The order of the rows does not matter, and other seeds are not compared.
    table = pd.concat([first.iloc[::-1], better[better["seed"] % 2 == 0]])
    half = differences(table, "dsg_c").iloc[0]
    assert half["draws"] == 10
    assert half["difference"] == pytest.approx((-1 - 0.01 * noise[::2]).mean())
    # The same draws in another order are no difference.
    other = drawn("privthr", *noise[::-1])
    assert differences(pd.concat([first, other]), "dsg_c")["found"].tolist() == [""]


def test_methods_are_compared_with_the_first_that_has_the_score() -> None:
    parts = [
        drawn("privthr", *[np.nan] * 9),
        drawn("dplloyd", *range(9)),
        drawn("eugkm", *range(9)),
    ]
    (one,) = differences(pd.concat(parts), "dsg_c").to_dict("records")
    assert (one["first"], one["method"], one["draws"]) == ("dplloyd", "eugkm", 9)


def test_too_few_draws_and_equal_draws_show_no_difference() -> None:
    few = pd.concat([drawn("privqt", *range(7)), drawn("privthr", *range(9, 16))])
    (one,) = differences(few, "dsg_c").to_dict("records")
    assert (one["low"], one["high"], one["found"]) == (-np.inf, np.inf, "")
    broken = pd.concat([drawn("privqt", *[np.inf] * 9), drawn("privthr", *[np.inf] * 9)])
    assert differences(broken, "dsg_c")["difference"].tolist() == [0.0]
    missing = pd.concat([drawn("privqt", *range(9)), drawn("privthr", *[np.nan] * 9)])
    assert differences(missing, "dsg_c").empty
    assert differences(drawn("privqt", 1, 2), "dsg_c").empty
    assert differences(drawn("privqt"), "dsg_c").empty


def test_differences_are_of_each_data_set_and_value_of_the_axis() -> None:
    table = run_sweep(plan(methods=("privthr", "privqt"), seeds=tuple(range(8))))
    found = differences(table, "dsg_c")
    assert set(zip(found["data"], found["epsilon"], strict=True)) == {
        (data, epsilon) for data in ("one", "two") for epsilon in (0.5, 1.0)
    }
    values = table.pivot(index=["data", "epsilon", "seed"], columns="method", values="dsg_c")
    medians = (values["privqt"] - values["privthr"]).groupby(level=["data", "epsilon"]).median()
    assert found["difference"].tolist() == pytest.approx(medians.tolist())


# -- the command -------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path):
    """Run the command on small data; return its report and the table that it wrote."""
    parser = command_line._parser()
    data = tmp_path / "points.csv"
    pd.DataFrame(blobs(), columns=["x", "y"]).to_csv(data, index=False)

    def call(line, out="out.csv", data=data):
        given = parser.parse_args(["sweep", str(data), *line.split(), "--out", str(tmp_path / out)])
        report, text = sweep_command(given)
        return report, text, pd.read_csv(tmp_path / out)

    return call


LINE = "--methods privthr,dplloyd --epsilons 0.5,1 --domain 0,1;0,1 --grid 16 --clusters 3"


def test_the_command_writes_the_table_of_the_sweep(command, tmp_path):
    report, text, table = command(f"{LINE} --repeats 3 --seed 7 --jobs 2 --alpha 0.8")
    assert set(report) == {"note", "data", "rows", "out", "seconds", "notes"}
    assert (report["rows"], report["out"]) == (12, str(tmp_path / "out.csv"))
    assert isinstance(report["seconds"], float)
    assert text.startswith("points.csv: columns x, y (proposed)\n12 rows written to ")
    asked = plan(
        subjects=(subject("points.csv", settings={}),),
        methods=("privthr", "dplloyd"),
        epsilons=(0.5, 1),
        seeds=(7, 8, 9),
        options={"alpha": 0.8, "grid": 16, "clusters": 3},
    )
    expected = run_sweep(asked)
    assert (tmp_path / "out.csv").read_text() == expected.to_csv(index=False)
    assert table["alpha"].dropna().unique() == [0.8]


def test_the_command_goes_on_with_what_is_there(command, tmp_path):
    command(f"{LINE} --repeats 2")
    path = tmp_path / "out.csv"
    value = pd.read_csv(path, dtype=str)["dsg_c"][0]
    path.write_text(path.read_text().replace(value, "99.5", 1))
    assert command(f"{LINE} --repeats 3 --resume")[2]["dsg_c"].max() == 99.5
    assert command(f"{LINE} --repeats 3")[2]["dsg_c"].max() < 99


def test_sample_sets_are_swept_with_their_parameters(command):
    _, _, table = command("--methods privqt,eugkm --epsilons 1 --repeats 1", data="incomes")
    assert table["grid"].dropna().tolist() == [32]
    assert table["n_clusters"].dropna().tolist() == [2]
    assert table["data"].unique().tolist() == ["incomes"]


def test_the_command_tells_of_methods_that_do_not_fit(command):
    report, text, table = command(f"{LINE} --repeats 1".replace("--grid 16", "--grid 9000"))
    assert report["rows"] == len(table) == 2
    assert report["notes"][0].startswith("points.csv, privthr: grid = 9000")
    assert f"note     {report['notes'][0]}" in text


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f"{LINE} --repeats 0", "--repeats 0: ask for 1 to 100,000 draws"),
        (f"{LINE} --synopsis quadtree", "synopsis = quadtree applies to none of privthr, dplloyd"),
        (f"{LINE} --cap 3", "--cap 3 needs --unit"),
        (f"{LINE} --seed -4", "--seed -4"),
        (LINE.replace("0.5,1", "0.5,much"), '"0.5,much" is not a list of numbers'),
        (LINE.replace("privthr", "magic"), 'method = "magic" is unknown'),
        (LINE.replace("privthr", "kmeans"), "kmeans adds no noise"),
        (LINE.replace("--epsilons 0.5,1", "--epsilons ,"), "--epsilons is empty: .* 0.5,1"),
        (LINE.replace("--methods privthr,dplloyd", "--methods ,"), "--methods is empty: name 1"),
        (f"{LINE} --scores ,", "--scores is empty: name 1 or more, for example --scores dsg_c"),
        (f"{LINE} --seed {10**22}", "--seed 1000.*: give a whole number from 0 to 9,223,372,"),
        ("--methods privqt --epsilons 1 --grid 9000", "grid = 9000 x 9000 has"),
    ],
)
def test_the_command_refuses_what_is_wrong(command, line, sentence):
    with pytest.raises(InputError, match=sentence):
        command(line)


@pytest.mark.parametrize(
    ("line", "table"),
    [
        ("sweep incomes --methods privthr,privqt --epsilons 1 --repeats 4 --out x.csv", "x.csv"),
        ("figures 003-3 --repeats 1 --out x", "x/rows.csv"),
    ],
)
def test_interrupted_commands_say_how_to_go_on(
    tmp_path, monkeypatch, capsys, small_parts, line, table
):
    monkeypatch.chdir(tmp_path)
    drawn = sweep._draw
    parts = []

    def interrupted(part, kept):
        parts.append(part)
        if len(parts) == 3:
            raise KeyboardInterrupt
        return drawn(part, kept)

    monkeypatch.setattr(sweep, "_draw", interrupted)
    assert command_line.main([*line.split(), "--json"]) == 1
    assert capsys.readouterr() == (
        "",
        "dpviz: interrupted: finished draws are kept, and the same command with --resume "
        "continues.\n",
    )
    rows = sum(len(part.rows) for part in parts[:2])
    assert len(journaled(Path(table))) == rows
    assert command_line.main(line.split()) == 2
    assert f"holds {rows} finished rows" in capsys.readouterr().err
    assert command_line.main([*line.split(), "--resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == len(pd.read_csv(table))
    assert not journal_of(Path(table)).exists()


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("sweep incomes --methods privthr --epsilons 1 --repeats 1", "file to write"),
        ("figures 003-3 --repeats 1", "folder to write"),
    ],
)
def test_a_table_needs_a_name(tmp_path, monkeypatch, capsys, line, what):
    monkeypatch.chdir(tmp_path)
    assert command_line.main([*line.split(), "--out", ""]) == 2
    assert f"--out is empty: name the {what}, for example --out " in capsys.readouterr().err
    assert os.listdir(tmp_path) == []
