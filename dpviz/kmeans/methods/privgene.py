"""PrivGene: candidate centres evolve over generations; an exponential mechanism selects them."""

from __future__ import annotations

import math

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.family.card import Card, Variant
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

#: Candidates of a generation, and the number of selected parents.
CANDIDATES, PARENTS = 200, 10

#: Generations of the printed rule: this many records, times epsilon, for each parent and
#: generation; at least so many generations.
PER_GENERATION, FEWEST = 800, 8

#: Standard deviation of a mutation in the first generation, and its factor from one to the next.
MUTATION, DECAY = 0.2, 0.95

_PROOF = (
    "The score of a set is minus its WCSS, up to a number that all sets share: minus the sum, over "
    "the records, of the squared distance to the set beyond that to the nearest candidate set. A "
    "record that joins lowers each score by 0 to R, the most that two candidates can differ for "
    "one record of the box. R is computed from the candidates alone, and these from earlier "
    "choices: for sets v and w, with k the centre of w nearest to a record t, the distances to v "
    "and w differ by at most the maximum over t of |t - v_k|^2 - |t - w_k|^2, so by at most the "
    "largest of these over k, and never by more than the largest distance to the nearest centre. "
    "All choices are exponential mechanisms of sensitivity R, without replacement, and their "
    "budgets add up to epsilon."
)

_RULE = (
    "The number of generations is computed from the true number of records: one that comes or goes "
    "(also a replaced one that leaves the domain or lacks a value) can add or take one, which the "
    "steps of the run show. Lee, Kifer print no number; the rule is that of Zhang et al. as a "
    "public implementation has it."
)

#: Rough time of a draw on 30,000 records.
SECONDS = 0.25

CARD = Card(
    name="privgene",
    family="kmeans",
    title="PrivGene",
    estimator="PrivGene",
    summary=(
        "A genetic algorithm: from random candidate sets of K centres the enhanced exponential "
        "mechanism selects ten by their WCSS; crossover and shrinking mutations of them make the "
        "next generation. T is the number of generations."
    ),
    paper="Zhang J., Xiao, Yang, Zhang, Winslett 2013; as in Lee, Kifer 2016",
    algorithm="PrivGene",
    origin="002",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=_PROOF + " Scores only fall when a record joins, so half the usual noise "
            "suffices. The number of generations is chosen.",
        ),
        Variant(name="published", private=False, reason=_RULE),
    ),
    parameters=takes("privgene"),
    deviations=(
        f"{CANDIDATES} candidates, {PARENTS} parents, N epsilon / 8,000 generations, selection "
        "without replacement, and mutations that shrink by 5% a generation are those of a public "
        "implementation; the original text was not at hand. That there are at least 8 generations "
        "is our reading (that implementation: 2). As published, T caps their number; when sound, T "
        "is the number itself.",
        "Our reading: a child takes its first centres from one parent and the others from a second "
        f"one; one of its centres then moves by normal noise, {MUTATION:g} wide at first (the box "
        "is 2 wide; that implementation: 0.1). Parents stay among the candidates, as Lee and Kifer "
        "describe it; there they don't.",
        "Enhanced exponential mechanism: its sensitivity R is an upper bound on how much two "
        "candidates can differ for one record. It shrinks as the candidates grow alike. As "
        "published, with the usual factor 2.",
        "Squared distances are cut to multiples of 2^-20, so that their sum is exact.",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Breed centres under the enhanced exponential mechanism (Zhang et al. 2013)."""
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
        # The bound on the lattice: rounding down and computing R may each add a unit.
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
            # Without replacement: each choice is a separate mechanism over the remaining ones.
            scores[pick] = -np.inf
        if not last:
            candidates = _offspring(np.array(chosen), number, generator)
    run = KMeansRun(config=config, centers=chosen[0], ledger=accountant.ledger)
    return restored(run, space)


def printed_generations(size: float, epsilon: float) -> int:
    """Return the printed number of generations for a number of records."""
    return max(FEWEST, int(size * epsilon / (PER_GENERATION * PARENTS)))


def difference(candidates: Floats) -> float:
    """Upper bound R on how much squared distances of one record to two candidates can differ.

    Candidates are sets of centres in the box [-1, 1]^d, shape (m, K, d).

    Notes
    -----
    With k the centre of w nearest to t, D(t, v) - D(t, w) <= |t - v_k|^2 - |t - w_k|^2, which is
    linear in t and largest in a corner of the box: the sum over the axes of
    v^2 - w^2 + 2 |v - w|. And D(t, v) is at most the squared distance of the farthest corner to
    the centre of v that is nearest to its own farthest corner.
    """
    farthest = ((1 + np.abs(candidates)) ** 2).sum(axis=2).min(axis=1)
    return float(loops().difference(candidates, farthest))


def _offspring(parents: Floats, generation: int, generator: np.random.Generator) -> Floats:
    """Parents and their offspring, shape (CANDIDATES, K, d): crossover, then mutation."""
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
