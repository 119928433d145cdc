"""What an audit tries: a mechanism, two neighbouring data sets and the scores to look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dpviz.audit import data, planted, scores
from dpviz.audit.noise import RunNoise
from dpviz.audit.planted import Bug
from dpviz.errors import InputError
from dpviz.families import CARDS, family_of
from dpviz.family.card import VariantName
from dpviz.family.method import check_method
from dpviz.family.trial import Configuration
from dpviz.noise import NoiseSource, SeededNoise
from dpviz.privacy.ledger import Neighbours, Relation


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One mechanism on two neighbouring data sets.

    Parameters
    ----------
    name
        Key on the command line; under the same name a sound variant faces the same case as
        its published sibling.
    method, variant
        What is audited.
    description
        One sentence for people: who joins or changes what, and why that may show.
    pair
        Claim -> the two data sets.
    groups
        Scores to look at, by their names in :mod:`dpviz.audit.scores`.
    runs
        Runs on each data set that show what there is to show in less than half a minute.
    options
        Parameters of the method that differ from its defaults.
    relation
        What the mechanism takes for neighbours.
    planted
        Whether the mechanism is no variant on offer but a mistake made on purpose.
    bug
        Planted mistake in the noise of some steps.
    run
        Planted mechanism that runs in place of the method.
    noise
        Where the noise comes from: its seed may be known, or some choices public.
    sides
        What the two data sets are called after "of runs".
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
        """Public parameters at a budget of the claim."""
        given: dict[str, Any] = {
            "method": self.method,
            "variant": self.variant,
            "epsilon": claim,
            "neighbours": Neighbours(relation=self.relation),
            **self.options,
        }
        config: Configuration = family_of(self.method).config(**given)
        return config

    @property
    def private(self) -> bool:
        """Whether the mechanism is said to keep its claim."""
        return not self.planted and CARDS[self.method].variant(self.variant).private


def scenarios(method: str | None = None, variant: str | None = None) -> tuple[Scenario, ...]:
    """All scenarios, or those of a method or variant; planted mistakes come last."""
    return tuple(
        one for one in _SCENARIOS if method in (None, one.method) and variant in (None, one.variant)
    )


def find(method: str, variant: str, name: str | None = None) -> Scenario:
    """Return a scenario by its name, or the first one of a method and variant.

    Raises
    ------
    InputError
        Where there is none, with the choices.
    """
    check_method(method, CARDS)
    if not CARDS[method].spends:
        raise InputError(f"method = {method} takes no privacy budget: there is no claim to audit.")
    offered = scenarios(method, variant)
    if not offered:
        raise InputError(f'variant = "{variant}" is unknown: choose sound or published.')
    if name is None:
        return offered[0]
    for one in offered:
        if one.name == name:
            return one
    known = ", ".join(one.name for one in offered)
    raise InputError(f'scenario = "{name}" is unknown for {method} {variant}: choose from {known}.')


_VARIANTS: tuple[VariantName, ...] = ("published", "sound")

#: All that a run of a family releases, and how likely its noisy answers are.
_ALL_OF_WAVECLUSTER = (*scores.WAVECLUSTER_RELEASES, scores.LIKELIHOOD)
_ALL_OF_KMEANS = (*scores.KMEANS_RELEASES, scores.LIKELIHOOD)


def _both(
    method: str,
    *,
    published: Mapping[str, Any] | None = None,
    sound: Mapping[str, Any] | None = None,
    **shared: Any,
) -> tuple[Scenario, ...]:
    """Scenarios of both variants: what they share, and what each has of its own."""
    own = (published or {}, sound or {})
    return tuple(
        Scenario(**{"method": method, "variant": variant, **shared, **given})
        for variant, given in zip(_VARIANTS, own, strict=True)
    )


# -- WaveCluster -------------------------------------------------------------------------


def _cells(method: str, **given: Any) -> tuple[Scenario, ...]:
    """Both variants of a WaveCluster technique with all that it releases."""
    return _both(method, groups=_ALL_OF_WAVECLUSTER, **given)


def _sound_cells(method: str, **given: Any) -> Scenario:
    """Sound variant of a WaveCluster technique with all that it releases."""
    return Scenario(method=method, variant="sound", **{"groups": _ALL_OF_WAVECLUSTER, **given})


def _far_point(method: str, runs: int = 20_000) -> tuple[Scenario, ...]:
    """Grid over the range of the data, or over a declared domain."""
    return _cells(
        method,
        name="far-point",
        description=(
            "500 persons stand close together; one joins who stands far away. A grid over the "
            "range of the data then changes for everybody, one over a declared domain in one cell."
        ),
        pair=data.far_point,
        published={"pair": partial(data.far_point, domain=None)},
        runs=runs,
    )


_RANK: dict[str, Any] = {"pair": data.one_of_eleven, "options": {"density": 0.9}}
_MOVE: dict[str, Any] = {"pair": data.moved_record, "sides": ("before", "after the move")}

_NOBODY = "There is nobody; one person joins"
_ELEVENTH = "en persons stand at the end of a line; an eleventh one joins them"
_MORE_CELLS = (
    "One person joins, and a grid whose size is computed from the true number of persons gets "
    "finer."
)

_WAVECLUSTER = (
    *_cells(
        "privthrem",
        name="largest-cell",
        description=(
            "One cell holds one person; a second one joins there. A threshold drawn up to the "
            "largest true coefficient can then reach twice as high."
        ),
        pair=data.largest_cell,
    ),
    *_far_point("privqt"),
    *_far_point("privthr"),
    *_far_point("privthrem"),
    *_far_point("baseline", 5_000),
    *_cells(
        "baseline",
        name="true-size",
        description=_MORE_CELLS,
        pair=data.synopsis_size,
        options={"synopsis": "uniform_grid"},
        runs=10_000,
    ),
    *(
        _sound_cells(
            "baseline",
            name=f"first-record-{synopsis.replace('_', '-')}",
            description=f"{_NOBODY}.",
            pair=data.first_in_cell,
            options={"synopsis": synopsis},
            runs=10_000,
        )
        for synopsis in ("adaptive_grid", "privelet", "quadtree")
    ),
    _sound_cells(
        "privthrem",
        name="rank",
        description=(
            "Eleven cells hold five persons each; a sixth one joins in one of them. The rank of "
            "the threshold in the true data then takes values that it can't take without."
        ),
        **_RANK,
    ),
    _sound_cells(
        "privqt",
        name="moved-record",
        description=(
            "A person moves from one of two cells of ten to the other, with noise for that."
        ),
        relation="replace_one",
        **_MOVE,
    ),
)


# -- k-means -----------------------------------------------------------------------------


def _centers(method: str, **given: Any) -> tuple[Scenario, ...]:
    """Both variants of a k-means method with all that it releases."""
    return _both(method, groups=_ALL_OF_KMEANS, **given)


def _outside_ball(method: str, runs: int) -> tuple[Scenario, ...]:
    """Records outside the L1 ball that the noise is for, or in the box that it is for."""
    return _centers(
        method,
        name="outside-ball",
        description=(
            f"{_NOBODY} in the corner of a box of forty columns. Noise for records of the unit L1 "
            "ball is too small for that one."
        ),
        pair=data.first_record_in_many_columns,
        options={"clusters": 1, "iterations": 1, "start": "random"},
        runs=runs,
    )


def _far_record(method: str, published: int, sound: int) -> tuple[Scenario, ...]:
    """Starts from the records, or from a noisy grid; so many runs of each."""
    return _centers(
        method,
        name="far-record",
        description=(
            "A thousand persons stand in one corner; one joins in the opposite corner. Starting "
            "centres drawn from the raw records nearly always take that one."
        ),
        pair=data.far_record,
        options={"clusters": 2},
        # The start itself is raw records, no audit needed: what comes after it tells too.
        published={"runs": published, "groups": ("iterations", "ledger")},
        sound={"runs": sound},
    )


def _grid_size(method: str, share: float, runs: int) -> tuple[Scenario, ...]:
    """A grid as fine as the true or as a noisy number of records allows."""
    published, sound = (
        {"pair": partial(data.grid_size, variant=variant, share=share)} for variant in _VARIANTS
    )
    return _centers(
        method,
        name="true-size",
        description=_MORE_CELLS,
        options={"clusters": 1},
        runs=runs,
        published=published,
        sound=sound,
    )


def _first_record(method: str, runs: int, **options: Any) -> tuple[Scenario, ...]:
    """Nothing in particular: the largest change that one record makes by itself."""
    return _centers(
        method,
        name="first-record",
        description=f"{_NOBODY} at the end of a line.",
        pair=data.first_record,
        options={"clusters": 1, **options},
        runs=runs,
    )


_SHIFTED = (
    "Persons stand in a list that is cut into equal parts; one joins at its end. All borders move, "
    "and the first person of a part goes to the part before."
)

_KMEANS = (
    *_outside_ball("dplloyd", 10_000),
    *_far_record("dpkmeanspp", 8_000, 4_000),
    *_centers(
        "dpkmeanspp",
        name="stopping",
        description=(
            f"{_NOBODY}. With nobody the sum of squared errors is always settled and the "
            "iterations stop; with one they may go on."
        ),
        pair=data.first_record,
        options={"clusters": 8, "iterations": 3, "start": "random", "geometry": "box"},
        runs=8_000,
    ),
    *_far_record("dpkmeansup", 1_000, 1_000),
    *_centers(
        "dpkmeans_mapreduce",
        name="shifted-list",
        description=_SHIFTED,
        pair=data.shifted_sets,
        options={"clusters": data.SETS, "iterations": 1, "geometry": "box"},
        runs=10_000,
    ),
    *_centers(
        "contour",
        name="lonely-record",
        description=(
            "Fourteen clusters have hardly any contour; one person joins right on the fifteenth "
            "centre. Budgets computed from raw contour coefficients then halve for all the others."
        ),
        pair=data.lonely_record,
        options={"clusters": data.LONELY_CLUSTERS, "iterations": 1, "start": "random"},
        runs=10_000,
        noise=partial(RunNoise, public=(data.PUBLIC,)),
    ),
    *_outside_ball("mcmc", 400),
    *_grid_size("eugkm", 1.0, 8_000),
    *_grid_size("hybrid", 0.5, 4_000),
    *_centers(
        "gupt",
        name="shifted-list",
        description=_SHIFTED,
        pair=data.shifted_blocks,
        options={"clusters": 2},
        sound={"runs": 500},
    ),
    *_centers(
        "gupt",
        name="true-size",
        description=(
            "Two persons make one block; a third one joins. The number of blocks, computed from "
            "the true number of persons, becomes two, and the noise half as large."
        ),
        pair=data.number_of_blocks,
        options={"clusters": 1},
        runs=5_000,
    ),
    *_first_record("privgene", 10_000, iterations=1),
    # Published variants of the others have scenarios of their own.
    *(
        _first_record(method, runs, **options)[1]
        for method, runs, options in (
            ("dplloyd", 10_000, {"iterations": 1}),
            ("dpkmeanspp", 5_000, {}),
            ("dpkmeansup", 3_000, {}),
            ("dpkmeans_mapreduce", 10_000, {}),
            ("contour", 10_000, {}),
            ("eugkm", 5_000, {}),
            ("hybrid", 3_000, {}),
            ("gupt", 5_000, {}),
        )
    ),
    Scenario(
        method="mcmc",
        variant="sound",
        name="eleventh-record",
        description=f"T{_ELEVENTH}.",
        pair=data.eleventh_record,
        groups=_ALL_OF_KMEANS,
        options={"clusters": 1},
        runs=400,
    ),
)

_DESIGNED = (*_WAVECLUSTER, *_KMEANS)

#: Methods for which nobody designed a scenario get the plainest one.
_PLAIN = tuple(
    scenario
    for method in sorted(
        {name for name, card in CARDS.items() if card.spends} - {one.method for one in _DESIGNED}
    )
    for scenario in _both(
        method,
        name="first-record",
        description=f"{_NOBODY}.",
        pair=partial(data.first_of_all, method),
        groups=(scores.LIKELIHOOD,),
        runs=10_000,
    )
)


# -- planted mistakes --------------------------------------------------------------------


def _planted(method: str, name: str, description: str, **given: Any) -> Scenario:
    """Mistake in a sound variant, looked for in all noisy answers at once or in some scores."""
    return Scenario(
        method=method,
        variant="sound",
        name=name,
        description=f"Planted: {description}.",
        planted=True,
        **{"groups": (scores.LIKELIHOOD,), **given},
    )


_PLANTED = (
    _planted(
        "privthrem",
        "rank-shown",
        "eleven cells hold five persons each; a sixth one joins in one of them, and the rank of "
        "the threshold in the true data is shown",
        groups=(*scores.WAVECLUSTER_RELEASES, "rank"),
        **_RANK,
    ),
    _planted(
        "privqt",
        "moved-unknown",
        "a person moves from one of two cells of ten to the other, with noise only for one who "
        "joins or leaves",
        groups=_ALL_OF_WAVECLUSTER,
        **_MOVE,
    ),
    _planted(
        "privqt",
        "half-noise",
        "one person joins an empty cell, with half of the noise that it takes",
        pair=data.first_in_cell,
        groups=("counts",),
        bug=Bug(),
    ),
    _planted(
        "privqt",
        "known-seed",
        "an eleventh person joins a cell, and the seed of the noise is known",
        pair=data.eleventh_in_cell,
        groups=("counts",),
        run=planted.known_seed,
        noise=SeededNoise,
    ),
    _planted(
        "privthr",
        "true-threshold",
        "one cell holds one person; a second one joins there, and the threshold is that of the "
        "data without noise",
        pair=data.largest_cell,
        groups=scores.WAVECLUSTER_RELEASES,
        run=planted.true_threshold,
    ),
    _planted(
        "privthr",
        "exact-pruning",
        "of four blocks of cells one holds persons; one person joins in another, and as many "
        "coefficients are dropped as the exact number of empty blocks asks for",
        pair=data.fourth_block,
        groups=scores.WAVECLUSTER_RELEASES,
        options={"density": 0.1},
        run=planted.exact_pruning,
    ),
    _planted(
        "privthrem",
        "half-threshold-noise",
        "two blocks of cells hold persons; one person joins in a third one, with half of the "
        "noise that the threshold takes",
        pair=data.third_block,
        options={"alpha": 0.2},
        bug=Bug("threshold"),
    ),
    *(
        _planted(
            "gupt",
            f"noise-by-{parts}",
            "one person joins a block of records and takes one of its centres, with "
            f"1/{parts} of the noise that it takes",
            pair=data.swapped_centers,
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
        pair=data.eleventh_record,
        options={"clusters": 1, "iterations": 1, "start": "random"},
        bug=Bug(factor=1 / 1.5),
    ),
    _planted(
        "mcmc",
        "half-noise",
        f"t{_ELEVENTH}, with half of the noise that it takes",
        pair=data.eleventh_record,
        options={"clusters": 1, "iterations": 2},
        bug=Bug(),
    ),
)

_SCENARIOS = (*_DESIGNED, *_PLAIN, *_PLANTED)
