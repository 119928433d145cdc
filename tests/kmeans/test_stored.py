"""k-means on stored records equals k-means on the same records in memory, with any engine."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.data.engine.choice import Local
from dpviz.data.engine.dask import Cluster
from dpviz.data.engine.tables import Engine
from dpviz.grid.domain import Domain, Outside
from dpviz.kmeans.methods import METHODS
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.scores import OF_CENTERS
from dpviz.kmeans.space import Space
from dpviz.kmeans.stored import StoredRecords, check_passes
from dpviz.kmeans.trial import KMeansTrial
from dpviz.kmeans.truth import run_kmeans
from dpviz.privacy.noise_source import SeededNoise
from tests.support.parts import Numbers, killing, stored_parts

#: Numbers of records in the files: several chunks, no record, one record, less than a chunk.
SIZES = (1000, 0, 1, 250)


def tables(ndim: int) -> list[np.ndarray]:
    rng = np.random.default_rng(ndim)
    middles = rng.uniform(-0.7, 0.7, (4, ndim))
    return [
        middles[rng.integers(4, size=size)] + rng.normal(0, 0.15, (size, ndim)) for size in SIZES
    ]


def domain(ndim: int) -> Domain:
    return Domain(((-1.0, 1.0),) * (ndim - 1) + ((-0.5, 1.5),))


def both(
    folder: Path,
    ndim: int,
    *,
    cut: bool,
    outside: Outside = "clip",
    engine: Engine | None = None,
    parts: Sequence[Numbers] | None = None,
) -> tuple[Records, StoredRecords]:
    some = tables(ndim)
    held = Records.build(
        Dataset(name="points", points=np.concatenate(some)), domain(ndim), outside, cut=cut
    )
    parts = stored_parts(folder, some) if parts is None else parts
    stored = StoredRecords(
        name="points", parts=parts, engine=engine or Local(), domain=domain(ndim), outside=outside,
        cut=cut,
    )  # fmt: skip
    return held, stored


def drawn(records: Records, config: KMeansConfig) -> KMeansRun:
    return run_kmeans(records, config, SeededNoise(5))


def in_passes() -> list[KMeansConfig]:
    found = []
    for name, method in METHODS.items():
        for variant in method.card.variants if method.card.spends else ():
            config = KMeansConfig(method=name, clusters=4, epsilon=1.0, variant=variant.name)
            try:
                check_passes(config, "big.csv")
            except InputError:
                continue
            found.append(config)
    return found


def name_of(config: KMeansConfig) -> str:
    return f"{config.method}-{config.variant}"


@pytest.mark.usefixtures("quick_after_the_mechanisms")
@pytest.mark.parametrize("ndim", [2, 9])
@pytest.mark.parametrize("config", in_passes(), ids=name_of)
def test_on_the_lattice_a_run_is_the_same_to_the_bit(tmp_path, config, ndim):
    if ndim > 7 and config.method in ("eugkm", "hybrid", "contour", "dpkmeanspp", "dpkmeansup"):
        pytest.skip("a grid over nine columns says little and takes long")
    held, stored = both(tmp_path, ndim, cut=True)
    if config.start == "partition":
        # Each part makes its own random sets; everything else is the same.
        object.__setattr__(held, "dealt", stored.dealt)
    expected, found = drawn(held, config), drawn(stored, config)
    if name_of(config) == "contour-published":
        # Distances are not on the lattice, and so the last digits of the noise scales differ.
        np.testing.assert_allclose(found.centers, expected.centers, rtol=0, atol=1e-9)
        return
    assert (found.centers == expected.centers).all()
    assert found.ledger == expected.ledger


@pytest.mark.parametrize("outside", ["clip", "drop"])
@pytest.mark.parametrize("geometry", ["box", "cube", "l1"])
def test_off_the_lattice_sums_differ_by_rounding_alone(tmp_path, outside, geometry):
    held, stored = both(tmp_path, 3, cut=False, outside=outside)
    space = Space(held.domain, geometry)
    centers = np.random.default_rng(0).uniform(-1, 1, (4, 3))
    expected, found = held.sums(space, centers), stored.sums(space, centers)
    assert (found[:, 0] == expected[:, 0]).all()
    np.testing.assert_allclose(found[:, 1:], expected[:, 1:], rtol=0, atol=1e-11)
    config = KMeansConfig(method="dplloyd", clusters=4, epsilon=1.0, geometry=geometry)
    np.testing.assert_allclose(
        drawn(stored, config).centers, drawn(held, config).centers, rtol=0, atol=1e-9
    )
    assert (stored.n, stored.n_outside) == (held.n, held.n_outside)
    assert held.n_outside


@pytest.mark.parametrize("outside", ["clip", "drop"])
@pytest.mark.parametrize("sets", [1, 3, 8])
def test_slices_of_the_list_are_those_in_memory(tmp_path, outside, sets):
    held, stored = both(tmp_path, 3, cut=False, outside=outside)
    space = Space(held.domain, "cube")
    found, expected = stored.slices(space, sets), held.slices(space, sets)
    assert (found[:, 0] == expected[:, 0]).all()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)
    # Each set is a slice of the list, and the sizes of slices differ by at most one.
    points = held.scaled(space)
    assert np.ptp(found[:, 0]) <= 1
    ends = np.cumsum(found[:, 0]).astype(int)
    for set_, slice_ in zip(found, np.split(points, ends[:-1]), strict=True):
        np.testing.assert_allclose(set_[1:], slice_.sum(axis=0), rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", ["dpkmeans_mapreduce", "contour"])
def test_printed_algorithms_run_on_stored_records(tmp_path, method):
    held, stored = both(tmp_path, 3, cut=False)
    config = KMeansConfig(method=method, clusters=4, epsilon=1.0, variant="published")
    check_passes(config, "big.csv")
    expected, found = drawn(held, config), drawn(stored, config)
    assert len(found.iterations) == len(expected.iterations)
    np.testing.assert_allclose(found.centers, expected.centers, rtol=0, atol=1e-9)
    scales = [[one.scales for one in run.iterations] for run in (found, expected)]
    np.testing.assert_allclose(*scales, rtol=1e-9)


def test_methods_that_need_all_records_say_so_before_anything_is_read(tmp_path):
    _, stored = both(tmp_path, 2, cut=False)
    refused = set(itertools.product(METHODS, ("sound", "published")))
    refused -= {(one.method, one.variant) for one in in_passes()}
    # GUPT clusters each block of records by itself; k-means without noise spends nothing.
    assert {name for name, variant in refused if variant == "sound"} == {"gupt", "kmeans"}
    for name, variant in refused:
        card = METHODS[name].card
        if not card.spends or variant not in [one.name for one in card.variants]:
            continue
        config = KMeansConfig(method=name, clusters=4, epsilon=1.0, variant=variant)
        with pytest.raises(InputError, match=r"big\.csv stays on disk: load it into memory, or"):
            check_passes(config, "big.csv")
        # Without this check there would be an error message, and not a wrong result.
        with pytest.raises(InputError, match="stays on disk"):
            drawn(stored, config)


def test_each_record_joins_a_set_by_a_draw_of_its_own(tmp_path):
    held, stored = both(tmp_path, 2, cut=True)
    space = Space(held.domain)
    whole = held.sums(space, np.zeros((1, 2)))
    rng = np.random.default_rng(1)
    found = np.array([stored.dealt(space, 5, rng) for _ in range(200)])
    assert (found[:, :, 0].sum(axis=1) == whole[0, 0]).all()
    assert (found[:, :, 1:].sum(axis=1) == whole[0, 1:]).all()
    # Counts are multinomial: their squared distances from n / 5 have a chi-squared distribution.
    squares = ((found[:, :, 0] - held.n / 5) ** 2).sum(axis=1) / (held.n / 5)
    # False alarms: 1 in 1,000.
    assert stats.kstest(squares, stats.chi2(4).cdf).pvalue > 1e-3
    again = stored.dealt(space, 5, np.random.default_rng(1))
    assert (again == found[0]).all()


@pytest.mark.some(1)
@pytest.mark.daily("privgene-sound")
@pytest.mark.parametrize("config", [
    KMeansConfig(method="dprefine", clusters=4, epsilon=1.0),
    KMeansConfig(method="contour", clusters=4, epsilon=1.0),
    KMeansConfig(method="contour", clusters=4, epsilon=1.0, variant="published"),
    KMeansConfig(method="privgene", clusters=4, epsilon=1.0),
], ids=name_of)  # fmt: skip
def test_workers_find_the_same_bits_also_where_one_dies(tmp_path, dask_workers, config):
    parts = stored_parts(tmp_path, tables(2), told=tmp_path)
    with Cluster(scheduler=dask_workers, cancelled=killing(tmp_path)) as cluster:
        found = drawn(both(tmp_path, 2, cut=False, engine=cluster, parts=parts)[1], config)
    assert (tmp_path / "killed").exists()
    (tmp_path / "go").touch()
    expected = drawn(both(tmp_path, 2, cut=False)[1], config)
    assert (found.centers == expected.centers).all()
    assert found.ledger == expected.ledger


def test_a_domain_without_records_is_refused_unless_a_release_asks(tmp_path):
    far = Domain(((50.0, 60.0),) * 2)
    parts = stored_parts(tmp_path, tables(2))
    given = {"name": "points", "parts": parts, "engine": Local(), "domain": far}
    with pytest.raises(InputError, match=r"holds none of the 1,251 points of points"):
        StoredRecords(**given).n  # noqa: B018
    released = StoredRecords(**given, outside="drop", cut=True)
    assert (released.n, released.n_outside) == (0, 1251)


@pytest.mark.daily("drop-box")
@pytest.mark.parametrize("geometry", ["box", "l1"])
@pytest.mark.parametrize("outside", ["clip", "drop"])
def test_true_run_and_scores_are_those_in_memory(tmp_path, monkeypatch, outside, geometry):
    records = both(tmp_path, 2, cut=False, outside=outside)
    names = (*OF_CENTERS, "zhang_f")
    config = KMeansConfig(method="dplloyd", clusters=4, epsilon=0.5, geometry=geometry)
    trials = [KMeansTrial.of(one, config) for one in records]
    held, stored = (one.scores(one.draw(5), 5, names) for one in trials)
    assert stored.keys() == held.keys()
    for name in names:
        # Both searches end near a local optimum; with stored records there are fewer rounds.
        assert stored[name] == pytest.approx(held[name], rel=2e-5), name
    assert (trials[1].true()["wcss"]) == pytest.approx(trials[0].true()["wcss"], rel=1e-5)
    # With a small sample the search finds nearly the same, and no ratio is below 1.
    monkeypatch.setattr("dpviz.kmeans.stored.SAMPLE", 400)
    sampled = KMeansTrial.of(both(tmp_path, 2, cut=False, outside=outside)[1], config)
    assert sampled.true()["wcss"] == pytest.approx(trials[0].true()["wcss"], rel=0.02)
    best = sampled.draw(0)
    assert sampled.scores(best, 0, ("nicv_ratio", "wcss_ratio"))["nicv_ratio"] >= 1


def test_no_pass_of_the_true_run_sends_more_than_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr("dpviz.kmeans.stored.SAMPLE", 100)
    sizes: list[int] = []

    class Watched(Local):
        def tables(self, parts, work):
            found = super().tables(parts, work)
            sizes.append(sum(table.size for tables in found for table in tables))
            return found

        def total(self, parts, work):
            found = super().total(parts, work)
            sizes.append(sum(table.size for table in found))
            return found

    stored = both(tmp_path, 2, cut=False, engine=Watched())[1]
    trial = KMeansTrial.of(stored, KMeansConfig(method="dplloyd", clusters=4, epsilon=1.0))
    trial.scores(trial.draw(0), 0, OF_CENTERS)
    assert max(sizes) < 2 * 150
    assert len(sizes) > 10
