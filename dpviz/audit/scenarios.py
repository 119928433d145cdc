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
    says
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
    says: str
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
        one for one in _ALL if method in (None, one.method) and variant in (None, one.variant)
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


# -- WaveCluster -------------------------------------------------------------------------

_VARIANTS: tuple[VariantName, ...] = ("published", "sound")


def _wavecluster(method: str, variant: VariantName, **given: Any) -> Scenario:
    """Scenario of a WaveCluster technique with all that it releases."""
    groups = (*scores.WAVECLUSTER_RELEASES, scores.LIKELIHOOD)
    return Scenario(method=method, variant=variant, **{"groups": groups, **given})


def _range_of_data(method: str, variant: VariantName, runs: int = 20_000) -> Scenario:
    """Grid over the range of the data, or over a declared domain."""
    declared = variant == "sound"
    return _wavecluster(
        method,
        variant,
        name="far-point",
        says=(
            "500 persons stand close together; one joins who stands far away. A grid over the "
            "range of the data then changes for everybody, one over a declared domain in one cell."
        ),
        pair=data.far_point if declared else data.far_point_in_data_range,
        runs=runs,
    )


def _largest_cell(variant: VariantName) -> Scenario:
    """PrivTHREM's candidates up to the largest coefficient, true or noisy."""
    return _wavecluster(
        "privthrem",
        variant,
        name="largest-cell",
        says=(
            "One cell holds one person; a second one joins there. A threshold drawn up to the "
            "largest true coefficient can then reach twice as high."
        ),
        pair=data.largest_cell,
    )


_MOVE = ("before", "after the move")


def _rank(**given: Any) -> Scenario:
    """PrivTHREM's rank in the true data, inside or shown."""
    says = (
        "Eleven cells hold five persons each; a sixth one joins in one of them. The rank of the "
        "threshold in the true data then takes values that it can't take without."
    )
    return _wavecluster(
        "privthrem",
        "sound",
        pair=data.one_of_eleven,
        options={"density": 0.9},
        **{"says": says, **given},
    )


_MORE_CELLS = (
    "One person joins, and a grid whose size is computed from the true number of persons gets "
    "finer."
)


def _synopsis_size(variant: VariantName) -> Scenario:
    """Baseline's synopsis, as fine as the true or as a noisy number of records allows."""
    return _wavecluster(
        "baseline",
        variant,
        name="true-size",
        says=_MORE_CELLS,
        pair=data.synopsis_size,
        options={"synopsis": "uniform_grid"},
        runs=10_000,
    )


def _empty_synopsis(synopsis: str) -> Scenario:
    """The other synopses of Baseline."""
    return _wavecluster(
        "baseline",
        "sound",
        name=f"first-record-{synopsis.replace('_', '-')}",
        says="There is nobody; one person joins.",
        pair=data.first_in_cell,
        options={"synopsis": synopsis},
        runs=10_000,
    )


_WAVECLUSTER = (
    *(_largest_cell(variant) for variant in _VARIANTS),
    *(
        _range_of_data(method, variant)
        for method in ("privqt", "privthr", "privthrem")
        for variant in _VARIANTS
    ),
    *(_range_of_data("baseline", variant, 5_000) for variant in _VARIANTS),
    *(_synopsis_size(variant) for variant in _VARIANTS),
    *(_empty_synopsis(name) for name in ("adaptive_grid", "privelet", "quadtree")),
    _rank(name="rank"),
    _wavecluster(
        "privqt",
        "sound",
        name="moved-record",
        says="A person moves from one of two cells of ten to the other, with noise for that.",
        pair=data.moved_record,
        relation="replace_one",
        sides=_MOVE,
    ),
)


def _less_noise(method: str, bug: Bug, **given: Any) -> Scenario:
    """Too little noise, looked for in all noisy answers at once."""
    return Scenario(
        method=method,
        variant="sound",
        groups=(scores.LIKELIHOOD,),
        planted=True,
        bug=bug,
        **given,
    )


_PLANTED = (
    _rank(
        name="rank-shown",
        says=(
            "Planted: eleven cells hold five persons each; a sixth one joins in one of them, and "
            "the rank of the threshold in the true data is shown."
        ),
        groups=(*scores.WAVECLUSTER_RELEASES, "rank"),
        planted=True,
    ),
    _wavecluster(
        "privqt",
        "sound",
        name="moved-unknown",
        says=(
            "Planted: a person moves from one of two cells of ten to the other, with noise only "
            "for one who joins or leaves."
        ),
        pair=data.moved_record,
        planted=True,
        sides=_MOVE,
    ),
    _wavecluster(
        "privqt",
        "sound",
        name="half-noise",
        says="Planted: one person joins an empty cell, with half of the noise that it takes.",
        pair=data.first_in_cell,
        groups=("counts",),
        planted=True,
        bug=Bug(),
    ),
    _wavecluster(
        "privqt",
        "sound",
        name="known-seed",
        says="Planted: an eleventh person joins a cell, and the seed of the noise is known.",
        pair=data.eleventh_in_cell,
        groups=("counts",),
        planted=True,
        run=planted.known_seed,
        noise=SeededNoise,
    ),
    _wavecluster(
        "privthr",
        "sound",
        name="true-threshold",
        says=(
            "Planted: one cell holds one person; a second one joins there, and the threshold is "
            "that of the data without noise."
        ),
        pair=data.largest_cell,
        groups=scores.WAVECLUSTER_RELEASES,
        planted=True,
        run=planted.true_threshold,
    ),
    _wavecluster(
        "privthr",
        "sound",
        name="exact-pruning",
        says=(
            "Planted: of four blocks of cells one holds persons; one person joins in another, and "
            "as many coefficients are dropped as the exact number of empty blocks asks for."
        ),
        pair=data.fourth_block,
        groups=scores.WAVECLUSTER_RELEASES,
        options={"density": 0.1},
        planted=True,
        run=planted.exact_pruning,
    ),
    _less_noise(
        "privthrem",
        Bug("threshold"),
        name="half-threshold-noise",
        says=(
            "Planted: two blocks of cells hold persons; one person joins in a third one, with "
            "half of the noise that the threshold takes."
        ),
        pair=data.third_block,
        options={"alpha": 0.2},
    ),
    *(
        _less_noise(
            "gupt",
            Bug(factor=1 / parts),
            name=f"noise-by-{parts}",
            says=(
                "Planted: one person joins a block of records and takes one of its centres, with "
                f"1/{parts} of the noise that it takes."
            ),
            pair=data.swapped_centers,
            options={"clusters": 2},
            noise=partial(RunNoise, public=(data.DEALT,)),
        )
        for parts in (2, 8)
    ),
    _less_noise(
        "contour",
        Bug(factor=1 / 1.5),
        name="two-thirds-noise",
        says=(
            "Planted: ten persons stand at the end of a line; an eleventh one joins them, with "
            "two thirds of the noise that it takes."
        ),
        pair=data.eleventh_record,
        options={"clusters": 1, "iterations": 1, "start": "random"},
    ),
    _less_noise(
        "mcmc",
        Bug(),
        name="half-noise",
        says=(
            "Planted: ten persons stand at the end of a line; an eleventh one joins them, with "
            "half of the noise that it takes."
        ),
        pair=data.eleventh_record,
        options={"clusters": 1, "iterations": 2},
    ),
)


# -- k-means -----------------------------------------------------------------------------


def _kmeans(method: str, variant: VariantName, **given: Any) -> Scenario:
    """Scenario of a k-means method with all that it releases."""
    groups = (*scores.KMEANS_RELEASES, scores.LIKELIHOOD)
    return Scenario(method=method, variant=variant, **{"groups": groups, **given})


def _far_record(method: str, variant: VariantName, runs: int) -> Scenario:
    """Starts from the records, or from a noisy grid."""
    given = {
        "name": "far-record",
        "says": (
            "A thousand persons stand in one corner; one joins in the opposite corner. Starting "
            "centres drawn from the raw records nearly always take that one."
        ),
        "pair": data.far_record,
        "options": {"clusters": 2},
        "runs": runs,
    }
    if variant == "published":
        # The start itself is raw records, no audit needed: what comes after it tells too.
        given["groups"] = ("iterations", "ledger")
    return _kmeans(method, variant, **given)


def _stopping(variant: VariantName) -> Scenario:
    """The printed rule to stop by, or a fixed number of iterations."""
    return _kmeans(
        "dpkmeanspp",
        variant,
        name="stopping",
        says=(
            "There is nobody; one person joins. With nobody the sum of squared errors is always "
            "settled and the iterations stop; with one they may go on."
        ),
        pair=data.first_record,
        options={"clusters": 8, "iterations": 3, "start": "random", "geometry": "box"},
        runs=8_000,
    )


def _lonely_record(variant: VariantName) -> Scenario:
    """Budgets from contour coefficients of the records, or of a noisy grid."""
    return _kmeans(
        "contour",
        variant,
        name="lonely-record",
        says=(
            "Fourteen clusters have hardly any contour; one person joins right on the fifteenth "
            "centre. Budgets computed from raw contour coefficients then halve for all the others."
        ),
        pair=data.lonely_record,
        options={"clusters": data.LONELY_CLUSTERS, "iterations": 1, "start": "random"},
        runs=10_000,
        noise=partial(RunNoise, public=(data.PUBLIC,)),
    )


_SHIFTED = (
    "Persons stand in a list that is cut into equal parts; one joins at its end. All borders move, "
    "and the first person of a part goes to the part before."
)


def _shifted_sets(variant: VariantName) -> Scenario:
    """A partition by order, or by each record's own draw."""
    return _kmeans(
        "dpkmeans_mapreduce",
        variant,
        name="shifted-list",
        says=_SHIFTED,
        pair=data.shifted_sets,
        options={"clusters": data.SETS, "iterations": 1, "geometry": "box"},
        runs=10_000,
    )


def _shifted_blocks(variant: VariantName, runs: int) -> Scenario:
    """Blocks by order, or by each record's own draw."""
    return _kmeans(
        "gupt",
        variant,
        name="shifted-list",
        says=_SHIFTED,
        pair=data.shifted_blocks,
        options={"clusters": 2},
        runs=runs,
    )


_GRID_SIZES = {
    ("eugkm", "published"): data.grid_size,
    ("eugkm", "sound"): data.grid_size_when_sound,
    ("hybrid", "published"): data.grid_size_of_half,
    ("hybrid", "sound"): data.grid_size_of_half_when_sound,
}


def _true_size(method: str, variant: VariantName, runs: int) -> Scenario:
    """A grid as fine as the true or as a noisy number of records allows."""
    return _kmeans(
        method,
        variant,
        name="true-size",
        says=_MORE_CELLS,
        pair=_GRID_SIZES[method, variant],
        options={"clusters": 1},
        runs=runs,
    )


def _true_blocks(variant: VariantName) -> Scenario:
    """As many blocks as the true or as a noisy number of records allows."""
    return _kmeans(
        "gupt",
        variant,
        name="true-size",
        says=(
            "Two persons make one block; a third one joins. The number of blocks, computed from "
            "the true number of persons, becomes two, and the noise half as large."
        ),
        pair=data.number_of_blocks,
        options={"clusters": 1},
        runs=5_000,
    )


def _outside_ball(method: str, variant: VariantName, runs: int) -> Scenario:
    """Records outside the L1 ball that the noise is for, or in the box that it is for."""
    return _kmeans(
        method,
        variant,
        name="outside-ball",
        says=(
            "There is nobody; one person joins in the corner of a box of forty columns. Noise for "
            "records of the unit L1 ball is too small for that one."
        ),
        pair=data.first_record_in_many_columns,
        options={"clusters": 1, "iterations": 1, "start": "random"},
        runs=runs,
    )


def _first_record(
    method: str, runs: int, variant: VariantName = "sound", **options: Any
) -> Scenario:
    """Nothing in particular: the largest change that one record makes by itself."""
    return _kmeans(
        method,
        variant,
        name="first-record",
        says="There is nobody; one person joins at the end of a line.",
        pair=data.first_record,
        options={"clusters": 1, **options},
        runs=runs,
    )


_KMEANS = (
    *(_outside_ball("dplloyd", variant, 10_000) for variant in _VARIANTS),
    _far_record("dpkmeanspp", "published", 8_000),
    _far_record("dpkmeanspp", "sound", 4_000),
    *(_stopping(variant) for variant in _VARIANTS),
    *(_far_record("dpkmeansup", variant, 1_000) for variant in _VARIANTS),
    *(_shifted_sets(variant) for variant in _VARIANTS),
    *(_lonely_record(variant) for variant in _VARIANTS),
    *(_outside_ball("mcmc", variant, 400) for variant in _VARIANTS),
    *(_true_size("eugkm", variant, 8_000) for variant in _VARIANTS),
    *(_true_size("hybrid", variant, 4_000) for variant in _VARIANTS),
    _shifted_blocks("published", 20_000),
    _shifted_blocks("sound", 500),
    *(_true_blocks(variant) for variant in _VARIANTS),
    *(_first_record("privgene", 10_000, variant, iterations=1) for variant in _VARIANTS),
    _first_record("dplloyd", 10_000, iterations=1),
    _first_record("dpkmeanspp", 5_000),
    _first_record("dpkmeansup", 3_000),
    _first_record("dpkmeans_mapreduce", 10_000),
    _first_record("contour", 10_000),
    _kmeans(
        "mcmc",
        "sound",
        name="eleventh-record",
        says="Ten persons stand at the end of a line; an eleventh one joins them.",
        pair=data.eleventh_record,
        options={"clusters": 1},
        runs=400,
    ),
    _first_record("eugkm", 5_000),
    _first_record("hybrid", 3_000),
    _first_record("gupt", 5_000),
)

_DESIGNED = (*_WAVECLUSTER, *_KMEANS)

#: Methods for which nobody designed a scenario get the plainest one.
_PLAIN = tuple(
    Scenario(
        name="first-record",
        method=method,
        variant=variant,
        says="There is nobody; one person joins.",
        pair=partial(data.first_of_all, method),
        groups=(scores.LIKELIHOOD,),
        runs=10_000,
    )
    for method in sorted(
        {name for name, card in CARDS.items() if card.spends} - {one.method for one in _DESIGNED}
    )
    for variant in _VARIANTS
)

_ALL = (*_DESIGNED, *_PLAIN, *_PLANTED)
