"""Generators of the sample sets: pure functions of their arguments and a seed.

Three of them are in the likeness of the sets on which Chen, Yu and Chirkova measured
private WaveCluster. Their sets consist of tight clumps of points, and so do ours: it is
the clumps that decide how many cells of the grid are empty, and the empty cells that
decide what the noise of a private technique does to the clusters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Points = NDArray[np.float64]

#: Name of the part of its generator that each point comes from, shape (n,).
Classes = NDArray[np.str_]

#: Width of the square on which the three synthetic sets live.
SIDE = 1_000_000

#: Highest income and highest expenses that :func:`incomes` gives.
INCOME_BOUNDS = (10_000, 8_000)

#: Kilometres per degree of latitude.
KM_PER_DEGREE = 111.2

#: Width of the narrower half of a Gaussian cluster as a share of the wider.
CORE = 0.6

#: Points in each cell of :func:`counted_cells`, as a reader sees the grid: the top row first.
TINY_4 = (
    (0, 0, 10, 10),
    (0, 0, 10, 10),
    (2, 8, 7, 7),
    (2, 4, 0, 0),
)
TINY_8 = (
    (0, 0, 0, 0, 0, 2, 9, 9),
    (0, 0, 0, 0, 0, 2, 9, 9),
    (0, 0, 0, 0, 2, 6, 8, 8),
    (4, 4, 0, 0, 6, 6, 4, 4),
    (10, 10, 8, 6, 0, 0, 0, 0),
    (10, 10, 8, 6, 0, 0, 0, 0),
    (8, 8, 8, 5, 1, 0, 0, 0),
    (8, 8, 8, 5, 1, 0, 0, 0),
)

#: Centre x, y, standard deviation along the two main axes, and turn in degrees.
_GAUSSIANS = (
    (0.115, 0.845, 0.034, 0.042, 20),
    (0.300, 0.795, 0.042, 0.034, 40),
    (0.640, 0.875, 0.044, 0.038, 60),
    (0.825, 0.785, 0.040, 0.038, 0),
    (0.120, 0.560, 0.040, 0.043, 0),
    (0.305, 0.560, 0.044, 0.027, 25),
    (0.600, 0.605, 0.042, 0.040, 0),
    (0.865, 0.585, 0.034, 0.041, 0),
    (0.140, 0.290, 0.042, 0.036, 130),
    (0.390, 0.350, 0.041, 0.038, 15),
    (0.585, 0.410, 0.038, 0.040, 0),
    (0.805, 0.345, 0.048, 0.007, 115),
    (0.345, 0.110, 0.038, 0.034, 0),
    (0.520, 0.150, 0.046, 0.028, 50),
    (0.820, 0.110, 0.044, 0.036, 10),
)

#: Centre x, y and the two half axes of the ellipses of :func:`five_shapes`.
_BIG_DISC = (0.200, 0.630, 0.190, 0.190)
_SIDE_DISC = (0.405, 0.925, 0.068, 0.068)
_LEFT_ELLIPSE = (0.205, 0.145, 0.195, 0.135)
_RIGHT_ELLIPSE = (0.765, 0.145, 0.205, 0.135)
_MOON = (0.800, 0.735, 0.195, 0.250)
_BITE = (0.655, 0.735, 0.150, 0.140)
_LONE_DISCS = ((0.555, 0.735, 0.060, 0.060), (0.510, 0.425, 0.064, 0.064))

#: The two bridges, by the shape whose parts they join: from x, y to x, y.
_BRIDGES = {
    "discs": (0.300, 0.800, 0.370, 0.865),
    "ellipses": (0.398, 0.145, 0.562, 0.145),
}


def fifteen_gaussians(
    n: int = 30_000, seed: int = 23, *, spread: float = 1.0, clump: int = 6
) -> tuple[Points, Classes]:
    """Fifteen convex clusters with dense centres, overlapping at their thin borders.

    Parameters
    ----------
    n
        Number of points.
    seed
        Equal seeds give equal points.
    spread
        Factor on the standard deviation of every cluster: more overlap above 1.
    clump
        Points per clump.

    Returns
    -------
    tuple
        Whole numbers in [0, 1e6] as floats, shape (n, 2), cluster by cluster; their clusters,
        A to O.
    """
    rng = np.random.default_rng(seed)
    sizes = _shares(_clumps(n, clump), len(_GAUSSIANS))
    parts = []
    for (x, y, major, minor, turn), size in zip(_GAUSSIANS, sizes, strict=True):
        # The wider half of a cluster overlaps its neighbours, the narrower makes it dense.
        widths = spread * np.where(np.arange(size) % 2, CORE, 1.0)[:, None]
        scaled = rng.standard_normal((size, 2)) * (major, minor) * widths
        parts.append(scaled @ _rotation(np.deg2rad(turn)).T + (x, y))
    return _finish(rng, _mirror_inside(np.concatenate(parts)), _letters(sizes), n, half_width=1_000)


def three_spirals(
    n: int = 31_200,
    seed: int = 0,
    *,
    turns: float = 1.05,
    head: float = 0.19,
    phase: float = 80.0,
    clump: int = 100,
) -> tuple[Points, Classes]:
    """Three interleaved spiral arms whose heads come close to each other in the middle.

    Parameters
    ----------
    n
        Number of points.
    seed
        Equal seeds give equal points.
    turns
        How often an arm goes round the middle.
    head
        Distance of the heads from the middle as a share of that of the tails.
    phase
        Direction of the first head from the middle in degrees.
    clump
        Points per clump; the clumps follow each other at equal angles, so that they
        lie closer at the heads.

    Returns
    -------
    tuple
        Whole numbers in [0, 1e6] as floats, shape (n, 2), arm by arm; their arms, A to C.
    """
    rng = np.random.default_rng(seed)
    parts, sizes = [], _shares(_clumps(n, clump), 3)
    for arm, size in enumerate(sizes):
        along = np.linspace(0, 1, size)
        radius = head + (1 - head) * along
        angle = -2 * np.pi * (turns * along + arm / 3) + np.deg2rad(phase)
        parts.append(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))
    arms = np.concatenate(parts)
    lows, highs = arms.min(axis=0), arms.max(axis=0)
    margin = 0.004  # keeps the clumps of the outermost positions whole
    widths = np.maximum(highs - lows, 1e-9)  # a single clump has no width
    arms = margin + (1 - 2 * margin) * (arms - lows) / widths
    return _finish(rng, arms, _letters(sizes), n, half_width=3_000)


def five_shapes(
    n: int = 31_520, seed: int = 0, *, step: float = 0.018, clump: int = 40
) -> tuple[Points, Classes]:
    """Five evenly filled shapes, two of them in two parts that a thin bridge joins.

    A disc with a smaller disc, two ellipses side by side, a moon, and two discs that
    stand alone, one of them in the mouth of the moon.

    Parameters
    ----------
    n
        Number of points.
    seed
        Equal seeds give equal points.
    step
        Distance of the clumps on the bridges as a share of the width of the square.
    clump
        Points per clump.

    Returns
    -------
    tuple
        Whole numbers in [0, 1e6] as floats, shape (n, 2); their shapes. A bridge belongs to the
        shape whose parts it joins.
    """
    rng = np.random.default_rng(seed)
    bridges = {shape: _steps(line, step) for shape, line in _BRIDGES.items()}
    filled = max(_clumps(n, clump) - sum(map(len, bridges.values())), 1)
    inside = _far_apart(_uniform_in_shapes(rng, 16 * filled), filled)
    names = [_shape_of(inside)]
    names += [np.repeat(shape, len(positions)) for shape, positions in bridges.items()]
    positions = np.concatenate([inside, *bridges.values()])
    return _finish(rng, positions, np.concatenate(names), n, half_width=300)


def incomes(n: int = 800, seed: int = 7, *, between: int = 7) -> tuple[Points, Classes]:
    """Monthly income and living expenses of two groups, and of one person in between.

    Parameters
    ----------
    n
        Number of persons, the one in between included.
    seed
        Equal seeds give equal persons.
    between
        Further persons close to the one in between, just too few to count as dense.

    Returns
    -------
    tuple
        Whole amounts, shape (n, 2), inside [0, 10000] x [0, 8000]; their groups: low, high,
        between. The one person is the last record.
    """
    rng = np.random.default_rng(seed)
    middle = np.array([4_690.0, 3_750.0])
    between = min(between, n - 1)
    first, second = _shares(n - between - 1, 2)
    groups = [
        _group(rng, first, centre=(3_000, 2_450), middle=middle),
        _group(rng, second, centre=(6_550, 5_150), middle=middle),
    ]
    near = middle + rng.uniform(-1, 1, (between, 2)) * (240, 190)
    persons: Points = np.rint(np.concatenate([*groups, near, middle[None]]))
    return persons, np.repeat(["low", "high", "between"], [first, second, between + 1])


def counted_cells(
    n: int | None = None, seed: int = 0, *, cells: Sequence[Sequence[int]] = TINY_4
) -> Points:
    """Points that give a small grid the counts that were chosen for it.

    Parameters
    ----------
    n
        Number of points; None draws those of the grid. With another number, all counts are in
        about the same proportion.
    seed
        Equal seeds give equal points.
    cells
        Points per cell, the top row first. A cell is one unit wide and high.

    Returns
    -------
    numpy.ndarray
        To two decimals, well inside of their cells, shape (n, 2), cell by cell.
    """
    counts = np.array(cells)[::-1].T
    owner = np.repeat(np.arange(counts.size), counts.ravel())
    if n is not None:
        owner = owner[np.arange(n) * len(owner) // max(n, 1)]
    corners = np.column_stack(np.unravel_index(owner, counts.shape))
    inside = np.random.default_rng(seed).uniform(0.1, 0.9, (len(owner), 2))
    return np.round(corners + inside, 2)


def uniform_noise(n: int = 20_000, seed: int = 0, *, side: float = 100.0) -> Points:
    """Points without any cluster, to two decimals, uniform on [0, side]^2.

    Parameters
    ----------
    n
        Number of points.
    seed
        Equal seeds give equal points.
    side
        Width of the square.

    Returns
    -------
    numpy.ndarray
        Shape (n, 2).
    """
    return np.round(np.random.default_rng(seed).uniform(0, side, (n, 2)), 2)


def world_checkins(
    longitude: ArrayLike,
    latitude: ArrayLike,
    population: ArrayLike,
    n: int = 1_200_000,
    seed: int = 0,
    *,
    scatter: float = 12.0,
    tail: float = 1.6,
    concentration: float = 0.8,
) -> Points:
    """Check-ins of a service that is used all over the world, drawn around given cities.

    Parameters
    ----------
    longitude, latitude
        Position of the cities in degrees, shape (c,) each.
    population
        Inhabitants of the cities, shape (c,).
    n
        Number of check-ins.
    seed
        Equal seeds give equal check-ins.
    scatter
        Typical distance from the city in km.
    tail
        Exponent of the tail: the share of check-ins farther away than t times the
        scatter falls as t to the power of minus ``tail``.
    concentration
        A city attracts check-ins as its population to this power.

    Returns
    -------
    numpy.ndarray
        Longitude and latitude in degrees, rounded to 0.01, shape (n, 2), sorted by
        longitude, then latitude.
    """
    cities = np.column_stack([np.asarray(longitude, float), np.asarray(latitude, float)])
    weights = np.asarray(population, float) ** concentration
    rng = np.random.default_rng(seed)
    home = cities[rng.choice(len(cities), n, p=weights / weights.sum())]
    distance = scatter / KM_PER_DEGREE * rng.pareto(tail, n)
    angle = rng.uniform(0, 2 * np.pi, n)
    # Near the poles a degree of longitude is short; 0.1 keeps the quotient bounded.
    east = distance * np.cos(angle) / np.maximum(0.1, np.cos(np.deg2rad(home[:, 1])))
    lon = (home[:, 0] + east + 180) % 360 - 180
    lat = np.clip(home[:, 1] + distance * np.sin(angle), -90, 90)
    # Sorting whole hundredths is exact, and + 0.0 turns -0.0 into 0.0.
    hundredths: Points = np.rint(np.column_stack([lon, lat]) * 100) + 0.0
    order = np.lexsort((hundredths[:, 1], hundredths[:, 0]))
    return hundredths[order] / 100


def _clumps(n: int, clump: int) -> int:
    """Count the clumps that n points make, the last perhaps not full."""
    return -(-n // clump)


def _shares(total: int, parts: int) -> list[int]:
    """Split a number into parts that differ by at most 1."""
    return [total // parts + (part < total % parts) for part in range(parts)]


def _letters(sizes: Sequence[int]) -> Classes:
    """A, B, C, ..., each as often as the sizes say."""
    return np.repeat([chr(ord("A") + part) for part in range(len(sizes))], sizes)


def _finish(
    rng: np.random.Generator, positions: Points, names: Classes, n: int, half_width: float
) -> tuple[Points, Classes]:
    """Replace every position of the unit square by a clump, a small square of points.

    Points have the name of their position.
    """
    owner = np.arange(n) * len(positions) // max(n, 1)
    offsets = rng.uniform(-half_width, half_width, (n, 2))
    points: Points = np.rint(positions[owner] * SIDE + offsets)
    return np.clip(points, 0, SIDE), names[owner]


def _rotation(angle: float) -> Points:
    """Matrix that turns a column vector by an angle in radians."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _mirror_inside(positions: Points) -> Points:
    """Mirror at the border of the unit square what lies outside of it."""
    mirrored: Points = 1 - np.abs(1 - np.abs(positions))
    return np.clip(mirrored, 0, 1)


def _steps(line: Sequence[float], step: float) -> Points:
    """Positions on a line from x, y to x, y that lie about a step apart, ends included."""
    start, end = np.array(line[:2]), np.array(line[2:])
    count = round(float(np.hypot(*(end - start))) / step) + 1
    steps: Points = start + np.linspace(0, 1, count)[:, None] * (end - start)
    return steps


def _inside(positions: Points, ellipse: Sequence[float]) -> NDArray[np.bool_]:
    """Mask of the positions inside an ellipse with axes parallel to the coordinates."""
    scaled = (positions - ellipse[:2]) / ellipse[2:]
    return np.asarray((scaled**2).sum(axis=1) <= 1)


def _shape_of(positions: Points) -> Classes:
    """Name of the shape that holds each position, empty for none; bridges not counted."""
    shapes = {
        "discs": _inside(positions, _BIG_DISC) | _inside(positions, _SIDE_DISC),
        "ellipses": _inside(positions, _LEFT_ELLIPSE) | _inside(positions, _RIGHT_ELLIPSE),
        "moon": _inside(positions, _MOON) & ~_inside(positions, _BITE),
        "disc in the mouth": _inside(positions, _LONE_DISCS[0]),
        "disc alone": _inside(positions, _LONE_DISCS[1]),
    }
    return np.select(list(shapes.values()), list(shapes), "")


def _uniform_in_shapes(rng: np.random.Generator, count: int) -> Points:
    """Uniform positions inside the five shapes, shape (count, 2)."""
    kept = np.empty((0, 2))
    while len(kept) < count:
        drawn = rng.random((2 * count, 2))
        kept = np.concatenate([kept, drawn[_shape_of(drawn) != ""]])
    return kept[:count]


def _far_apart(pool: Points, count: int) -> Points:
    """Pick positions one by one, each as far as possible from those already picked."""
    distance = np.full(len(pool), np.inf)
    picked = np.zeros(count, dtype=np.intp)
    for step in range(count):
        picked[step] = int(distance.argmax())
        np.minimum(distance, ((pool - pool[picked[step]]) ** 2).sum(axis=1), out=distance)
    return pool[picked]


def _group(rng: np.random.Generator, count: int, centre: Sequence[float], middle: Points) -> Points:
    """Draw persons around a centre who keep away from the middle, shape (count, 2)."""
    kept = np.empty((0, 2))
    while len(kept) < count:
        # Expenses follow income, at about 0.6 of every further unit.
        income = rng.normal(0, 620, 2 * count)
        drawn = np.column_stack([income, 0.6 * income + rng.normal(0, 420, 2 * count)]) + centre
        clear = (np.abs(drawn - middle) > (330, 270)).any(axis=1)
        same_side = ((drawn - middle) * (np.array(centre) - middle)).sum(axis=1) > 0
        inside = ((drawn >= 0) & (drawn <= INCOME_BOUNDS)).all(axis=1)
        kept = np.concatenate([kept, drawn[clear & same_side & inside]])
    return kept[:count]
