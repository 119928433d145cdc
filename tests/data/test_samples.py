"""The sample sets match their index, and the generators reproduce them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import pywt
from numpy.typing import NDArray
from scipy import ndimage

from dpviz.base.errors import InputError
from dpviz.data.samples import SAMPLE_DIR, Sample, load_sample, sample, sample_names
from dpviz.families import trial_of
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import run
from dpviz.wavecluster.wavelet import wavelet_names
from sample_data import generators

NAMES = ("gaussians", "spirals", "shapes", "checkins", "incomes", "noise", "tiny4", "tiny8")

GENERATORS: dict[str, Callable[..., Any]] = {
    "gaussians": generators.fifteen_gaussians,
    "spirals": generators.three_spirals,
    "shapes": generators.five_shapes,
    "incomes": generators.incomes,
    "noise": generators.uniform_noise,
    "tiny4": partial(generators.counted_cells, cells=generators.TINY_4),
    "tiny8": partial(generators.counted_cells, cells=generators.TINY_8),
}


def points_of(name: str) -> NDArray[np.float64]:
    points = load_sample(name).points
    assert points is not None
    return points


def points_in(drawn: Any) -> NDArray[np.float64]:
    points: NDArray[np.float64] = drawn[0] if isinstance(drawn, tuple) else drawn
    return points


def wavecluster(
    points: NDArray[np.float64], described: Sample, density: float | None = None
) -> tuple[int, int, float, int]:
    """Return len(L), k, d and number of clusters, computed without the implementation in dpviz."""
    p = described.density if density is None else density
    counts, _ = np.histogramdd(points, bins=described.grid, range=described.domain.bounds)
    average = pywt.dwt2(counts, "haar", mode="periodization")[0]
    positive = np.sort(average[average > 1e-9])
    k = int(np.ceil((1 - p) * len(positive)))
    threshold = positive[-k]
    # The transform has rounding errors, so equal sums may differ by some ulp.
    _, clusters = ndimage.label(average >= threshold - 1e-9, structure=np.ones((3, 3)))
    return len(positive), k, round(float(threshold), 6), clusters


def test_names_come_in_the_order_of_the_index() -> None:
    assert sample_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_file_agrees_with_its_entry(name: str) -> None:
    described, data = sample(name), load_sample(name)
    points = points_of(name)
    assert data.name == described.name
    assert data.columns == described.columns
    assert data.domain == described.domain
    assert described.domain.declared
    assert points.shape == (described.n, 2)
    assert points.dtype == np.float64
    assert points.flags.c_contiguous
    assert described.domain.contains(points).all()


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"checkins"}))
def test_header_of_the_csv_names_the_columns(name: str) -> None:
    described = sample(name)
    with (SAMPLE_DIR / described.file).open(encoding="utf-8") as lines:
        header = tuple(next(lines).strip().split(","))
    assert header == (*described.columns, *filter(None, [described.classes]))


@pytest.mark.parametrize("name", NAMES)
def test_description_credit_and_licence_are_there(name: str) -> None:
    described = sample(name)
    assert described.title
    assert described.description.endswith(".")
    assert described.credit.endswith(".")
    assert described.licence == ("CC-BY-4.0" if name == "checkins" else "CC0-1.0")
    assert f"* {name}: {described.credit}" in (SAMPLE_DIR / "README.md").read_text("utf-8")


def test_credit_of_the_checkins_names_geonames() -> None:
    assert "GeoNames" in sample("checkins").credit
    assert "CC BY 4.0" in sample("checkins").credit


@pytest.mark.parametrize("name", NAMES)
def test_true_wavecluster_finds_the_declared_number_of_clusters(name: str) -> None:
    described = sample(name)
    assert wavecluster(points_of(name), described)[-1] == described.clusters


@pytest.mark.parametrize("name", ["gaussians", "spirals", "shapes"])
def test_number_of_clusters_does_not_hang_on_the_exact_density(name: str) -> None:
    described = sample(name)
    for step in (-0.02, 0.02):
        found = wavecluster(points_of(name), described, described.density + step)
        assert found[-1] == described.clusters


@pytest.mark.parametrize(
    ("name", "positive", "k"),
    [("gaussians", 501, 211), ("spirals", 159, 144), ("shapes", 197, 152)],
)
def test_grids_are_filled_like_those_of_the_paper(name: str, positive: int, k: int) -> None:
    found_positive, found_k, *_ = wavecluster(points_of(name), sample(name))
    assert found_positive == pytest.approx(positive, rel=0.05)
    assert found_k == pytest.approx(k, rel=0.05)


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_generator_gives_the_shipped_file_again(name: str) -> None:
    drawn, data = GENERATORS[name](), load_sample(name)
    np.testing.assert_array_equal(points_in(drawn), data.points)
    if data.classes is None:
        assert not isinstance(drawn, tuple)
    else:
        names = np.array(data.classes.names)[data.classes.codes]
        assert names.tolist() == drawn[1].tolist()


#: Number of records in each known class.
SIZES = {
    "gaussians": dict.fromkeys("ABCDE", 2004) | dict.fromkeys("FGHIJKLMNO", 1998),
    "spirals": dict.fromkeys("ABC", 10_400),
    "shapes": {
        "ellipses": 12_360, "discs": 9_200, "moon": 7_880, "disc alone": 1_120,
        "disc in the mouth": 960,
    },
    "incomes": {"low": 396, "high": 396, "between": 8},
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_sets_of_several_parts_have_known_classes(name: str) -> None:
    classes = load_sample(name).classes
    if name not in SIZES:
        assert classes is sample(name).classes is None
        return
    assert classes is not None
    assert classes.column == sample(name).classes == "class"
    sizes = np.bincount(classes.codes)
    assert dict(zip(classes.names, sizes, strict=True)) == SIZES[name]


@pytest.mark.parametrize("name", ["gaussians", "spirals", "shapes"])
def test_true_wavecluster_finds_the_known_classes(name: str) -> None:
    """Except for thin borders, each class is one cluster, and each cluster is one class."""
    described, data = sample(name), load_sample(name)
    config = Config(method="wavecluster", grid=described.grid, density=described.density)
    true = trial_of(data, config)
    scores = true.true()
    assert scores["clusters"] == len(SIZES[name])
    assert scores["class_f"] > 0.9


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_generators_take_any_number_and_seed(name: str) -> None:
    make = GENERATORS[name]
    for n in (1, 2, 50):
        assert points_in(make(n)).shape == (n, 2)
    first = points_in(make(123, seed=5))
    assert first.shape == (123, 2)
    assert sample(name).domain.contains(first).all()
    np.testing.assert_array_equal(first, points_in(make(123, seed=5)))
    assert not np.array_equal(first, points_in(make(123, seed=6)))


def test_one_person_joins_two_clusters_of_incomes() -> None:
    described, points = sample("incomes"), points_of("incomes")
    assert described.person == described.n - 1
    for density in (described.density - 0.03, described.density, described.density + 0.03):
        assert wavecluster(points, described, density)[-1] == 1
        assert wavecluster(points[:-1], described, density)[-1] == 2


@pytest.mark.parametrize(
    ("name", "values", "empty", "k", "d"),
    [
        ("tiny4", [20, 8, 7], 1, 2, 8),
        ("tiny8", [20, 18, 16, 14, 13, 12, 10, 4, 2, 1], 6, 6, 12),
    ],
)
def test_a_person_can_count_on_the_tiny_grids(
    name: str, values: list[int], empty: int, k: int, d: int
) -> None:
    described, points = sample(name), points_of(name)
    cells = {"tiny4": generators.TINY_4, "tiny8": generators.TINY_8}[name]
    counts, _, _ = np.histogram2d(*points.T, bins=described.grid, range=described.domain.bounds)
    # In the paper's figure, the first axis is horizontal and the second is vertical.
    np.testing.assert_array_equal(counts.T[::-1], cells)
    # Half the sum of each block of 2 x 2 cells. All sums are whole; no positive value occurs twice.
    blocks = counts.reshape(described.grid // 2, 2, described.grid // 2, 2).sum(axis=(1, 3)) / 2
    assert sorted(blocks[blocks > 0].tolist(), reverse=True) == values
    assert (blocks == 0).sum() == empty
    assert wavecluster(points, described)[:3] == (len(values), k, d)
    # No point is near an edge of its cell.
    assert (np.abs(points % 1 - 0.5) <= 0.4 + 1e-9).all()


def test_the_border_cell_of_the_tiny_grid_joins_its_two_clusters() -> None:
    described, points = sample("tiny8"), points_of("tiny8")
    # The next significant cell, the seventh, touches both clusters.
    positive, k, value, clusters = wavecluster(points, described, density=0.3)
    assert (positive, k, value, clusters) == (10, 7, 10, 1)


def test_only_the_incomes_have_a_person() -> None:
    assert [name for name in NAMES if sample(name).person is not None] == ["incomes"]


def test_shipped_checkins_are_sorted_hundredths_of_a_degree() -> None:
    points = points_of("checkins")
    hundredths = np.rint(points * 100)
    np.testing.assert_array_equal(hundredths / 100, points)
    key = hundredths[:, 0] * 100_000 + hundredths[:, 1]
    assert (np.diff(key) >= 0).all()


def checkins(n: int = 5_000, seed: int = 0) -> NDArray[np.float64]:
    """Check-ins of three invented cities: at the date line, at a pole, and without records."""
    return generators.world_checkins([179.99, 10.0, 50.0], [10.0, 89.9, 0.0], [9, 4, 0], n, seed)


def test_checkins_are_deterministic() -> None:
    np.testing.assert_array_equal(checkins(), checkins())
    assert not np.array_equal(checkins(), checkins(seed=1))


def test_checkins_are_rounded_and_stay_on_the_map() -> None:
    points = checkins()
    np.testing.assert_array_equal(np.round(points, 2), points)
    assert sample("checkins").domain.contains(points).all()
    assert not np.signbit(points[points == 0]).any()


def test_checkins_lie_around_cities_and_cross_the_date_line() -> None:
    points = checkins()
    at_date_line = (np.abs(points[:, 0]) > 179) & (np.abs(points[:, 1] - 10) < 1)
    assert at_date_line.mean() > 0.5
    assert (points[at_date_line, 0] < 0).any()
    empty_city = (np.abs(points - (50, 0)) < 1).all(axis=1)
    assert empty_city.mean() < 0.01


def test_all_files_together_stay_small() -> None:
    total = sum(path.stat().st_size for path in SAMPLE_DIR.iterdir() if path.is_file())
    assert total <= 10_000_000


def test_every_file_is_in_the_index() -> None:
    index = json.loads((SAMPLE_DIR / "index.json").read_text("utf-8"))
    shipped = {path.name for path in SAMPLE_DIR.iterdir() if path.suffix in {".csv", ".parquet"}}
    assert shipped == {entry["file"] for entry in index["samples"]}


def test_unknown_name_is_answered_with_the_names() -> None:
    with pytest.raises(InputError, match=f"choose from {', '.join(NAMES)}"):
        load_sample("gausians")


def test_description_is_read_once() -> None:
    assert sample("noise") is sample("noise")


@pytest.mark.parametrize("name", sample_names())
def test_every_wavelet_runs_on_every_sample(name: str) -> None:
    source = Source.build(load_sample(name), sample(name).grid)
    for wavelet in wavelet_names():
        for method in ("wavecluster", "privthr", "privthrem"):
            config = Config(method=method, wavelet=wavelet, density=sample(name).density)
            found = run(source, config, SeededNoise(0))
            assert found.stages.average.shape == (source.shape[0] // 2,) * 2
            assert found.ledger.epsilon == pytest.approx(float(method != "wavecluster"), abs=1e-9)
            assert found.stages.n_clusters >= 1
