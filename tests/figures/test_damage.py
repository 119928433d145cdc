"""What the noise did is in the picture: each cluster that the headline counts has its mark."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpviz.figures.kmeans import damage as damage_of_centres
from dpviz.figures.kmeans import panels as kmeans_panels
from dpviz.figures.kmeans.centres import places_of
from dpviz.figures.theme import INK, WRONG
from dpviz.figures.wavecluster import VIEWS, WITH_PIECES, damage, panels
from dpviz.kmeans.headline import headline, placed
from dpviz.wavecluster.components import connected_components
from tests.figures.test_kmeans import scene as of_centres
from tests.figures.test_wavecluster import method_with, scene
from tests.support.tiers import examples

# A quarter of the cells is significant, so that there are several clusters.
masks = arrays(np.uint8, (12, 12), elements=st.integers(0, 3), fill=st.nothing()).map(
    lambda cells: cells == 3
)
quick = examples(60)

BASE = scene("tiny8", grid=24, method="privthr")


def drawn(true, private):
    """A picture with these significant cells."""
    one, other = (
        replace(stages, labels=labels, n_clusters=int(number))
        for stages, mask in zip(BASE.stages, (true, private), strict=True)
        for labels, number in [connected_components(mask)]
    )
    return replace(BASE, truth=Fixed(BASE.truth, one), private=other)


class Fixed:
    """A truth with other stages."""

    def __init__(self, truth, stages):
        self.source, self.config, self.stages = truth.source, truth.config, stages


def numbers(trace):
    return [re.sub("</?b>", "", text) for text in trace["text"]]


@quick
@given(masks, masks)
def test_the_words_of_the_headline_have_their_pieces_in_the_picture(true, private):
    picture = drawn(true, private)
    shown = damage.pieces(picture)
    of_true, of_private = (grid["z"].T for grid in shown["grids"])
    assert np.array_equal(of_true > 0, true)
    assert np.array_equal(of_private > 0, private)
    words = [word for word in picture.fates.headline.words if word.kind]
    assert {word.kind: len(word.pieces) for word in words} == {
        kind: len(pieces) for kind, pieces in shown["of"].items()
    }
    for kind, pieces in shown["of"].items():
        first = [tuple(marks[0]) for _, marks in pieces]
        assert len(set(first)) == len(first)
        for _, marks in pieces:
            for _, grid, number in marks:
                assert (shown["grids"][grid]["z"] == number).any()
        new = {number for _, marks in shown["of"].get("invented", ()) for *_, number in marks}
        if kind == "lost":
            # No cell of a lost cluster is significant, except by chance, in an invented cluster.
            left = of_private[np.isin(of_true, [number for _, _, number in first])]
            assert {*left.tolist()} <= {0, *new}
        if kind in ("shrunk", "broken"):
            # What is left of them is no invented square.
            for _, marks in pieces:
                assert {number for panel, grid, number in marks if grid == 1} - new
        if kind in ("invented", "splinters"):
            assert min(number for *_, number in first) > of_true.max()


@quick
@given(masks, masks)
def test_every_true_cluster_and_every_private_cluster_has_its_number_once(true, private):
    picture = drawn(true, private)
    left, right = (numbers(panel[-1]) for panel in damage_of(picture))
    found, most = picture.fates, picture.true.n_clusters
    if most + picture.private.n_clusters > 30:
        return
    assert left == [str(number + 1) for number in range(most)]
    plain = [int(text.strip("+½<s>/")) for text in right]
    assert set(plain) == set(range(1, max([most, *picture.numbers[1]]) + 1))
    twice = {number for number in plain if plain.count(number) > 1}
    assert twice <= {number + 1 for group in damage.joined(picture).values() for number in group}
    struck = {int(text[3:-4]) for text in right if text.startswith("<s>")}
    assert struck == set(found.having("lost").tolist())
    assert sum(text.startswith("+") for text in right) == found.invented.size
    assert set(found.having("kept").tolist()) <= {int(text) for text in right if text.isdigit()}


def damage_of(picture):
    shown = panels(picture, "clusters").data
    return [[one for one in shown if one["xaxis"] == axis] for axis in ("x", "x2")]


@quick
@given(masks, masks)
def test_each_kind_of_damage_has_its_own_mark(true, private):
    picture = drawn(true, private)
    found = picture.fates
    lines = [one for one in damage_of(picture)[1] if one.get("mode") == "lines"]
    looks = {(one["line"]["color"], one["line"].get("dash", "")) for one in lines}
    ink = INK["light"]
    assert ((WRONG["light"], "") in looks) == bool(found.invented.size)
    changed = np.isin(found.of, ("lost", "grown", "shrunk", "broken")).any()
    assert ((ink, "4px,3px") in looks) == changed
    assert ((ink, "") in looks) == bool((found.of == "joined").any())
    assert len(lines) == len(looks) <= 3
    # The bridge is a tree over each group; if it also joins others, the headline says so.
    groups = damage.joined(picture)
    ends = {number for group in groups.values() for number in group.tolist()}
    for word in found.headline.words:
        if word.kind == "joined":
            with_others = len(ends) - len(word.pieces)
            assert word.text.endswith(("with another", "with others")) == (with_others > 0)
    bridges = [
        one for one in lines if (one["line"]["color"], "dash" in one["line"]) == (ink, False)
    ]
    if groups:
        assert len(bridges[0]["x"]) == 3 * sum(len(group) - 1 for group in groups.values())


@pytest.mark.parametrize("view", VIEWS)
def test_only_views_with_maps_of_the_cells_have_pieces(view):
    shown = panels(scene(method=method_with(view), epsilon=0.1), view)
    assert bool(shown.pieces) == (view in WITH_PIECES)


def test_a_method_without_noise_has_no_damage():
    picture = scene(method="wavecluster")
    assert damage.legend(picture) == ""
    assert not [one for one in panels(picture, "clusters").data if one.get("mode") == "lines"]


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 1.0, 1e4])
def test_the_words_on_centres_have_their_marks(epsilon):
    picture = of_centres("dplloyd", epsilon=epsilon)
    shown = kmeans_panels(picture, "regions")
    words = [one for one in headline(picture.truth, picture.private, 1.0).words if one.kind]
    of = {kind: pieces for kind, pieces in shown.pieces["of"].items() if pieces}
    assert {one.kind: len(one.pieces) for one in words} == {
        kind: len({str(marks[0]) for _, marks in pieces}) for kind, pieces in of.items()
    }
    marks = [one for one in shown.data if one.get("mode") == "lines"]
    looks = [(one["line"]["color"], "dash" in one["line"]) for one in marks]
    ink = INK["light"]
    wanted = {"alone": (ink, True), "crowded": (ink, False), "far": (WRONG["light"], False)}
    assert looks == [wanted[kind] for kind in wanted if kind in of]
    struck = {text for one in shown.data for text in one.get("text", ()) if "<s>" in text}
    assert struck == {f"<b><s>{name.split()[1]}</s></b>" for name, _ in of.get("alone", ())}
    assert bool(damage_of_centres.legend(picture)) == bool(of)
    # Before the result, there are no marks.
    if of:
        start = kmeans_panels(replace(picture, step=0), "regions")
        assert not start.pieces
        assert not [one for one in start.data if one.get("mode") == "lines"]


@pytest.mark.parametrize("method", ["dplloyd", "eugkm"])
def test_a_region_leads_to_its_partners_on_the_other_map(method):
    picture = of_centres(method, epsilon=0.02)
    shown, found = damage_of_centres.pieces(picture), placed(picture.truth, picture.private)
    true, private = shown["links"][1], shown["links"][2]
    numbers = picture.numbers_of(picture.private.centers)
    for cluster, marks in true.items():
        own = set(numbers[found.owner == cluster - 1].tolist())
        assert {number for _, grid, number, *_ in marks if grid == 1} == own
        assert all(private[number] == marks for number in own)
        rings = [panel for panel, grid, *_ in marks if grid is None]
        assert rings == [1, 2] + [2] * len(own)
        note = damage_of_centres.note_on(picture, {"panel": 1, "number": cluster, "on": 1})
        assert note["marks"] == marks
        assert ("no centre" in note["title"]) == (not own) == (cluster - 1 in found.alone)
        assert all(f"{name}" in note["text"] for name in picture.names_of(np.array([*own], int)))
    assert set(private) == set(numbers.tolist())
    # A place in the region of a centre has the centre's number.
    for grid, centers, names in zip(
        shown["grids"],
        (picture.truth.centers, picture.private.centers),
        (np.arange(1, len(true) + 1), numbers),
        strict=True,
    ):
        low, step = np.array(grid["ends"]).T
        places = np.stack(places_of(picture, centers), axis=1)
        across, up = np.clip(((places - low) / step).astype(int), 0, len(grid["z"]) - 1).T
        assert (grid["z"][up, across] == names).mean() > 0.8  # close centres share a cell
    assert damage_of_centres.note_on(picture, {"panel": 2, "number": 99, "on": 2}) is None
    assert "grids" not in damage_of_centres.pieces(replace(picture, left=picture.private))


def test_the_legend_names_only_the_marks_on_the_map():
    true = np.zeros((12, 12), bool)
    true[:3, :3] = True
    assert damage.legend(drawn(true, np.zeros_like(true))).startswith("dashed")
    both = true.copy()
    both[8:, 8:] = True
    assert damage.legend(drawn(true, both)) == "hatched, +: invented"
    assert damage.legend(drawn(true, true)) == ""
