"""PrivGene: candidate centres evolve over generations; an exponential mechanism selects parents."""

from __future__ import annotations

import math

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.family.card import card_of
from dpviz.kmeans.lloyd import restored
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.passes import loops
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.schedule import budgets
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import uniform
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.secure import LATTICE

#: Number of candidates in a generation, and number of selected parents.
CANDIDATES, PARENTS = 200, 10

#: Printed number of generations: records * epsilon / (PER_GENERATION * PARENTS), at least FEWEST.
PER_GENERATION, FEWEST = 800, 8

#: Standard deviation of a mutation in the first generation; its factor per generation.
MUTATION, DECAY = 0.2, 0.95

#: Approximate time of a run on 30,000 records.
SECONDS = 0.25

CARD = card_of(
    __file__, takes("privgene"), CANDIDATES=CANDIDATES, PARENTS=PARENTS, MUTATION=MUTATION
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Breed centres with the enhanced exponential mechanism (Zhang et al. 2013)."""
    space, generations = Space(records.domain), config.iterations or 1
    if config.variant == "published":
        generations = min(generations, printed_generations(records.n, config.epsilon))
    generator = accountant.noise.generator("breeding")
    candidates = np.array(
        [uniform(config.clusters, records.domain.ndim, generator) for _ in range(CANDIDATES)]
    )
    for number, share in enumerate(budgets("uniform", config.epsilon, generations), start=1):
        last = number == generations
        scores = -records.excess(space, candidates)
        # The bound on the lattice: rounding down and the computation of R may each add a unit.
        sensitivity = (math.floor(difference(candidates) / LATTICE) + 2) * LATTICE
        chosen = []
        for choice, part in enumerate(budgets("uniform", share, 1 if last else PARENTS), start=1):
            pick = accountant.choose(
                f"generation {number}, choice {choice}",
                scores,
                sensitivity=sensitivity,
                epsilon=part,
                monotone=config.variant == "sound",
            )
            chosen.append(candidates[pick])
            # Without replacement: each choice is a separate mechanism over the other candidates.
            scores[pick] = -np.inf
        if not last:
            candidates = _offspring(np.array(chosen), number, generator)
    run = KMeansRun(config=config, centers=chosen[0], ledger=accountant.ledger)
    return restored(run, space)


def printed_generations(size: float, epsilon: float) -> int:
    """Return the printed number of generations for a number of records."""
    return max(FEWEST, int(size * epsilon / (PER_GENERATION * PARENTS)))


def difference(candidates: Floats) -> float:
    """Upper bound R on the difference of one record's squared distances to two of (m, K, d) sets.

    For a record t and sets v and w, let k be the centre of w nearest to t. Then D(t, v) - D(t, w)
    <= |t - v_k|^2 - |t - w_k|^2. This is linear in t, so it is largest in a corner of the box:
    there it is the sum over the axes of v^2 - w^2 + 2 |v - w|. And D(t, v) is at most the smallest
    squared distance of a centre to its farthest corner.
    """
    farthest = ((1 + np.abs(candidates)) ** 2).sum(axis=2).min(axis=1)
    return float(loops().difference(candidates, farthest))


def _offspring(parents: Floats, generation: int, generator: np.random.Generator) -> Floats:
    K, d = parents.shape[1:]
    born = CANDIDATES - len(parents)
    first = generator.integers(len(parents), size=born)
    second = (first + generator.integers(1, len(parents), size=born)) % len(parents)
    cut = generator.integers(K, size=born)
    source = np.where(np.arange(K) < cut[:, None], first[:, None], second[:, None])
    children = parents[source, np.arange(K)]
    width = MUTATION * DECAY ** (generation - 1)
    moved = generator.integers(K, size=born)
    children[np.arange(born), moved] += generator.normal(0, width, (born, d))
    return np.concatenate([parents, np.clip(children, -1, 1)])
