"""Known classes are read, stay with their records, are used for scores, and no run reads them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from dpviz.base.errors import InputError
from dpviz.data.dataset import Classes, Dataset
from dpviz.data.reading.read import read_table
from dpviz.data.reading.table import MOST_CLASSES
from dpviz.data.units import cap_records
from dpviz.experiments.presets import PRESETS, figure_table, plans
from dpviz.experiments.sweep import Plan, Subject, run_sweep
from dpviz.experiments.tuning.best_parameters import best_parameters
from dpviz.experiments.tuning.smallest_epsilon import Target, smallest_epsilon
from dpviz.families import CARDS, FAMILIES, family_of, trial_of
from dpviz.family.score import OF_CLASSES
from dpviz.grid.domain import Domain
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.metrics.matching import contingency, f_measure
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.noise_source import SeededNoise
from dpviz.release.draw import Prepared
from dpviz.release.files import files
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.parameters import Config
from tests.golden.build import Repeated
from tests.release.test_release import request_of

quick = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 2**32)

UNIT = Domain(((0.0, 1.0), (0.0, 1.0)))

SPENDING = [name for name, card in CARDS.items() if card.spends]


def classes_of(codes: Any) -> Classes:
    codes = np.asarray(codes, dtype=np.intp)
    return Classes(column="kind", names=tuple(f"c{k}" for k in range(codes.max() + 1)), codes=codes)


def classed(seed: int, n: int = 90) -> Dataset:
    """Three groups of records, some outside the unit square; classes mostly match the groups."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % 3
    points = np.array([(0.2, 0.2), (0.8, 0.3), (0.5, 0.85)])[groups] + rng.normal(0, 0.09, (n, 2))
    codes = np.where(rng.random(n) < 0.15, rng.integers(0, 4, n), groups)
    return Dataset(
        name="groups", points=points, units=np.arange(n) // 4, classes=classes_of([*codes[:-1], 3])
    )


def bare(data: Dataset) -> Dataset:
    return replace(data, classes=None)


def config_of(method: str, **more: Any) -> Any:
    if method in WAVECLUSTER:
        return Config(method=method, **{"grid": 8, "density": 0.3, "epsilon": 2.0, **more})
    return KMeansConfig(method=method, **{"clusters": 3, "epsilon": 2.0, **more})


def parts_of(data: Dataset) -> list[tuple[float, ...]]:
    """Each record, with its class and its person."""
    assert data.points is not None
    assert data.classes is not None
    assert data.units is not None
    names = np.array(data.classes.names)[data.classes.codes]
    return [
        (*row, name, who) for row, name, who in zip(data.points, names, data.units, strict=True)
    ]


# -- read --------------------------------------------------------------------------------


def read(text: str, classes: str | int | None = "kind", **more: Any) -> Dataset:
    return read_table(text.encode(), name="t.csv").select(classes=classes, **more)


def named(data: Dataset) -> list[str]:
    assert data.classes is not None
    return [data.classes.names[code] for code in data.classes.codes]


def test_classes_are_read_and_no_coordinates() -> None:
    data = read("x,kind,y\n1,red,2\n,red,3\n4,blue,5\n6,,7\n8,red,9\n")
    assert (data.columns, data.n, data.dropped) == (("x", "y"), 4, 1)
    # Records without a class are one class, so classes do not decide which records are used.
    assert named(data) == ["red", "blue", "none", "red"]
    (note,) = (note for note in data.notes if "class" in note)
    assert note == '1 row has no value in "kind": such rows form a separate class.'
    numbers = read("x,y,kind\n1,2,7\n3,4,7.0\n5,6,8\n7,8,007\n")
    assert (numbers.columns, named(numbers)) == (("x", "y"), ["7", "7", "8", "7"])
    assert numbers.notes == ()
    by_number = read("x,kind,y\n1,red,2\n4,blue,5\n", classes=2)
    assert by_number.classes is not None
    assert by_number.classes.column == "kind"


@pytest.mark.parametrize("source", ["csv", "parquet", "frame"])
def test_classes_of_all_formats_are_alike(source: str, tmp_path: Any) -> None:
    frame = pd.DataFrame(
        {"x": [1.0, 2.5, 3], "y": [4, 5, 6], "kind": pd.Categorical(["b", "a", "b"])}
    )
    given: Any = frame
    if source != "frame":
        given = tmp_path / f"t.{source}"
        frame.to_parquet(given) if source == "parquet" else frame.to_csv(given, index=False)
    assert named(read_table(given).select(classes="kind")) == ["b", "a", "b"]


def test_wrong_class_columns_are_one_sentence() -> None:
    text = "x,y,kind\n1,2,a\n3,4,b\n"
    with pytest.raises(InputError, match='column "sort" is not in'):
        read(text, "sort")
    with pytest.raises(InputError, match='column "y" holds the known classes'):
        read(text, "y", columns=["x", "y"])
    lines = "".join(f"{i},{i % 7},{i % (MOST_CLASSES + 1)}\n" for i in range(MOST_CLASSES + 1))
    with pytest.raises(InputError, match='"kind" holds more than 1,000 different classes'):
        read("x,y,kind\n" + lines)
    fitting = read("x,y,kind\n" + lines.replace(f",{MOST_CLASSES}\n", ",0\n"))
    assert fitting.classes is not None
    assert len(fitting.classes.names) == MOST_CLASSES


# -- classes stay with their records -----------------------------------------------------------


@quick
@given(seed=seeds, cap=st.integers(1, 4))
def test_classes_stay_with_their_records(seed: int, cap: int) -> None:
    data = classed(seed % 99)
    known = set(parts_of(data))
    capped = cap_records(data, cap)
    assert set(parts_of(capped)) <= known
    assert capped.n == min(cap, 4) * 22 + min(cap, 2)
    part = np.random.default_rng(seed).random(data.n) < 0.5
    assert parts_of(data.take(part)) == [
        row for row, kept in zip(parts_of(data), part, strict=True) if kept
    ]
    assert data.points is not None
    assert data.classes is not None
    one = data.select([2])
    assert one.classes is data.classes
    inside = UNIT.contains(data.points)
    for method in ("privthr", "dplloyd"):
        family = family_of(method)
        for outside, expected in (
            ("drop", data.classes.codes[inside]),
            ("clip", data.classes.codes),
        ):
            material = family.material(data, config_of(method), UNIT, outside)
            assert material.classes.tolist() == expected.tolist()
            assert len(material.classes) == material.n


def test_a_data_set_has_one_class_per_record() -> None:
    data = classed(0)
    with pytest.raises(TypeError, match="one class per record"):
        replace(data, classes=classes_of([0, 1]))
    with pytest.raises(TypeError, match="one class per record"):
        Dataset(name="grid", counts=np.ones((2, 2), dtype=np.int64), classes=classes_of([0]))


def test_classes_are_part_of_the_digest() -> None:
    data = classed(0)
    assert data.classes is not None
    moved = replace(data.classes, codes=np.roll(data.classes.codes, 1))
    renamed = replace(data.classes, names=("a", "b", "c", "d"))
    digests = {one.digest for one in (data, bare(data), replace(data, classes=moved))}
    assert len(digests | {replace(data, classes=renamed).digest}) == 4


# -- scores ------------------------------------------------------------------------------


@pytest.mark.parametrize("outside", ["clip", "drop"])
@pytest.mark.parametrize(
    "config",
    [
        config_of("privthr"),
        config_of("privqt", grid=(9, 16), wavelet="db2", level=2),
        config_of("dplloyd"),
        config_of("eugkm"),
    ],
    ids=["privthr", "level 2", "dplloyd", "eugkm"],
)
def test_scores_are_those_of_labels_and_classes(config: Any, outside: Any) -> None:
    data = classed(3, 400)
    trial = trial_of(data, config, UNIT, outside)
    assert data.points is not None
    assert data.classes is not None
    part = UNIT.contains(data.points) if outside == "drop" else np.ones(data.n, dtype=bool)
    codes = data.classes.codes[part]
    for one in (trial.draw(0), trial.draw(1), None):
        # Noise, which has the label -1, counts as one more cluster.
        labels = trial.label(one)
        expected = {
            "class_f": f_measure(contingency(codes, labels + 1)),
            "class_ari": adjusted_rand_score(codes, labels),
            "class_ami": adjusted_mutual_info_score(codes, labels),
        }
        scores = trial.true() if one is None else trial.scores(one, 0, OF_CLASSES)
        assert {name: scores[name] for name in OF_CLASSES} == pytest.approx(expected, abs=1e-9)
    assert 0.4 < trial.true()["class_f"] < 1


@pytest.mark.parametrize("method", ["privthr", "dplloyd"])
def test_only_data_with_classes_have_these_scores(method: str) -> None:
    data = classed(0)
    with_classes, without = (
        trial_of(data, config_of(method)),
        trial_of(bare(data), config_of(method)),
    )
    assert with_classes.score_names == (*without.score_names, *OF_CLASSES)
    assert set(with_classes.true()) - set(without.true()) == set(OF_CLASSES)
    single = trial_of(
        data.take(np.arange(1)),
        config_of(method, **{"grid": 2} if method == "privthr" else {"clusters": 1}),
    )
    assert set(OF_CLASSES) <= set(single.score_names)
    assert single.true()["class_f"] == 1


@quick
@given(seed=seeds, method=st.sampled_from(["privqt", "privthrem", "eugkm"]))
def test_neither_names_of_classes_nor_the_order_of_records_matter(seed: int, method: str) -> None:
    data, rng = classed(seed % 99), np.random.default_rng(seed)
    assert data.classes is not None
    order, numbers = rng.permutation(data.n), rng.permutation(4)
    classes = replace(data.classes, codes=numbers[data.classes.codes])
    found = []
    for one in (data, replace(data, classes=classes), data.take(order)):
        trial = trial_of(one, config_of(method), UNIT)
        found.append(trial.scores(trial.draw(seed % 7), 0, OF_CLASSES))
    assert found[1:] == [pytest.approx(found[0], rel=1e-9, abs=1e-9)] * 2


# -- runs and releases do not see them ----------------------------------------------------


@pytest.mark.parametrize("method", SPENDING)
def test_no_run_sees_classes(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpviz.kmeans.methods.mcmc.STEPS", 200)
    family, data, config = family_of(method), classed(1), config_of(method)
    runs = []
    for one in (data, bare(data)):
        material = family.material(one, config, UNIT, "clip")
        run = family.run(material, config, Accountant(SeededNoise(2), 2.0))
        labels = family.trial(family.material(one, config, UNIT, "clip"), config).label(run)
        runs.append((labels.tolist(), run.ledger.spends))
    assert runs[0] == runs[1]


@pytest.mark.some(1)
@pytest.mark.daily("privthrem", "baseline", "dplloyd")
@pytest.mark.parametrize("method", ["privthrem", "baseline", "dplloyd", "eugkm"])
def test_the_bytes_of_a_release_do_not_hang_on_classes(method: str) -> None:
    data = classed(5)
    assert data.classes is not None
    secured = family_of(method).material(data, config_of(method), UNIT, "clip", secure=True)
    assert secured.classes is None
    other = replace(data.classes, names=("p", "q", "r", "s"), codes=3 - data.classes.codes)
    bundles = []
    for one in (bare(data), data, replace(data, classes=other)):
        prepared = Prepared.build(one, request_of({"method": method}))
        assert prepared.material.classes is None  # type: ignore[attr-defined]
        bundles.append(files(prepared.draw(0.7, Repeated)))
    assert bundles[0] == bundles[1] == bundles[2]
    held = b"".join(bundles[0].values())
    assert b"kind" not in held.replace(b'"kind"', b"")


# -- experiments -------------------------------------------------------------------------


def subject_of(data: Dataset, name: str) -> Subject:
    settings = {"grid": 8, "density": 0.3, "clusters": 3}
    return Subject(name=name, title=name, dataset=data, domain=UNIT, settings=settings)


def test_a_sweep_has_these_scores_where_there_are_classes() -> None:
    data, shared = classed(2), {"methods": ("privqt", "eugkm"), "epsilons": (1.0,), "seeds": (0, 1)}
    with_classes, without = subject_of(data, "with"), subject_of(bare(data), "without")
    table = run_sweep(Plan(subjects=(with_classes, without), **shared))
    assert "class_f" in table
    rows = table.set_index("data")
    assert rows.loc["with", "class_f"].between(0, 1).all()
    assert rows.loc["without", "class_f"].isna().all()
    # Rows of data without classes are equal to the rows of a sweep without classes.
    alone = run_sweep(Plan(subjects=(without,), **shared))
    assert "class_f" not in alone
    pd.testing.assert_frame_equal(
        table[table["data"] == "without"].drop(columns="class_f").reset_index(drop=True), alone
    )
    for row in table[table["data"] == "with"].itertuples():
        trial = trial_of(data, config_of(row.method, epsilon=1.0), UNIT)
        assert trial.scores(trial.draw(row.seed), row.seed, ("class_f",))["class_f"] == row.class_f
    with pytest.raises(InputError, match="class_ari needs known classes, and no data set has"):
        Plan(subjects=(without,), scores=("class_ari",), **shared)


def test_figures_of_hu_are_in_their_measure_where_classes_are_known() -> None:
    data = classed(2)
    one = PRESETS["003-2"]
    assert next(iter(one.scores)) == "class_f"
    for known in (True, False):
        subjects = [subject_of(data if known else bare(data), "d")]
        (plan,) = plans([one], subjects, repeats=1).values()
        table = figure_table(one, run_sweep(plan))
        scores = list(dict.fromkeys(table["score"]))
        assert scores == ["class_f"] * known + ["f_measure", "nicv"]


@pytest.mark.parametrize(
    ("method", "over"),
    [
        ("privqt", {"grid": (4, 16), "density": (0.2,)}),
        ("privthr", {"epsilon": (0.5,), "alpha": (0.5,)}),
        ("dplloyd", {"epsilon": (0.5,), "iterations": (2,)}),
    ],
)
def test_searches_score_against_classes(method: str, over: Any) -> None:
    data, config, seeds = (
        classed(4),
        config_of(method, **{"alpha": 0.9} if method == "privthr" else {}),
        (0, 1, 2),
    )
    if method == "dplloyd":
        config = replace(config, iterations=3)
    found = best_parameters(data, config, "class_f", over, domain=UNIT, seeds=seeds, share=1.0)
    for cell in np.ndindex(*found.reached.shape):
        changes = {
            name: values[place]
            for name, values, place in zip(found.names, found.values, cell, strict=True)
        }
        trial = trial_of(data, replace(config, **changes), UNIT)
        worst = min(trial.scores(trial.draw(s), s, ("class_f",))["class_f"] for s in seeds)
        assert found.reached[cell] == pytest.approx(worst)
    with pytest.raises(InputError, match='score = "class_f" is unknown'):
        best_parameters(bare(data), config, "class_f", over, domain=UNIT, seeds=seeds)
    target = Target("class_f", ">=", 0.3)
    answer = smallest_epsilon(data, config, target, domain=UNIT, seeds=seeds, epsilons=(1.0, 5.0))
    assert answer.epsilon == 1.0
    with pytest.raises(InputError, match='score = "class_f" is unknown'):
        smallest_epsilon(bare(data), config, target, domain=UNIT, seeds=seeds)


def test_both_families_share_these_scores() -> None:
    for family in FAMILIES.values():
        assert set(OF_CLASSES) <= set(family.scores)
        assert "class_f" in family.swept
        assert "class_f" in family.quick
