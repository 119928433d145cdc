"""PrivGene: candidate centres evolve over generations; the exponential mechanism selects them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpviz.family.card import Card, Variant
from dpviz.kmeans.lloyd import restored
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.schedule import budgets
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import uniform
from dpviz.privacy.mechanisms import Accountant

#: Candidates of a generation, and the number of selected parents.
CANDIDATES, PARENTS = 40, 2

#: Standard deviation of a mutation in the first generation; halved every three generations.
MUTATION = 0.3

_PROOF = (
    "Every selection is an exponential mechanism on the negative WCSS, whose sensitivity is the "
    "squared diagonal 4 d of the box; their budgets add up to epsilon, and breeding looks at "
    "selected candidates alone."
)

#: Rough time of a draw on 30,000 records.
SECONDS = 0.25

CARD = Card(
    name="privgene",
    family="kmeans",
    title="PrivGene",
    estimator="PrivGene",
    summary=(
        "A genetic algorithm: from random candidate sets of K centres the exponential mechanism "
        "selects two by their WCSS; crossover and shrinking mutations of them make the next "
        "generation. T is the number of generations."
    ),
    paper="Zhang J., Xiao, Yang, Zhang, Winslett 2013; as in Lee, Kifer 2016",
    algorithm="PrivGene",
    origin="002",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=_PROOF
            + " WCSS only grows with records that join, so half the usual noise suffices.",
        ),
        Variant(name="published", private=True, reason=_PROOF),
    ),
    parameters=takes("privgene"),
    deviations=(
        f"{CANDIDATES} candidates and {PARENTS} parents a generation; the number of generations "
        "is chosen, not computed from the number of records.",
        "Squared distances are cut to multiples of 2^-20, so that their sum is exact.",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Breed centres under the exponential mechanism (Zhang et al. 2013)."""
    space, generations = Space(records.domain), config.iterations or 1
    d = records.domain.ndim
    generator = accountant.noise.generator("breeding")
    candidates = np.array([uniform(config.clusters, d, generator) for _ in range(CANDIDATES)])
    shares = iter(budgets("uniform", config.epsilon, (generations - 1) * PARENTS + 1))
    for generation in range(1, generations + 1):
        last = generation == generations
        scores = -np.array([records.wcss(space, centers) for centers in candidates])
        chosen = []
        for parent in range(1 if last else PARENTS):
            pick = accountant.choose(
                f"generation {generation}, choice {parent + 1}",
                scores,
                sensitivity=4.0 * d,
                epsilon=next(shares),
                monotone=config.variant == "sound",
            )
            chosen.append(candidates[pick])
            # Without replacement: each choice is a separate mechanism over the remaining ones.
            scores[pick] = -np.inf
        if not last:
            candidates = _offspring(np.array(chosen), generation, generator)
    run = KMeansRun(config=config, centers=chosen[0], ledger=accountant.ledger)
    return restored(run, space)


def _offspring(
    parents: NDArray[np.float64], generation: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Parents and their offspring, shape (CANDIDATES, K, d): crossover, then mutation."""
    K, d = parents.shape[1:]
    born = CANDIDATES - len(parents)
    # Each centre of a child comes from one parent. Similar centres are matched first; otherwise
    # a child could have two centres in one place and none in another.
    paired = np.stack([parents[0], _like(parents[0], parents[1])])
    source = generator.integers(len(parents), size=(born, K))
    children = paired[source, np.arange(K)]
    width = MUTATION * 0.5 ** ((generation - 1) / 3)
    moved = generator.integers(K, size=born)
    children[np.arange(born), moved] += generator.normal(0, width, (born, d))
    return np.concatenate([parents, np.clip(children, -1, 1)])


def _like(centers: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the other centres in the order of the given ones, matched one to one by distance."""
    from scipy.optimize import linear_sum_assignment

    cost = ((centers[:, None] - others[None]) ** 2).sum(axis=2)
    matched: NDArray[np.float64] = others[linear_sum_assignment(cost)[1]]
    return matched
