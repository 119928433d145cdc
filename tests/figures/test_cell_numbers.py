"""Numbers in cells have the correct digits, are readable on every colour, and have one size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.figures.cell_numbers import (
    MOST,
    cell_numbers,
    colours_at,
    ink_on,
    luminance,
    written,
)
from dpviz.figures.theme import zero_centred
from dpviz.grid.domain import Domain

colours = st.integers(0, 0xFFFFFF).map(lambda code: f"#{code:06x}")


@pytest.mark.parametrize(
    ("band", "texts"),
    [
        ([[0, 10], [7, 100]], ["0", "10", "7", "100"]),
        ([[0.0, 2.5], [-1.0, 7.0]], ["0.0", "2.5", "−1.0", "7.0"]),
        ([[0.25, 0], [0, 0]], ["0.25", "0.00", "0.00", "0.00"]),
        ([[0.126, -0.001], [12.3, 3]], ["0.13", "0.00", "12.30", "3.00"]),
        ([[0.126] * 5], ["0.1"] * 5),
        ([[-0.041237] * 5], ["0.0"] * 5),
        ([[100.4321] * 8], ["100.4"] * 8),
        ([[100.4321] * 9], ["100"] * 9),
        ([[99.4321] * 9], ["99.4"] * 9),
    ],
)
def test_numbers_are_written_with_as_many_decimals_as_fit(band, texts):
    assert written(np.array(band)).ravel().tolist() == texts


def contrast(one, other):
    light, dark = sorted((float(one), float(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@given(colour=colours)
def test_ink_contrasts_with_every_colour(colour):
    both = {ink: luminance(np.array([ink]))[0] for ink in ("#000000", "#ffffff")}
    assert tuple(both.values()) == pytest.approx((0, 1))
    ground = luminance(np.array([colour]))[0]
    chosen = str(ink_on(np.array([colour]))[0])
    # WCAG 2 requires a contrast of 4.5 to 1 for small text.
    assert contrast(both[chosen], ground) >= 4.5
    assert contrast(both[chosen], ground) == max(contrast(ink, ground) for ink in both.values())


def test_luminance_is_that_of_wcag():
    # Pure red, green and blue, and a middle grey.
    found = luminance(np.array(["#ff0000", "#00ff00", "#0000ff", "#808080"]))
    assert found == pytest.approx([0.2126, 0.7152, 0.0722, 0.21586], abs=1e-5)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_colours_of_a_scale_are_mixed_between_its_stops(mode):
    scale = zero_centred(-4, 10, mode)
    places = np.array([place for place, _ in scale])
    assert colours_at(scale, places).tolist() == [colour for _, colour in scale]
    assert colours_at(scale, np.array([-3.0, 7.0])).tolist() == [scale[0][1], scale[-1][1]]
    halves = colours_at([[0, "#000000"], [1, "#ff8000"]], np.array([[0.5], [0.25]]))
    assert halves.tolist() == [["#804000"], ["#402000"]]


@given(
    shape=st.tuples(st.integers(1, MOST), st.integers(1, MOST)),
    seed=st.integers(0, 99),
    dark=st.floats(0, 1),
)
def test_both_inks_hold_every_number_once_and_have_one_size(shape, seed, dark):
    rng = np.random.default_rng(seed)
    band = np.round(rng.normal(0, 30, shape), 1)
    ground = np.where(rng.random(shape) < dark, "#08264a", "#ffffff")
    domain = Domain(((0, shape[0]), (0, shape[1])))
    traces = cell_numbers(band, ground, domain, np.ones(2))
    texts = written(band)
    widest = max(map(len, texts.flat))
    inks = ink_on(ground)
    for trace in traces:
        labels = np.array(trace["text"]).T
        own = inks == trace["textfont"]["color"]
        assert (labels[own] == texts[own]).all()
        assert not any(text.strip() for text in labels[~own])
        assert trace["hoverinfo"] == "skip"
        # Plotly computes the size from the longest text and from labels in adjacent cells.
        assert max(map(len, labels.flat)) == widest
        if min(shape) > 1:
            assert labels[0, 0]
            assert labels[0, 1]
            assert labels[1, 0]


def test_too_many_cells_have_no_numbers():
    band = np.zeros((MOST + 1, 2))
    ground = np.full(band.shape, "#ffffff")
    assert not cell_numbers(band, ground, Domain(((0, 1), (0, 1))), np.ones(2))
