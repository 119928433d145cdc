"""Small maps of possible results: invented clusters are marked, and their number is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpviz.figures.panels import Panels
from dpviz.figures.rehearsal import small_maps
from dpviz.figures.theme import WRONG
from dpviz.grid.domain import Domain

BOX = Domain(((0.0, 4.0), (10.0, 12.0), (0.0, 1.0)))
PLACES = np.array([[1.0, 11.0, 0.5], [3.0, 10.5, 0.5]])


def of(results: list[tuple[dict[str, Any], list[bool]]], domain: Domain = BOX) -> Panels:
    draws = [(result, np.array(real, dtype=bool)) for result, real in results]
    return small_maps(draws, PLACES, ("x<b>", "y", "z"), domain, "the plan", "light")


def test_cells_of_invented_clusters_have_a_colour_an_outline_hatching_and_a_cross() -> None:
    labels = np.zeros((8, 4), dtype=np.int32)
    labels[1:3, 1], labels[6, 2], labels[7, 0] = 1, 2, 3
    cells = {"kind": "cells", "labels": labels}
    panels = of([(cells, [True, False, False]), ({**cells, "labels": 0 * labels}, [])])
    panels.figure()  # Plotly accepts all properties
    heat, outline, crosses, rings = (one for one in panels.data if one["xaxis"] == "x")
    assert np.array_equal(heat["z"].T, np.where(labels > 1, 2, labels))
    assert outline["line"]["color"] == WRONG["light"]
    # Of both invented clusters, the outline has four sides, and the hatching has oblique strokes.
    x, y = (np.reshape(outline[axis], (-1, 3))[:, :2] for axis in "xy")
    oblique = (np.ptp(x, axis=1) > 0) & (np.ptp(y, axis=1) > 0)
    assert (~oblique).sum() == 8
    assert oblique.sum() >= 2
    assert (crosses["x"].tolist(), crosses["y"].tolist()) == ([3.25, 3.75], [11.25, 10.25])
    assert rings["x"].tolist() == [1.0, 3.0]
    headings = [one["text"] for one in panels.layout["annotations"]]
    assert headings[:2] == ["1 true, 2 invented", "0 true, 0 invented"]
    assert "invented by noise" in headings[-1]
    assert "2 draws over x<b> and y: 1 true, 2 invented; 0 true, 0 invented." in panels.alt
    # All nine frames exist from the start, so no map moves when more maps are added.
    assert len({one["xaxis"] for one in panels.data}) == 9


@pytest.mark.parametrize("real", [[True, True, False], [False] * 3])
def test_centres_that_find_no_cluster_are_crosses(real: list[bool]) -> None:
    centers = np.array([[1.0, 11.0, 0.0], [3.0, 10.5, 0.0], [2.0, 12.0, 0.0]])
    panels = of([({"kind": "centers", "centers": centers}, real)] * 9)
    panels.figure()
    found, crosses, _ = (one for one in panels.data if one["xaxis"] == "x9")
    assert (len(found["x"]), len(crosses["x"])) == (sum(real), 3 - sum(real))
    headings = [one["text"] for one in panels.layout["annotations"]]
    assert headings[:9] == [f"{sum(real)} of 2 found"] * 9
    assert "finds none" in headings[-1]
