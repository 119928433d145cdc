"""EUGkM: k-means on the noisy counts of a uniform grid."""

from __future__ import annotations

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.family.card import Card, Variant
from dpviz.family.parameter import PRIVATE
from dpviz.kmeans.choose_clusters import USUAL, choose_clusters
from dpviz.kmeans.grid import NoisyGrid, noisy_grid
from dpviz.kmeans.lloyd import restored
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.passes import assigned
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import spread, utility_plus
from dpviz.privacy.mechanisms import Accountant

#: Largest number of iterations, and smallest change of the movement, in the program of Su et al.
STEPS, SETTLED = 101, 1e-6

TRUE_SIZE = (
    "The number of cells is computed from the true number of records. One record more or less "
    "(also a replaced record that leaves the domain or lacks a value) can change the grid, which "
    "is public."
)

CELLS = (
    "Cells have 3 records per unit of 1/epsilon in the sound variant, and 10 in the published "
    "variant: with the sound search NICV on S1 (K 15, epsilon 0.1) is 1.1 times the true NICV with "
    "3 records, and 2.2 times the true NICV with 10 records. An axis has at least 2 cells. Sound: "
    "all axes have the same number of cells, and there are at least K cells. Published: axes are "
    "rounded as in the program of Su et al., the first axes up, the other axes down."
)

REFINED = (
    "The refined rule for the cells (arXiv 2603.26963) is an option. This rule chooses the number "
    "m of cells per axis that minimizes N / (3 m^2) + 2 sqrt(N / 3) / (m K^(1/d)) + sqrt(2) "
    "m^(d/2) / (epsilon K^(2/d)). On 34 sets of two and three columns, at epsilon 0.05, 0.1, 0.25, "
    "0.5, 1, 2, the geometric mean of NICV / true is 1.41, 1.29, 1.15, 1.08, 1.04, 1.02 with this "
    "rule and 1.44, 1.26, 1.17, 1.09, 1.06, 1.05 without this rule (medians of 10 draws, on Birch3 "
    "of 5 draws). The rule is not better everywhere: at epsilon 0.1 it is worse by more than 1% on "
    "13 of these sets, and on Birch3 (K 100) it is worse up to epsilon 0.5."
)

CHOICE = (
    "Ours: K can be chosen privately. Only the noisy counts are read, so this choice costs no "
    "further epsilon. The chosen K has the largest sum of two silhouettes: the mean over all "
    "records and the mean over the worst cluster. Candidates are the K from 2 to 40 at which the "
    "noisy count around each centre exceeds 0 by 3 standard deviations of its noise. On 46 sets of "
    "2 to 10 columns the chosen K reaches 0.98, 0.99, 0.99 of the best possible silhouette at "
    "epsilon 0.5, 1, 2 (the number of classes reaches 0.93, 0.94, 0.94), and 0.77, 0.80, 0.80 of "
    "the best possible ARI with classes. K is the number of classes in a third of the draws; the "
    "median difference is 1. The method never reports that there are no clusters: in uniform noise "
    "it finds 4."
)

RESTARTS = (
    "Sound: k-means on the cells moves its least useful centre (Hu et al., Algorithm 3), because a "
    "simple run often ends with two clusters joined. Published: there is one run from one start, "
    "as in the program of Su et al. (github.com/DongSuIBM/PrivKmeans). On S1 (K 15), the mean NICV "
    "/ true at epsilon 0.1 and 1 is 3.7 and 1.8 in the published variant (Su et al. have 1.81 at "
    "epsilon 1), and 2.1 and 1.01 with the sound search on the same cells."
)

PLACED = (
    "Published: starting centres are placed as in that program, at some distance from each other "
    "and from the corners of the box; the paper says from the border of the box. With the largest "
    "possible distance, as in DPLloyd, NICV / true is 3.2 and 1.6. A centre without cells moves to "
    "the middle of the box."
)

CARD = Card(
    name="eugkm",
    family="kmeans",
    title="EUGkM",
    estimator="EUGkM",
    summary=(
        "Releases noisy counts of a uniform grid once, then runs k-means on the cell centres, "
        "weighted by the noisy counts. The grid has (N epsilon / c)^(2d / (2 + d)) cells, where c "
        "is 3 (the paper prints 10)."
    ),
    paper="Su, Cao, Li, Bertino, Jin 2016; as in Lee, Kifer 2016",
    algorithm="EUGkM",
    origin="002",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=(
                "Two Laplace mechanisms of sensitivity 1 release the number of records (2% of "
                "epsilon), which determines the grid, and the counts of the grid's cells (98%). "
                "Everything else is computed from the outputs of both."
            ),
        ),
        Variant(name="published", private=False, reason=TRUE_SIZE),
    ),
    parameters=takes("eugkm"),
    deviations=(
        CELLS,
        "Sound: noisy counts are moved to the nearest non-negative counts with the noisy total, "
        "because otherwise the positive noise in empty cells would weigh as much as the data. "
        "Published: noisy counts are used unchanged, also negative counts; the view shows negative "
        "counts as 0.",
        RESTARTS,
        PLACED,
        REFINED,
        CHOICE,
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Run k-means on a noisy grid (Su et al., EUGkM); choose K from the grid if configured."""
    clusters = USUAL if config.choose == PRIVATE else config.clusters
    grid = noisy_grid(
        records,
        accountant,
        step="cells",
        epsilon=config.epsilon,
        clusters=clusters,
        variant=config.variant,
        cells=config.cells or "su",
    )
    return from_grid(grid, records, config, accountant)


def from_grid(
    grid: NoisyGrid, records: Records, config: KMeansConfig, accountant: Accountant
) -> KMeansRun:
    """Return a run of k-means on a noisy grid; choose K from the grid if configured."""
    choice, K = None, config.clusters
    if config.choose == PRIVATE:
        seed = int(accountant.noise.generator("choice").integers(2**31))
        choice = choose_clusters(grid.points, seed)
        K = choice.clusters
    centers = grid_centers(grid, K, config, accountant.noise.generator("restarts"))
    run = KMeansRun(config=config, centers=centers, ledger=accountant.ledger, grid=grid)
    return restored(run.with_choice(choice), Space(records.domain))


def grid_centers(
    grid: NoisyGrid, clusters: int, config: KMeansConfig, generator: np.random.Generator
) -> Floats:
    """Centres (K, d) of k-means on a noisy grid, in scaled coordinates."""
    if config.variant == "sound":
        return utility_plus(*grid.places(), clusters, generator)
    start = spread(clusters, grid.ndim, generator)
    if len(grid.counts) > grid.most_places:
        return printed_kmeans(*grid.places(), start)
    return printed_kmeans(grid.centers, grid.counts, start)


def printed_kmeans(places: Floats, counts: Floats, centers: Floats) -> Floats:
    """Move centres (K, d) to the means of their places (m, d), weighted by counts of any sign.

    A mean is clipped to the box; a centre without places moves to the middle. The program of Su,
    Cao, Li, Bertino, Jin 2016 (github.com/DongSuIBM/PrivKmeans) returns the centres before the last
    movement.
    """
    before, movement, last = centers, float(((centers + 1) ** 2).sum()), np.inf
    steps = 0
    while abs(last - movement) >= SETTLED and steps < STEPS:
        before, last = centers, movement
        labels, _ = assigned(places, before)
        totals = np.bincount(labels, counts, len(before))
        sums = [np.bincount(labels, counts * axis, len(before)) for axis in places.T]
        means = np.stack(sums, axis=1) / np.where(totals, totals, np.inf)[:, None]
        centers = np.clip(means, -1, 1)
        movement = float(((centers - before) ** 2).sum())
        steps += 1
    return before
