"""Scenarios of an audit: a mechanism, two neighbouring data sets and the scores to compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from dpviz.audit import data, planted, scores
from dpviz.audit.noise import RunNoise
from dpviz.audit.planted import NONE, Bug
from dpviz.base.errors import InputError, shown
from dpviz.families import CARDS, family_of
from dpviz.family.card import VariantName
from dpviz.family.claim import Claim, claim
from dpviz.family.method import check_method
from dpviz.family.trial import Configuration
from dpviz.kmeans.methods.dprefine import GRID_SIZE
from dpviz.privacy.ledger import Neighbours, Relation
from dpviz.privacy.noise_source import NoiseSource, SeededNoise


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One mechanism on two neighbouring data sets.

    Parameters
    ----------
    name
        Key on the command line; the sound and the published variant of the same case have the
        same name.
    description
        One sentence for users: who joins or changes, and why this may be visible.
    pair
        Claim -> the two data sets.
    groups
        Names of the compared scores in :mod:`dpviz.audit.scores`.
    runs
        Runs on each data set; enough to show the effect, in less than half a minute.
    planted
        Whether the mechanism is a mistake made on purpose, not an available variant.
    noise
        Source of the noise; its seed may be known, or some choices may be public.
    sides
        Names of the two data sets, as they follow "of runs".
    """

    name: str
    method: str
    variant: VariantName
    description: str
    pair: Callable[[float], tuple[Any, Any]]
    groups: tuple[str, ...]
    runs: int = 20_000
    options: Mapping[str, Any] = field(default_factory=dict)
    relation: Relation = "add_remove"
    planted: bool = False
    bug: Bug | None = None
    run: Callable[..., Any] | None = None
    noise: Callable[..., NoiseSource] = RunNoise
    sides: tuple[str, str] = ("without", "with the person")

    def config(self, claim: float) -> Configuration:
        """Public parameters, with the claim as the budget."""
        given: dict[str, Any] = {
            "method": self.method,
            "variant": self.variant,
            "epsilon": claim,
            "neighbours": Neighbours(relation=self.relation),
            **self.options,
        }
        config: Configuration = family_of(self.method).config(**given)
        return config

    @cached_property
    def verdict(self) -> Claim:
        """Claim of the method's runs in this scenario: its variant, relation and domain.

        A planted mistake breaks it all the same.
        """
        return claim(CARDS[self.method], self.config(1.0), self.pair(1.0)[1].domain)

    @property
    def private(self) -> bool:
        """Whether the mechanism is private as claimed."""
        return not self.planted and self.verdict.private


def scenarios(method: str | None = None, variant: str | None = None) -> tuple[Scenario, ...]:
    """All scenarios, or those of a method or variant, with planted mistakes last.

    Of a method with one variant it is that one, whichever is asked for.
    """
    if method in CARDS and variant in _VARIANTS:
        variant = CARDS[method].variant(variant).name
    return tuple(
        one for one in _SCENARIOS if method in (None, one.method) and variant in (None, one.variant)
    )


def find(method: str, variant: str, name: str | None = None) -> Scenario:
    """Return a scenario by name, or the first one of a method and variant.

    Raises InputError if it does not exist; the message lists the choices.
    """
    check_method(method, CARDS)
    if not CARDS[method].spends:
        raise InputError(f"method = {method} takes no privacy budget: there is no claim to audit.")
    offered = scenarios(method, variant)
    if not offered:
        raise InputError(f'variant = "{shown(variant)}" is unknown: choose sound or published.')
    if name is None:
        return offered[0]
    for one in offered:
        if one.name == name:
            return one
    known = ", ".join(one.name for one in offered)
    raise InputError(
        f'scenario = "{shown(name)}" is unknown for {method} {variant}: choose from {known}.'
    )


# -- scenarios of published and sound variants --------------------------------------------

_VARIANTS: tuple[VariantName, ...] = ("published", "sound")

_NOBODY = "There is nobody; one person joins"
_ELEVENTH = "en persons stand at the end of a line; an eleventh one joins them"
_MOVE = ("before", "after the move")


def _both(
    groups: tuple[str, ...],
    method: str,
    name: str,
    description: str,
    pair: Callable[[float], tuple[Any, Any]],
    runs: int = 20_000,
    *,
    published: Mapping[str, Any] | None = None,
    sound: Mapping[str, Any] | None = None,
    **given: Any,
) -> tuple[Scenario, ...]:
    """Published and sound scenario; further fields, or options of the method, go to both."""
    shared: dict[str, Any] = {
        name: given.pop(name) for name in ("noise", "relation", "sides") if name in given
    }
    shared |= {
        "method": method,
        "name": name,
        "description": description,
        "pair": pair,
        "groups": groups,
        "runs": runs,
        "options": given,
    }
    own = dict(published or {}), dict(sound or {})
    return tuple(
        Scenario(**(shared | {"variant": variant} | fields))
        for variant, fields in zip(_VARIANTS, own, strict=True)
    )


#: Scenarios that score all released numbers and the likelihood of the noisy answers.
_cells = partial(_both, (*scores.WAVECLUSTER_RELEASES, scores.LIKELIHOOD))
_centers = partial(_both, (*scores.KMEANS_RELEASES, scores.LIKELIHOOD))


def _far_point(method: str, runs: int = 20_000) -> tuple[Scenario, ...]:
    return _cells(
        method,
        "far-point",
        "500 persons stand close together; one joins who stands far away. A grid over the range of "
        "the data then changes for everybody, one over a declared domain in one cell.",
        data.far_point,
        runs,
        published={"pair": partial(data.far_point, domain=None)},
    )


def _outside_ball(method: str, runs: int) -> tuple[Scenario, ...]:
    return _centers(
        method,
        "outside-ball",
        f"{_NOBODY} in the corner of a box of forty columns. Noise for records of the unit L1 ball "
        "would be too small for that one, were it not drawn into the ball.",
        data.first_record_in_many_columns,
        runs,
        clusters=1,
        iterations=1,
        start="random",
    )


def _far_range(method: str, runs: int) -> tuple[Scenario, ...]:
    return _centers(
        method,
        "far-range",
        "A thousand persons stand in one corner; one joins in the opposite corner. The range of "
        "the data then grows, and all noise and all centres with it; a declared domain stays.",
        data.far_record,
        runs,
        published={"pair": partial(data.far_record, declared=False)},
        clusters=2,
        iterations=1,
    )


def _far_record(method: str, published: int, sound: int) -> tuple[Scenario, ...]:
    return _centers(
        method,
        "far-record",
        "A thousand persons stand in one corner; one joins in the opposite corner. Starting "
        "centres drawn from the raw records nearly always take that one.",
        data.far_record,
        # The start itself is raw records and needs no audit; the later steps leak too.
        published={
            "runs": published,
            "groups": ("iterations", "ledger"),
            # The first two of the ten show all.
            "options": {"clusters": 2, "iterations": 2},
        },
        sound={"runs": sound},
        clusters=2,
    )


_MORE_CELLS = (
    "One person joins, and a grid whose size is computed from the true number of persons gets "
    "finer."
)


def _first_and_moved(method: str) -> tuple[Scenario, ...]:
    """A first record, and one that moves: the likelihood of all answers, which says most."""
    likelihood = (scores.LIKELIHOOD,)
    return (
        *_both(likelihood, method, "first-record", f"{_NOBODY}.", data.first_of_many_cells, 3_000)[
            1:
        ],
        *_both(
            likelihood,
            method,
            "moved-record",
            "A person moves from one block of ten to one of many blocks of none: two counts "
            "change, and the number of empty blocks.",
            data.moved_to_nobody,
            3_000,
            relation="replace_one",
            sides=_MOVE,
        )[1:],
        *_both(
            likelihood,
            method,
            "private-grid",
            "Ten persons stand in one place; an eleventh one joins them. The grid and p follow "
            "from noisy numbers.",
            data.eleventh_point,
            2_000,
            choose="private",
        )[1:],
        _undeclared(method, partial(data.far_point, domain=None)),
    )


def _undeclared(method: str, pair: Callable[[float], tuple[Any, Any]], **options: Any) -> Scenario:
    """A method that is private under a declared domain, under the range of the data."""
    return _both(
        (scores.LIKELIHOOD,),
        method,
        "far-range",
        "Many persons stand close together, and nobody declared a domain; one joins far away. The "
        "range of the data grows, and all that is laid over it moves.",
        pair,
        200,
        **options,
    )[1]


def _grid_size(method: str, runs: int, share: float) -> tuple[Scenario, ...]:
    pair = partial(data.grid_size, variant="sound", share=share)
    published = {"pair": partial(data.grid_size, variant="published", share=share)}
    return _centers(method, "true-size", _MORE_CELLS, pair, runs, published=published, clusters=1)


def _first_record(method: str, runs: int, **options: Any) -> tuple[Scenario, ...]:
    text = f"{_NOBODY} at the end of a line."
    return _centers(
        method, "first-record", text, data.first_record, runs, **{"clusters": 1, **options}
    )


def _far_from_crowd(
    name: str, clusters: int, *, size: int, columns: int, **options: Any
) -> tuple[Scenario, ...]:
    """DP-Refine's steps, which hang on the number of records and of columns."""
    return _both(
        (scores.LIKELIHOOD,),
        "dprefine",
        name,
        f"{size:,} persons stand in one corner of a box of {columns} columns; one more joins in "
        "the opposite corner.",
        partial(data.crowd, size=size, columns=columns),
        1_000,
        clusters=clusters,
        **options,
    )[1:]


_SHIFTED = (
    "Persons stand in a list that is cut into equal parts; one joins at its end. All borders move, "
    "and the first person of a part goes to the part before."
)

_DESIGNED = (
    *_cells(
        "privthrem",
        "largest-cell",
        "One cell holds one person; a second one joins there. A threshold drawn up to the largest "
        "true coefficient can then reach twice as high.",
        data.largest_cell,
    ),
    *_far_point("privqt"),
    *_far_point("privthr"),
    *_far_point("privthrem"),
    *_far_point("baseline", 5_000),
    *_cells(
        "baseline",
        "true-size",
        _MORE_CELLS,
        data.synopsis_size,
        10_000,
        synopsis="uniform_grid",
    ),
    *(
        _cells(
            "baseline",
            f"first-record-{synopsis.replace('_', '-')}",
            f"{_NOBODY}.",
            data.first_in_cell,
            10_000,
            synopsis=synopsis,
        )[1]
        for synopsis in ("adaptive_grid", "privelet", "quadtree")
    ),
    *_cells(
        "privthrem",
        "rank",
        "Eleven cells hold five persons each; a sixth one joins in one of them. The rank of the "
        "threshold in the true data then takes values that it can't take without.",
        data.one_of_eleven,
        density=0.9,
    )[1:],
    *_cells(
        "privqt",
        "moved-record",
        "A person moves from one of two cells of ten to the other. As printed, the noise is for "
        "one changed count.",
        data.moved_record,
        relation="replace_one",
        sides=_MOVE,
    ),
    # On a declared domain the published variants keep their promise, too.
    *_cells("privqt", "first-record", f"{_NOBODY}.", data.first_in_cell, 10_000),
    *_cells("privthr", "first-record", f"{_NOBODY}.", data.first_in_cell, 10_000),
    *_first_and_moved("twostage"),
    *_far_range("dplloyd", 10_000),
    *_outside_ball("dplloyd", 10_000),
    *_far_record("dpkmeanspp", 8_000, 4_000),
    *_centers(
        "dpkmeanspp",
        "stopping",
        f"{_NOBODY}. With nobody the sum of squared errors is always settled and the iterations "
        "stop; with one they may go on.",
        data.first_record,
        8_000,
        clusters=8,
        iterations=3,
        start="random",
        geometry="box",
    ),
    *_far_record("dpkmeansup", 1_000, 1_000),
    *_centers(
        "dpkmeans_mapreduce",
        "shifted-list",
        _SHIFTED,
        data.shifted_sets,
        10_000,
        clusters=data.SETS,
        iterations=1,
        geometry="box",
    ),
    *_centers(
        "contour",
        "lonely-record",
        "Fourteen clusters have hardly any contour; one person joins right on the fifteenth "
        "centre. Budgets computed from raw contour coefficients then halve for all the others.",
        data.lonely_record,
        10_000,
        noise=partial(RunNoise, public=(data.PUBLIC,)),
        clusters=data.LONELY_CLUSTERS,
        iterations=1,
        start="random",
    ),
    *_far_range("mcmc", 400),
    *_outside_ball("mcmc", 400),
    *_grid_size("eugkm", 8_000, 1.0),
    *_grid_size("hybrid", 4_000, 0.5),
    *_centers(
        "gupt", "shifted-list", _SHIFTED, data.shifted_blocks, sound={"runs": 500}, clusters=2
    ),
    *_centers(
        "gupt",
        "true-size",
        "Two persons make one block; a third one joins. The number of blocks, computed from the "
        "true number of persons, becomes two, and the noise half as large.",
        data.number_of_blocks,
        5_000,
        clusters=1,
    ),
    *_centers(
        "privgene",
        "true-size",
        "One person joins, and the number of generations, computed from the true number of "
        "persons, rises from eight to nine.",
        data.number_of_generations,
        500,
        published={"groups": ("ledger",)},
        # The number of generations is chosen here; each takes a pass over 70,000 records.
        sound={"runs": 100, "options": {"clusters": 1, "iterations": 1}},
        clusters=1,
    ),
    # Published variants of the other methods have separate scenarios.
    *_first_record("dplloyd", 10_000, iterations=1),
    *_first_record("dpkmeanspp", 5_000)[1:],
    *_first_record("dpkmeansup", 3_000)[1:],
    *_first_record("dpkmeans_mapreduce", 10_000)[1:],
    *_first_record("contour", 10_000)[1:],
    *_centers("mcmc", "eleventh-record", f"T{_ELEVENTH}.", data.eleventh_record, 400, clusters=1),
    *_first_record("eugkm", 5_000)[1:],
    *_first_record("hybrid", 3_000)[1:],
    *_first_record("gupt", 5_000)[1:],
    *_first_record("privgene", 10_000, iterations=1)[1:],
    *_first_record("dprefine", 5_000)[1:],
    *_far_from_crowd("eight-columns", 40, size=1_800, columns=8),
    *_far_from_crowd("plain-grid", 80, size=750, columns=5),
    *_far_from_crowd("tree", 1, size=100_000, columns=5),
    *_far_from_crowd("blind", 30, size=10, columns=17),
    *_far_from_crowd("private-clusters", 1, size=100_000, columns=1, choose="private"),
    *_both(
        (scores.LIKELIHOOD,),
        "dprefine",
        "moved-record",
        "One of very many persons moves to the opposite corner of a box of five columns: two "
        "cells, clusters or distances change.",
        partial(data.far_move, size=100_000, columns=5),
        2_000,
        clusters=1,
        relation="replace_one",
        sides=_MOVE,
    )[1:],
    _undeclared("dprefine", partial(data.far_record, declared=False), clusters=2),
)

#: Methods without a designed scenario get the simplest one.
_PLAIN = tuple(
    scenario
    for method in sorted(
        {name for name, card in CARDS.items() if card.spends} - {one.method for one in _DESIGNED}
    )
    for scenario in _both(
        (scores.LIKELIHOOD,),
        method,
        "first-record",
        f"{_NOBODY}.",
        partial(data.first_of_all, method),
        10_000,
    )
)


# -- planted mistakes --------------------------------------------------------------------


#: Many records at one end of a line, and one that joins at the other end.
_crowd = partial(data.crowd, size=100_000, columns=1)


def _planted(
    method: str,
    name: str,
    description: str,
    pair: Callable[[float], tuple[Any, Any]],
    groups: tuple[str, ...] = (scores.LIKELIHOOD,),
    *,
    options: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Scenario:
    """Mistake in a sound variant; the audit uses all noisy answers at once or some scores."""
    return Scenario(
        method=method,
        variant="sound",
        name=name,
        description=f"Planted: {description}.",
        pair=pair,
        groups=groups,
        options=options or {},
        planted=True,
        **fields,
    )


_PLANTED = (
    _planted(
        "privthrem",
        "rank-shown",
        "eleven cells hold five persons each; a sixth one joins in one of them, and the rank of "
        "the threshold in the true data is shown",
        data.one_of_eleven,
        (*scores.WAVECLUSTER_RELEASES, "rank"),
        options={"density": 0.9},
    ),
    _planted(
        "privqt",
        "moved-unknown",
        "a person moves from one of two cells of ten to the other, with noise only for one who "
        "joins or leaves",
        data.moved_record,
        (*scores.WAVECLUSTER_RELEASES, scores.LIKELIHOOD),
        sides=_MOVE,
    ),
    _planted(
        "privqt",
        "half-noise",
        "one person joins an empty cell, with half of the noise that it takes",
        data.first_in_cell,
        ("counts",),
        bug=Bug(),
    ),
    _planted(
        "privqt",
        "known-seed",
        "an eleventh person joins a cell, and the seed of the noise is known",
        data.eleventh_in_cell,
        ("counts",),
        run=planted.known_seed,
        noise=SeededNoise,
    ),
    _planted(
        "privthr",
        "true-threshold",
        "one cell holds one person; a second one joins there, and the threshold is that of the "
        "data without noise",
        data.largest_cell,
        scores.WAVECLUSTER_RELEASES,
        run=planted.true_threshold,
    ),
    _planted(
        "privthr",
        "exact-pruning",
        "of four blocks of cells one holds persons; one person joins in another, and as many "
        "coefficients are dropped as the exact number of empty blocks asks for",
        data.fourth_block,
        scores.WAVECLUSTER_RELEASES,
        options={"density": 0.1},
        run=planted.exact_pruning,
    ),
    _planted(
        "twostage",
        "half-last-noise",
        "one person joins an empty cell of many, with half of the noise that the last step takes",
        data.first_of_many_cells,
        bug=Bug("dense and empty cells"),
    ),
    _planted(
        "twostage",
        "all-counts",
        "one person joins an empty cell of many; each count is refined, and low ones take part in "
        "the number of zeros as well, for the same budget",
        data.first_of_many_cells,
        run=planted.all_refined,
    ),
    _planted(
        "twostage",
        "moved-unknown",
        "a person moves from one block of ten to one of many blocks of none, with noise only for "
        "one who joins or leaves",
        data.moved_to_nobody,
        sides=_MOVE,
    ),
    _planted(
        "dprefine",
        "half-fine-noise",
        f"t{_ELEVENTH}, with half of the noise that the fine cells take",
        data.eleventh_record,
        options={"clusters": 2},
        bug=Bug("fine cells"),
    ),
    _planted(
        "dprefine",
        "all-cells",
        "one person joins many in one place; each cell is refined, split ones too, and the "
        "subcells are paid for with the same budget",
        partial(data.crowd, size=400, columns=1, place=0.0),
        options={"clusters": 2},
        run=planted.all_refined,
    ),
    _planted(
        "dprefine",
        "unsplit-budget",
        f"t{_ELEVENTH}, and the number of records gets the whole budget, as if nothing followed",
        data.eleventh_record,
        options={"clusters": 2},
        bug=Bug("records", GRID_SIZE),
    ),
    _planted(
        "dprefine",
        "true-radius",
        "one person joins many far away, and the clip radius of the residual step follows from "
        "the true distances",
        _crowd,
        options={"clusters": 2},
        bug=Bug("distances *", NONE),
    ),
    _planted(
        "dprefine",
        "moved-unknown",
        "one of 400 persons moves to the opposite end of a line, with noise only for one who joins "
        "or leaves",
        partial(data.far_move, size=400, columns=1),
        options={"clusters": 2},
        sides=_MOVE,
    ),
    _planted(
        "privthrem",
        "half-threshold-noise",
        "two blocks of cells hold persons; one person joins in a third one, with half of the "
        "noise that the threshold takes",
        data.third_block,
        options={"alpha": 0.2},
        bug=Bug("threshold"),
    ),
    *(
        _planted(
            "gupt",
            f"noise-by-{parts}",
            "one person joins a block of records and takes one of its centres, with "
            f"1/{parts} of the noise that it takes",
            data.swapped_centers,
            options={"clusters": 2},
            bug=Bug(factor=1 / parts),
            noise=partial(RunNoise, public=(data.DEALT,)),
        )
        for parts in (2, 8)
    ),
    _planted(
        "contour",
        "two-thirds-noise",
        f"t{_ELEVENTH}, with two thirds of the noise that it takes",
        data.eleventh_record,
        options={"clusters": 1, "iterations": 1, "start": "random"},
        bug=Bug(factor=1 / 1.5),
    ),
    _planted(
        "mcmc",
        "half-noise",
        f"t{_ELEVENTH}, with half of the noise that it takes",
        data.eleventh_record,
        options={"clusters": 1, "iterations": 2},
        bug=Bug(),
    ),
)

_SCENARIOS = (*_DESIGNED, *_PLAIN, *_PLANTED)
