"""Zhang, Liu, Wang 2018: what the paper says, and what comes out."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from dpviz.papers.lab import Floats, Lab, Measured, averaged, gap, largest, least, titled
from dpviz.papers.row import (
    Check,
    Kind,
    Link,
    Paper,
    Row,
    at_least,
    at_most,
    nothing_differs,
    number,
    private,
)

PAPER = Paper(
    number="004",
    short="Zhang 2018",
    authors="Y. Zhang, N. Liu, S. Wang",
    year=2018,
    title="A differential privacy protecting K-means clustering algorithm based on contour "
    "coefficients",
    venue="PLOS ONE, 2018",
    note=(
        "Our copy of the paper has neither its formulas nor its table nor the numbers of its "
        "figures. Blood, Gamma and Abalone are at hand; links open our own sets in their place."
    ),
)

BASE, CONTOUR = "dpkmeans_mapreduce", "contour"
SMALL, LARGE = (0.1, 0.25, 0.5), (2.0, 3.0)
DRAWS = 100

_LOST = "Our copy of the paper lost the formula."
_UNMEASURED = "No distributed run is measured yet."


def explorer(method: str = CONTOUR, **more: str) -> Link:
    """Link to the explorer with the settings of the paper."""
    query = {"data": "incomes", "k": "2", "method": method, "variant": "published"}
    return Link("kmeans", {**query, "epsilon": "0.5", **more})


_FIGURE = Link("compare", {"preset": "004-4"})


def row(name: str, place: str, kind: Kind, what: str, printed: str, **more: Any) -> Row:
    """Row of this paper."""
    return Row(name=f"004-{name}", place=place, kind=kind, what=what, printed=printed, **more)


# -- definitions --------------------------------------------------------------------------------


def sensitivity(lab: Lab) -> Measured:
    """Sensitivity of counts and sums that the noise is for, in 4 columns."""
    trial = lab.trial("blood", BASE)
    return Measured(value=_space(trial).sensitivity, how="Blood, 4 columns")


def _space(trial: Any) -> Any:
    """Space in which a trial computes."""
    from dpviz.kmeans.lloyd import space_of

    return space_of(trial.material, trial.config)


def noise_ratio(lab: Lab) -> Measured:
    """Mean noise at the larger of two neighbouring epsilons over that at the smaller, at most."""
    from dpviz.noise_source import SeededNoise

    draws = lab.limited(10)
    epsilons = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
    sizes = [
        np.mean([abs(SeededNoise(seed).laplace("x", 1 / one, ())) for seed in range(draws)])
        for one in epsilons
    ]
    ratios = [after / before for before, after in pairwise(sizes)]
    return Measured(value=float(max(ratios)), how=f"Lap(1/ε), ε from 0.1 to 5, {draws} draws each")


def plain_contour(lab: Lab) -> Measured:
    """Cases in which S_k is not the mean of (b - a) / max(a, b) with distances to centres."""
    from dpviz.kmeans.passes import simplified_silhouettes

    wrong = 0
    for seed in range(50):
        generator = np.random.default_rng(seed)
        points, centers = generator.random((40, 3)), generator.random((4, 3))
        apart = np.linalg.norm(points[:, None] - centers[None], axis=2)
        owner, ordered = apart.argmin(axis=1), np.sort(apart, axis=1)
        a, b = ordered[:, 0], ordered[:, 1]
        each = (b - a) / np.maximum(a, b)
        plain = [each[owner == k].mean() if (owner == k).any() else 0.0 for k in range(4)]
        wrong += not np.allclose(simplified_silhouettes(points, centers), plain)
    return Measured(value=wrong, how="50 random sets")


def contour_range(lab: Lab) -> Measured:
    """Largest size of a contour coefficient."""
    from dpviz.kmeans.passes import simplified_silhouettes

    most = 0.0
    for seed in range(50):
        generator = np.random.default_rng(seed)
        found = simplified_silhouettes(generator.random((40, 3)), generator.random((4, 3)))
        most = max(most, float(np.abs(found).max()))
    return Measured(value=most, how="50 random sets")


def plain_f(lab: Lab) -> Measured:
    """Cases in which F is not the weighted harmonic mean of the clusters of a best matching."""
    from itertools import permutations

    from dpviz.metrics.centers import matched_f_measure

    wrong = 0
    for seed in range(60):
        table = np.random.default_rng(seed).integers(0, 9, (3, 3)) + 1
        sizes, found = table.sum(axis=1), table.sum(axis=0)
        common = {order: sum(table[range(3), order]) for order in permutations(range(3))}
        plain = []
        for order in (one for one, sum_ in common.items() if sum_ == max(common.values())):
            total = 0.0
            for i, j in enumerate(order):
                precision, recall = table[i, j] / found[j], table[i, j] / sizes[i]
                total += sizes[i] / sizes.sum() * 2 * precision * recall / (precision + recall)
            plain.append(total)
        wrong += not np.isclose(plain, matched_f_measure(table)).any()
    return Measured(value=wrong, how="60 random tables, all matchings")


# -- the steps ----------------------------------------------------------------------------------


def scaled_range(lab: Lab) -> Measured:
    """Largest distance of a scaled record from [0, 1]^d."""
    trial = lab.trial("blood", CONTOUR)
    scaled = trial.material.scaled(_space(trial))
    return Measured(value=float(np.maximum(-scaled, scaled - 1).max().clip(0)), how="Blood")


def plain_start(lab: Lab) -> Measured:
    """Coordinates of starting centres that are not noisy sum over noisy count of equal parts.

    Without noise, the start is the mean of each of K parts of the list.
    """
    from dpviz.kmeans.truth import run_kmeans
    from dpviz.noise_source import SeededNoise, Silenced

    trial = lab.trial("gamma", BASE)
    run = run_kmeans(trial.material, trial.config, Silenced(SeededNoise(0)))
    points = trial.material.points
    halves = np.array([part.mean(axis=0) for part in np.array_split(points, trial.config.clusters)])
    if run.start is None:
        raise ValueError("the run has no start")
    wrong = ~np.isclose(np.sort(run.start, axis=0), np.sort(halves, axis=0))
    return Measured(value=float(wrong.sum()), how="Gamma, K 2, 10 columns, noise silenced")


def chunked(lab: Lab) -> Measured:
    """Largest difference of sums of chunks, added up, from those of the whole."""
    from dpviz.kmeans.passes import cluster_sums

    points = np.random.default_rng(0).random((5000, 4))
    centers = np.random.default_rng(1).random((5, 4))
    whole = cluster_sums(points, centers)
    parts = [cluster_sums(part, centers) for part in np.array_split(points, 7)]
    off = [
        np.abs(sum(one.counts for one in parts) - whole.counts).max(),
        np.abs(sum(one.sums for one in parts) - whole.sums).max(),
    ]
    return Measured(value=float(max(off)), how="5,000 random records in 7 chunks")


def budget_share(step: int, lab: Lab) -> Measured:
    """Share of epsilon that a step gets."""
    from dpviz.kmeans.schedule import budgets

    return Measured(value=budgets("halving", 1.0, 10)[step - 1], how="schedule halving")


def cluster_share(lab: Lab) -> Measured:
    """Largest budget of a cluster over that of its iteration."""
    from dpviz.kmeans.methods.contour import by_contour

    most = 0.0
    for seed in range(50):
        generator = np.random.default_rng(seed)
        rule = by_contour(generator.random((60, 3)), None)
        most = max(most, float(rule(generator.random((4, 3)), 1.0).max()))
    return Measured(value=most, how="50 random sets")


def order_of_budgets(lab: Lab) -> Measured:
    """Cases in which a cluster of higher S_k gets a smaller budget."""
    from dpviz.kmeans.methods.contour import by_contour
    from dpviz.kmeans.passes import simplified_silhouettes

    wrong = 0
    for seed in range(50):
        generator = np.random.default_rng(seed)
        points, centers = generator.random((60, 3)), generator.random((4, 3))
        order = np.argsort(simplified_silhouettes(points, centers))
        wrong += bool((np.diff(by_contour(points, None)(centers, 1.0)[order]) < -1e-12).any())
    return Measured(value=wrong, how="50 random sets")


def kept_centres(lab: Lab) -> Measured:
    """Share of the centre updates that are not the quotient of noisy sum and noisy count."""
    trial = lab.trial("blood", CONTOUR, 0.5)
    found = [
        np.mean([one.kept.mean() for one in trial.draw(seed).iterations])
        for seed in range(lab.limited(DRAWS))
    ]
    return averaged(found, "Blood, K 2, ε 0.5")


def threshold(lab: Lab) -> Measured:
    """Movement of the centres below which the iteration ends."""
    from dpviz.kmeans.methods.dpkmeans_mapreduce import THRESHOLD

    return Measured(value=THRESHOLD, how="dpkmeans_mapreduce.THRESHOLD")


def most_iterations(lab: Lab) -> Measured:
    """Default limit of the number of iterations as published."""
    return Measured(value=lab.trial("blood", CONTOUR).config.iterations, how="default as published")


# -- figures ------------------------------------------------------------------------------------


def agreement(data: str, method: str, epsilon: float, lab: Lab) -> Floats:
    """F-measure against the method without noise, of each draw."""
    return lab.scores(data, method, "zhang_f", lab.limited(DRAWS), epsilon=epsilon)


def base_rises(lab: Lab) -> Measured:
    """F of DP-Kmeans at epsilon 4 minus that at 0.5, the smaller of two sets."""
    return least(
        gap(
            agreement(data, BASE, 0.5, lab),
            agreement(data, BASE, 4.0, lab),
            f"{titled(data)}, ε 4 against 0.5",
        )
        for data in ("blood", "gamma")
    )


def high_above(lab: Lab) -> Measured:
    """Smallest F of DP-Kmeans at epsilon 4."""
    return least(
        averaged(agreement(data, BASE, 4.0, lab), f"{titled(data)}, ε 4")
        for data in ("blood", "gamma")
    )


def lead(data: str, epsilons: tuple[float, ...], lab: Lab) -> Measured:
    """Lead of contour in F averaged over some epsilons, draw by draw with the same seeds."""
    leads = [
        agreement(data, CONTOUR, epsilon, lab) - agreement(data, BASE, epsilon, lab)
        for epsilon in epsilons
    ]
    said = ", ".join(f"{one:g}" for one in epsilons)
    return averaged(np.mean(leads, axis=0), f"{titled(data)}, mean over ε {said}")


def best_large(lab: Lab) -> Measured:
    """Largest lead of contour where epsilon is large."""
    return largest(lead(data, LARGE, lab) for data in ("blood", "gamma"))


def fewer_iterations(lab: Lab) -> Measured:
    """Iterations of contour minus those of DP-Kmeans with at most ten, on Gamma."""
    draws = lab.limited(20)
    counts = []
    for method in (BASE, CONTOUR):
        trial = lab.trial("gamma", method, 0.5, iterations=10)
        counts.append(
            np.array([len(trial.draw(seed).iterations) for seed in range(draws)], dtype=float)
        )
    return gap(counts[0], counts[1], "Gamma, at most 10 iterations, ε 0.5")


def fact(data: str, what: str, lab: Lab) -> Measured:
    """Records of a set."""
    return Measured(value=float(lab.data(data).dataset.n), how=titled(data))


def repeats(lab: Lab) -> Measured:
    """Draws of the preset."""
    from dpviz.experiments.presets import PRESETS

    return Measured(value=float(PRESETS["004-4"].repeats), how="preset 004-4")


# -- the table ---------------------------------------------------------------------------------

_BASE = "dpviz.kmeans.methods.dpkmeans_mapreduce"
_CONTOUR = "dpviz.kmeans.methods.contour"
_PASSES = "dpviz.kmeans.passes"

ROWS: tuple[Row, ...] = (
    row(
        "dp", "Definition 1, eq. 1", "definition", "ε-differential privacy", "An image",
        where="dpviz.audit.bounds.lower_bound", link=Link("audit"), declared="not possible",
        why=_LOST,
    ),
    row(
        "sensitivity", "Definition 2, privacy analysis", "number", "Sensitivity of count and sum",
        "d + 1: 5 on Blood", where="dpviz.kmeans.space.Space.sensitivity", link=explorer(),
        check=number(5, sensitivity),
    ),
    row(
        "fig1", "Definition 3, figure 1", "figure", "Noise over ε, sensitivity 1",
        "Falls as ε grows, mean of 10 draws",
        where="dpviz.privacy.mechanisms.Accountant.laplace", link=explorer(BASE),
        check=at_most(1.0, noise_ratio, "{value:.2f} times that of the next smaller ε, at most"),
    ),
    row(
        "sequential", "characteristic 1", "definition", "Sequential composition",
        "Budgets add up: the last of ten iterations has ε/512 left",
        where="dpviz.privacy.ledger.Ledger", link=explorer(schedule="halving"),
        check=number(1 / 512, partial(budget_share, 10)),
    ),
    row(
        "parallel", "characteristic 2", "definition", "Parallel composition over clusters",
        "The largest budget counts, at most that of the iteration",
        where="dpviz.privacy.mechanisms.Accountant.laplace_disjoint", link=explorer(),
        check=at_most(1.0, cluster_share, "{value:.3f} of it at most"),
    ),
    row(
        "base-start", "DP-Kmeans, step 1", "algorithm", "DP-Kmeans: starting centres",
        "Means of equal parts of the list", where=f"{_BASE}.run", link=explorer(BASE),
        check=nothing_differs(plain_start, "20"),
    ),
    row(
        "base-map", "DP-Kmeans, step 2", "algorithm", "DP-Kmeans: map and reduce",
        "Counts and sums of chunks, added up", where=f"{_PASSES}.cluster_sums",
        link=explorer(BASE), check=at_most(1e-9, chunked, "off by at most {value:.1g}"),
    ),
    row(
        "base-stop", "DP-Kmeans, step 4", "algorithm", "DP-Kmeans: end",
        "Movement below a given threshold", where=f"{_BASE}.resting", link=explorer(BASE),
        check=number(1.0, threshold),
    ),
    row(
        "base-private", "DP-Kmeans", "theorem", "DP-Kmeans is ε-private, as printed",
        "Loss of at most ε (claim 1)", where=f"{_BASE}.CARD",
        link=Link("audit", {"method": BASE, "variant": "published"}),
        check=private(BASE, "published", "shifted-list", 5000),
        why="The starting sets are cut from the list in order, so one record more moves the "
        "borders of all of them.",
    ),
    row(
        "contour", "eq. 4, 5", "definition", "Contour coefficient, in O(n)",
        "From distances to the own and the next centre",
        where=f"{_PASSES}.simplified_silhouettes", link=explorer(),
        check=nothing_differs(plain_contour, "50"),
    ),
    row(
        "contour-formula", "eq. 4", "definition", "Contour coefficient, formula", "An image",
        where=f"{_PASSES}.simplified_silhouettes", link=explorer(), declared="not possible",
        why=f"{_LOST} The form above is the usual one for the a and b that its text defines.",
    ),
    row(
        "contour-range", "after eq. 4", "number", "Size of a contour coefficient",
        "In [-1, 1]", where=f"{_PASSES}.simplified_silhouettes", link=explorer(),
        check=at_most(1.0, contour_range, "{value:.2f} at most"),
    ),
    row(
        "step1", "step 1", "algorithm", "Normalise to [0, 1]^d", "No record outside",
        where="dpviz.kmeans.space.Space.scale", link=explorer(geometry="cube"),
        check=at_most(0.0, scaled_range, "outside by at most {value:.1g}"),
    ),
    row(
        "step2", "steps 2, 3", "algorithm", "K equal parts of the list, noisy means",
        "Noisy sum over noisy count of each part", where="dpviz.kmeans.lloyd.lloyd",
        link=explorer(start="partition"), check=nothing_differs(plain_start, "20"),
    ),
    row(
        "step3-budget", "step 3", "algorithm", "Budget of the starting centres", "Not said",
        where="dpviz.kmeans.schedule.budgets", link=explorer(start="partition"),
        declared="differs",
        why="The paper adds noise there but gives it no budget; we take the first half of ε.",
    ),
    row(
        "step4", "steps 4, 5", "algorithm", "Map and reduce",
        "Counts and sums of M pieces, added up", where=f"{_PASSES}.cluster_sums", link=explorer(),
        check=at_most(1e-9, chunked, "off by at most {value:.1g}"),
    ),
    row(
        "step6", "step 6", "algorithm", "Budget of a cluster, formula", "An image",
        where=f"{_CONTOUR}.by_contour", link=explorer(), declared="not possible",
        why=f"{_LOST} Ours is rebuilt from what its text fixes.",
    ),
    row(
        "step6-order", "step 6", "algorithm", "Budget of a cluster",
        "Less noise where clusters are better", where=f"{_CONTOUR}.by_contour", link=explorer(),
        check=nothing_differs(order_of_budgets, "50"),
    ),
    row(
        "step7", "step 7", "algorithm", "New centre", "Noisy sum over noisy count",
        where="dpviz.kmeans.lloyd.updated_centers", link=explorer(),
        check=at_most(0.0, kept_centres, "{value:.0%} of the centres stay where they were"),
        why="A centre stays where the noisy count is not positive or the quotient lies outside "
        "the domain.",
    ),
    row(
        "step8", "step 8", "algorithm", "End: movement", "Below 1",
        where=f"{_BASE}.resting", link=explorer(), check=number(1.0, threshold),
    ),
    row(
        "step8-most", "end condition", "setting", "End: most iterations", "10",
        where=f"{_CONTOUR}.CARD", link=explorer(t="10"), check=number(10, most_iterations),
        why="Halving leaves next to nothing for late iterations, so the default is 3.",
    ),
    row(
        "rule", "step 8", "algorithm", "What is left after an early end", "Not said",
        where="dpviz.kmeans.lloyd.lloyd", link=explorer(), declared="differs",
        why="The paper leaves the rest of the budget unused; we spend it on one last iteration.",
    ),
    row(
        "halving", "privacy analysis", "setting", "Budget of the second step",
        "Each takes half of what is left: ε/4",
        where="dpviz.kmeans.schedule.budgets", link=explorer(schedule="halving"),
        check=number(0.25, partial(budget_share, 2)),
    ),
    row(
        "private", "privacy analysis", "theorem", "The algorithm is ε-private, as printed",
        "Loss of at most ε (claim 1)", where=f"{_CONTOUR}.CARD",
        link=Link("audit", {"method": CONTOUR, "variant": "published"}),
        check=private(CONTOUR, "published", "lonely-record", 5000),
        why="Contour coefficients are read off the raw records, so the size of the noise tells "
        "about them.",
    ),
    row(
        "private-sound", "privacy analysis", "theorem", "The algorithm is ε-private, sound",
        "Loss of at most ε (claim 1)", where=f"{_CONTOUR}.CARD",
        link=Link("audit", {"method": CONTOUR, "variant": "sound"}),
        check=private(CONTOUR, "sound", "lonely-record", 5000),
    ),
    row(
        "complexity", "complexity analysis", "theorem", "Cost of a coefficient",
        "O(n) distances instead of O(n²)", where=f"{_PASSES}.simplified_silhouettes",
        link=explorer(), check=nothing_differs(plain_contour, "50"),
    ),
    *(
        row(
            name, "table 1", "table", f"{name.capitalize()}: records",
            f"{size:,} (public file)", where="dpviz.kmeans.records.Records", link=_FIGURE,
            check=number(size, partial(fact, name, "n"), outcome="{value:,.0f}"),
        )
        for name, size in (("blood", 748), ("gamma", 19_020), ("abalone", 4177))
    ),
    row(
        "table1", "table 1", "table", "Records, columns and clusters", "An image",
        declared="not possible", why="Our copy of the paper lost the table.",
    ),
    row(
        "covtype", "table 1", "table", "Covtype", "An image", declared="not possible",
        why="The set is not at hand.",
    ),
    row(
        "f", "metrics", "definition", "F-measure against no noise",
        "Weighted harmonic mean over matched clusters",
        where="dpviz.metrics.centers.matched_f_measure", link=_FIGURE,
        check=nothing_differs(plain_f, "60"),
    ),
    row(
        "repeats", "metrics", "setting", "Draws of each point", "10",
        where="dpviz.experiments.presets.PRESETS", link=_FIGURE, check=number(10, repeats),
    ),
    row(
        "fig2", "figure 2", "figure", "F of DP-Kmeans above ε 3",
        "Higher than at low ε", where="dpviz.experiments.presets.PRESETS", link=_FIGURE,
        check=at_least(0.0, base_rises, "higher by {value:.2f} at least"),
    ),
    row(
        "fig2-high", "figure 2", "figure", "F of DP-Kmeans at ε 4", "High: above 0.9",
        where="dpviz.experiments.presets.PRESETS", link=_FIGURE,
        check=at_least(0.9, high_above, "{value:.2f} at least"),
    ),
    row(
        "fig3", "figure 3", "figure", "Flow chart", "The steps above in a chart",
        where=f"{_CONTOUR}.run", link=explorer(), declared="not possible",
        why="Our copy has the caption alone; its steps are the rows above.",
    ),
    *(
        row(
            f"fig4-{data}", "figure 4", "figure", f"Lead of contour on {titled(data)}, small ε",
            "Clearly higher F: by 0.05 or more",
            where="dpviz.experiments.presets.PRESETS", link=_FIGURE,
            check=at_least(0.05, partial(lead, data, SMALL), "{value:+.3f} in F"),
            why="No cluster may get more than the iteration's budget, so the rule can only add "
            "noise.",
        )
        for data in ("blood", "gamma")
    ),
    row(
        "fig4-large", "figure 4", "figure", "Lead of contour where ε is large",
        "None: DP-Kmeans is better", where="dpviz.experiments.presets.PRESETS", link=_FIGURE,
        check=at_most(0.0, best_large, "{value:+.3f} in F"),
    ),
    row(
        "iterations", "figure 5", "figure", "Iterations of contour against DP-Kmeans",
        "Fewer", where=f"{_BASE}.resting", link=explorer(t="10"),
        check=Check(
            measure=fewer_iterations, high=-0.5, outcome="{value:+.1f} iterations"
        ),
        why="Both end after the same few iterations, as all centres together soon move by less "
        "than 1.",
    ),
    *(
        row(
            name, place, "figure", what, printed, declared="differs", why=_UNMEASURED,
        )
        for name, place, what, printed in (
            ("fig5", "figure 5", "Time over the number of records", "Grows; contour is faster"),
            ("fig6", "figure 6", "Time over ε, 5 nodes", "Falls as ε grows"),
            ("speedup", "eq. 6", "Acceleration ratio S(m)", "T1/Tm on m nodes"),
            ("fig7", "figure 7", "S(m) over nodes", "Grows with nodes on Gamma and Covtype"),
        )
    ),
)  # fmt: skip
