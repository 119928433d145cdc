"""The map of noisy counts shows peaks clearly, and usual values remain visible."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.release.pictures import counts_svg


def picture(counts: np.ndarray[Any, Any]) -> str:
    sides = counts.shape
    return counts_svg(
        {
            "method": {"title": "PrivTHR"},
            "privacy": {"epsilon": 1.0},
            "domain": {"columns": ["x", "y"], "bounds": [[0, sides[0]], [0, sides[1]]]},
            "result": {"counts": counts.tolist()},
        }
    )


def colours(svg: str) -> dict[tuple[int, int], str]:
    """Colour of each square that is not white, by its position from the left and from below."""
    found = {}
    for colour, path in re.findall(r'<path stroke="(#\w+)" d="(M[^"]*h\d[^"]*)"/>', svg):
        for x, y, length in re.findall(r"M(\d+) (-?\d+)h(\d+)", path):
            for step in range(int(length)):
                found[int(x) + step, -int(y)] = colour
    return found


def numbers(svg: str) -> list[str]:
    return re.findall(r'dy="0.35em">([^<]*)</text>', svg.split("</svg>\n", 1)[1])


def test_three_hot_spots_are_told_apart_and_what_is_usual_stays_visible() -> None:
    counts = np.full((20, 20), 3.0)
    counts[5, 5], counts[10, 10], counts[15, 15] = 1000, 700, 300
    svg = picture(counts)
    found = colours(svg)
    peaks = [found[5, 5], found[10, 10], found[15, 15]]
    assert len({*peaks, found[0, 0]}) == 4
    assert "1,000" in numbers(svg)
    assert "≥" not in svg


def test_even_counts_have_an_even_scale() -> None:
    counts = np.arange(100.0).reshape(10, 10)
    assert {"0", "20", "40", "60", "80"} <= set(numbers(picture(counts)))


@pytest.mark.parametrize("side", [2, 4])
def test_cells_with_one_number_are_shown_as_the_block_that_they_look_like(side: int) -> None:
    # 38 = 19 blocks of 2, or 9.5 blocks of 4. A block of equal cells looks like one square.
    blocks = np.arange(100.0).reshape(10, 10)[:, ::-1]
    counts = np.kron(blocks, np.ones((side, side)))[: 10 * side - 1]
    svg = picture(counts)
    assert f"Noisy number of records in each block of {side} × {side} cells" in svg
    whole = {float(one.replace(",", "")) for one in numbers(svg)}
    assert max(whole) > (side * side - side) * blocks.max() / 2
    changed = counts.copy()
    changed[0, 0] += 1
    assert "Noisy number of records in each cell" in picture(changed)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=16, max_size=16),
    st.floats(1, 1e9),
)
def test_numbers_of_the_legend_never_touch(values: list[float], peak: float) -> None:
    counts = np.array([*values, peak, *range(-4, 4)], dtype=float).reshape(5, 5)
    svg = picture(counts)
    places = [
        float(y) for y in re.findall(r'y="([\d.]+)" dy="0.35em">', svg.split("</svg>\n", 1)[1])
    ]
    # Numbers of the legend don't touch.
    assert all(b - a >= 17.9 for a, b in zip(sorted(places), sorted(places)[1:], strict=False))
    assert "nan" not in svg


@pytest.mark.parametrize("value", [0.0, -2.5, 7.0])
def test_one_value_alone_is_drawn(value: float) -> None:
    svg = picture(np.full((3, 3), value))
    assert len(set(colours(svg).values())) == (value != 0)
