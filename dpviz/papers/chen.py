"""Chen, Yu, Chirkova 2015: what the paper says, and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dpviz.papers.chen_measures import (
    CURVE,
    EPSILONS,
    FROM_HALF,
    HELD_OUT,
    MANY,
    OMEGA,
    OURS,
    TECHNIQUES,
    THEIRS,
    TITLES,
    above_threshold,
    below,
    best_alpha,
    beyond_list,
    bound,
    changed,
    correlated,
    covered,
    drawn_places,
    drawn_ranks,
    empty_turned_positive,
    expected_rise,
    extreme,
    folds,
    foretold,
    gamma_over_beta,
    half_noise,
    high_f,
    joined_by_one,
    largest_error,
    learned_alone,
    least_error,
    least_left,
    mean_error,
    mean_rank,
    merged,
    more_off,
    more_pairs,
    most_lost,
    noise_scale,
    ocm_over_two_ce,
    off,
    plain_dsg_c,
    plain_ocm,
    plain_two_ce,
    plain_wavecluster,
    preset_fact,
    printed_algorithm,
    rank_sensitivity,
    resilience,
    rise,
    separated,
    setting,
    spent,
    stages_shown,
    theta_of_half,
    true_number,
    worked_distance,
)
from dpviz.papers.lab import Measured, largest, least
from dpviz.papers.row import (
    Check,
    Kind,
    Link,
    Measure,
    Paper,
    Row,
    at_least,
    at_most,
    nothing_differs,
    number,
    private,
)

PAPER = Paper(
    number="000",
    short="Chen 2015",
    authors="L. Chen, T. Yu, R. Chirkova",
    year=2015,
    title="WaveCluster with Differential Privacy",
    venue="CIKM 2015",
    note=(
        "Links open our own look-alikes of DS1 (fifteen Gaussians), DS2 (three spirals) and DS3 "
        "(five shapes): the sets of the paper may not be distributed. The numbers here are "
        "measured on the sets of the paper."
    ),
)


_LIKE = {
    "ds1": {"data": "gaussians", "g": "64", "p": "0.58"},
    "ds2": {"data": "spirals", "g": "40", "p": "0.1"},
    "ds3": {"data": "shapes", "g": "36", "p": "0.23"},
}
_GOWALLA = "The sample of one million check-ins that the paper drew is not public."
_LOWER = (
    "Ours disagree less than theirs. A classifier of significant cells alone, as printed, makes it "
    "lower still; whether pruned trees or other roundings add the rest, the text does not tell."
)
_CENTRES = (
    "The paper does not say where in a leaf the points lie. Ours are uniform; at the leaf's centre "
)
_WIDE = (
    "PrivTHREM has 0.03 for its threshold, which then falls anywhere in the list; PrivTHR keeps "
    "the lead."
)
_RANGE = (
    "The paper reads the range of the grid off the data, so one far record moves every cell; "
    "under a declared domain the claim holds."
)


def explorer(data: str = "ds2", method: str = "privthr", epsilon: str = "1", **more: str) -> Link:
    """Link to the explorer, on the look-alike of a data set."""
    query = {"method": method, "variant": "published", "epsilon": epsilon, **_LIKE[data], **more}
    return Link("wavecluster", query)


def figure(number: int, score: str, data: str = "") -> Link:
    """Link to a figure of the paper on the compare page."""
    query = {"preset": f"000-{number}", "score": score}
    return Link("compare", query | ({"data": _LIKE[data]["data"]} if data else {}))


def audited(method: str, variant: str = "published") -> Link:
    """Link to the audit of a method."""
    return Link("audit", {"method": method, "variant": variant})


def row(name: str, place: str, kind: Kind, what: str, printed: str, **more: Any) -> Row:
    """Row of this paper."""
    return Row(name=f"000-{name}", place=place, kind=kind, what=what, printed=printed, **more)


# -- the table ---------------------------------------------------------------------------------


def _algorithms() -> tuple[Row, ...]:
    methods = "dpviz.wavecluster.methods"
    return (
        row(
            "quantize", "section 3.2", "definition", "WaveCluster: four steps",
            "Counts, average subband, significant cells, connected components",
            where="dpviz.wavecluster.pipeline.cluster",
            link=explorer(method="wavecluster", view="overview"),
            check=nothing_differs(plain_wavecluster, "3"),
        ),
        row(
            "greater", "section 4.1", "definition", "Which values are significant",
            "Those greater than d', the k'-th largest: on DS2 that is to be k = 144 cells",
            where="dpviz.wavecluster.threshold.significant_cells",
            link=explorer(method="wavecluster", view="significant"),
            check=number(144, above_threshold, outcome="{value:.0f} cells are greater"),
            why="Taken literally the k-th cell and its equals fall out; we take those from d' up, "
            "as the top k of section 3.2.",
        ),
        row(
            "alg1", "Algorithm 1", "algorithm", "Baseline",
            "WaveCluster on points drawn from a private synopsis",
            where=f"{methods}.baseline.run",
            link=explorer(method="baseline"),
            check=nothing_differs(partial(printed_algorithm, "baseline"), "60 runs"),
        ),
        row(
            "alg2", "Algorithm 2", "algorithm", "PrivQT",
            "Laplace noise on every count, then WaveCluster",
            where=f"{methods}.privqt.run",
            link=explorer(method="privqt"),
            check=nothing_differs(partial(printed_algorithm, "privqt"), "60 runs"),
        ),
        row(
            "alg3", "Algorithm 3", "algorithm", "PrivTHR",
            "Half of a noisy number of empty cells is taken off L' before d' is read",
            where=f"{methods}.privthr.run",
            link=explorer(method="privthr", view="threshold"),
            check=nothing_differs(partial(printed_algorithm, "privthr"), "60 runs"),
        ),
        row(
            "alg4", "Algorithm 4", "algorithm", "PrivTHREM: law of k'",
            "k' = i with probability proportional to |Pt_i| exp(-ε|i - k|/2)",
            where=f"{methods}.privthrem.run",
            link=explorer(method="privthrem", view="threshold"),
            check=at_most(4.0, drawn_ranks, "shares at most {value:.2g} standard errors off"),
        ),
        row(
            "alg4-place", "Algorithm 4", "algorithm", "PrivTHREM: d' given k'",
            "Uniform in Pt_k': on average in its middle",
            where="dpviz.privacy.mechanisms.Accountant.interval",
            link=explorer(method="privthrem", view="threshold"),
            check=number(0.5, drawn_places, outcome="{value:.3f} of its length from the top"),
        ),
        row(
            "alg4-lines", "Algorithm 4", "algorithm", "PrivTHREM: clusters given d'",
            "Connected cells of W' greater than d'",
            where=f"{methods}.privthrem.run",
            link=explorer(method="privthrem", view="significant"),
            check=nothing_differs(partial(printed_algorithm, "privthrem"), "60 runs"),
        ),
        row(
            "alpha-thr", "section 7.4", "setting", "PrivTHR: share of the counts",
            "90% of ε", where=f"{methods}.privthr.CARD", link=explorer(alpha="0.9"),
            check=number(0.9, partial(setting, "privthr", "alpha")),
        ),
        row(
            "alpha-em", "section 4.4", "setting", "PrivTHREM: share of the counts",
            "70% of ε", where=f"{methods}.privthrem.CARD",
            link=explorer(method="privthrem", alpha="0.7"),
            check=number(0.7, partial(setting, "privthrem", "alpha")),
        ),
    )  # fmt: skip


def _privacy() -> tuple[Row, ...]:
    methods = "dpviz.wavecluster.methods"
    claims = {
        "theorem1": ("Theorem 1", "PrivQT", "privqt"),
        "theorem2": ("Theorem 2 (5.3)", "PrivTHR", "privthr"),
        "theorem3": ("Theorem 3 (5.5)", "PrivTHREM", "privthrem"),
        "baseline-private": ("section 4.1", "Baseline", "baseline"),
    }
    rows = []
    for name, (place, title, method) in claims.items():
        rows += [
            row(
                name, place, "theorem", f"{title} is ε-private, as printed",
                "Loss of at most ε (claim 1)", where=f"{methods}.{method}.CARD",
                link=audited(method),
                check=private(method, "published", "far-point", 5000, quick=method == "privqt"),
                why=_RANGE,
            ),
            row(
                f"{name}-sound", place, "theorem", f"{title} is ε-private, domain declared",
                "Loss of at most ε (claim 1)", where=f"{methods}.{method}.CARD",
                link=audited(method, "sound"),
                check=private(method, "sound", "far-point", 5000),
            ),
        ]  # fmt: skip
    return (
        row(
            "dp", "Definition 1", "definition", "ε-differential privacy",
            "Chances of any output differ by at most e^ε: half the noise is not enough",
            where="dpviz.audit.bounds.lower_bound", link=Link("audit"),
            check=at_least(
                1.0, half_noise,
                "loss of at least {value:.2f} with half the noise",
            ),
        ),
        row(
            "laplace", "section 3.1", "definition", "Laplace mechanism",
            "Noise of scale Δf/ε, here 1/ε",
            where="dpviz.privacy.mechanisms.Accountant.laplace", link=explorer(method="privqt"),
            check=number(1.0, noise_scale, outcome="{value:.4f}/ε"),
        ),
        row(
            "composition", "section 3.1", "definition", "Sequential composition",
            "Budgets of all steps add up to ε",
            where="dpviz.privacy.ledger.Ledger", link=explorer(),
            check=at_most(1e-9, spent, "off by at most {value:.1g}"),
        ),
        row(
            "sensitivity-z", "section 4.3", "number", "Sensitivity of |Z|, Haar",
            "1", where="dpviz.wavecluster.wavelet.sensitivity", link=explorer(),
            check=number(1, partial(changed, "Z")),
        ),
        row(
            "sensitivity-q", "section 4.4", "number", "Sensitivity of the quality, Haar",
            "1", where="dpviz.wavecluster.wavelet.sensitivity",
            link=explorer(method="privthrem"), check=number(1, partial(changed, "rank")),
        ),
        row(
            "sensitivity-other", "footnotes 1, 2", "definition", "Sensitivity of other wavelets",
            "The larger of the numbers of positive and negative coefficients that a record "
            "touches: 5 for bior2.2",
            where="dpviz.wavecluster.wavelet.sensitivity",
            link=explorer(method="privthrem", wavelet="bior2.2"),
            check=number(5, rank_sensitivity),
            why="The larger of the two numbers is too small for the quality, as the rank k moves "
            "with |L|, too; the sound variant adds that.",
        ),
        row(
            "modified", "section 4.2", "number", "Cells that a modified record changes",
            "At most 1", where="dpviz.privacy.ledger.Neighbours",
            link=Link("audit", {"method": "privqt", "variant": "published"}),
            check=at_most(1, partial(changed, "modified"), "{value:.0f}"),
            why="A modified record leaves one cell and enters another: twice the noise is needed, "
            "or neighbours differ by one record more or less.",
        ),
        row(
            "largest", "section 4.4", "definition", "PrivTHREM draws d' from (0, Max]",
            "Loss of at most ε (claim 1)", where=f"{methods}.privthrem.run",
            link=Link("audit", {
                "method": "privthrem", "variant": "published", "scenario": "largest-cell",
            }),
            check=private("privthrem", "published", "largest-cell", 5000, quick=True),
            why="Max is the largest true value: a threshold that one data set can give is "
            "impossible under its neighbour.",
        ),
        *rows,
    )  # fmt: skip


def _theory() -> tuple[Row, ...]:
    pipeline = "dpviz.wavecluster.pipeline.Run"
    theorems = "dpviz.wavecluster.theorems.k_bounds"
    rows = [
        row(
            "zp", "section 5.2.1", "number", "E|Z'p| on DS2", "|Z|/2 = 120.5",
            where=pipeline, link=explorer(method="privqt", view="average"),
            check=number(120.5, empty_turned_positive, outcome="{value:.1f}"),
        ),
        row(
            "theta-half", "section 5.2.1", "number", "θ/|L| where all of L is 0.5, ε 1",
            "0.43", where=theorems, link=explorer(method="privqt", view="average"),
            check=number(0.43, theta_of_half, outcome="{value:.3f}"),
            why="The paper seems to hold the sum of four draws against 0.5, which gives 0.42; a "
            "coefficient is half that sum, so 1 is to be reached.",
        ),
        row(
            "theta", "section 5.2.1", "number", "θ is small against |L|", "A small constant",
            where=pipeline, link=explorer(method="privqt", view="average"),
            check=at_most(
                0.1, most_lost,
                "{value:.1%} of |L| at most",
            ),
        ),
        row(
            "rise", "section 5.2.1", "number", "E[k' - k] of PrivQT", "(1 - p)(|Z|/2 - θ)",
            where=theorems, link=explorer(method="privqt"),
            check=Check(
                measure=expected_rise, low=-1, high=1,
                outcome="{value:+.2f} from the formula",
            ),
        ),
        row(
            "bound", "section 7.2", "number", "Bound (1 - p)|Z|/2 on DS2", "108.45",
            where=theorems, link=explorer(method="privqt"),
            check=number(
                108.45,
                bound,
            ),
        ),
        row(
            "any-wavelet", "section 5.2.1", "theorem", "η1, η2 hold for any wavelet",
            "|Z'p| is binomial whatever the wavelet: variance over |Z|/4 is 1",
            where="dpviz.wavecluster.wavelet.average_subband",
            link=explorer(method="privqt", wavelet="bior2.2"),
            check=number(1.0, correlated, outcome="{value:.2f}"),
            why="Filters of other wavelets overlap, so the noise of neighbouring coefficients "
            "hangs together.",
        ),
        row(
            "gamma-beta", "section 7.4", "number", "Factor of γ over that of β",
            "Larger than 1, so the counts deserve more budget",
            where="dpviz.wavecluster.methods.privthr.CARD", link=explorer(alpha="0.9"),
            check=at_least(1.0, gamma_over_beta, "{value:.1f}"),
        ),
        row(
            "budget-order", "section 4.3", "setting", "Which share of PrivTHR is the larger one",
            "The counts need less budget than |Z|",
            where="dpviz.wavecluster.methods.privthr.CARD", link=explorer(alpha="0.9"),
            declared="differs",
            why="Section 7.4 says the opposite, and 90% for the counts is what comes out best.",
        ),
    ]  # fmt: skip
    printed = {
        "privqt": ("Theorem 4 (5.7)", "PrivQT", 2),
        "privthr": ("Theorem 5 (5.9)", "PrivTHR", 3),
        "privthrem": ("Theorem 6 (5.11)", "PrivTHREM", 2),
    }
    for method, (place, title, power) in printed.items():
        rows += [
            row(
                f"band-{method}", place, "theorem", f"{title}: k' inside one end, noise below γ/2",
                f"With probability (1 - ω)^{power} = {(1 - OMEGA) ** power:.3f} at least",
                where=theorems, link=figure(5, "k"),
                check=at_least(
                    (1 - OMEGA) ** power, partial(covered, method), "in {value:.1%} of the draws"
                ),
            ),
            row(
                f"cells-{method}", place, "theorem", f"{title}: cells far above or below d'",
                f"In or out with probability (1 - ω)^{power} at least",
                where=theorems, link=explorer(method=method, view="significant"),
                check=at_most(
                    1 - (1 - OMEGA) ** power, partial(separated, method),
                    "wrong in {value:.1%} of the draws",
                ),
            ),
        ]  # fmt: skip
    rows.append(
        row(
            "foretold", "section 5.2.3", "theorem", "Whose k' is the more accurate one",
            "PrivTHREM's where ln(Wk/(Wmax - Wk)) is negative, else PrivTHR's: 3 of 3 sets",
            where=theorems, link=figure(5, "k"),
            check=number(3, foretold, outcome="right on {value:.0f} of 3 sets"),
            why="On DS1 the sign speaks for PrivTHREM, yet k' of PrivTHR scatters less: these are "
            "upper bounds, which need not order what they bound.",
        )
    )  # fmt: skip
    rows.append(
        row(
            "vacuous", "Theorem 6 (5.11)", "theorem", "PrivTHREM: upper end of the band",
            "k'max = k + η2, which tells something only below |L|",
            where=theorems, link=explorer(method="privthrem"),
            check=at_most(1.0, beyond_list, "k'max is {value:.1f} times |L|"),
            why="Its η2 has k itself as a term and η1 has |L| - k, so the band holds but can be "
            "wider than the list at any budget.",
        )
    )  # fmt: skip
    return tuple(rows)


def _measures() -> tuple[Row, ...]:
    matching = "dpviz.metrics.matching"
    return (
        row(
            "distance", "section 6.1", "number", "Distance of {g1,g3,g5} and {g1,g5,g7,g9}", "2",
            where=f"{matching}.dsg_c", link=explorer(), check=number(2, worked_distance),
        ),
        row(
            "dsgc", "section 6.1", "definition", "DSG_C",
            "Least cost of a matching, over the true significant cells",
            where=f"{matching}.dsg_c", link=figure(6, "dsg_c"),
            check=nothing_differs(plain_dsg_c, "100"),
        ),
        row(
            "ocm", "section 6.2", "definition", "OCM", "1 - CT/TT of the best matching of classes",
            where=f"{matching}.ocm", link=figure(8, "ocm"), check=nothing_differs(plain_ocm, "100"),
        ),
        row(
            "2ce", "section 6.2", "definition", "2CE", "Share of inconsistent pairs",
            where=f"{matching}.two_ce", link=figure(8, "two_ce"),
            check=nothing_differs(plain_two_ce, "100"),
        ),
        row(
            "split", "section 6.2", "setting", "Points that are predicted", "10%",
            where="dpviz.wavecluster.heldout.Folds", link=explorer(),
            check=number(0.1, folds, outcome="{value:.1%}, each tenth in turn"),
        ),
        row(
            "classes", "section 6.2", "setting", "What the classifiers learn from",
            "Significant cells alone: every held-out point falls to a cluster",
            where="dpviz.wavecluster.heldout.agreement", link=figure(8, "ocm"),
            check=at_most(0.0, learned_alone, "OCM higher by up to {value:.3f}"),
            why="Ours learn the other cells, too, as a class of noise: else OCM and 2CE would not "
            "see which cells are lost or won. As printed both are lower, in the same order.",
        ),
        row(
            "c45", "section 7.1", "setting", "Classifier of OCM and 2CE", "C4.5",
            where="dpviz.wavecluster.heldout.tree_predictions", link=explorer(),
            declared="differs",
            why="A fully grown tree on cell centres gives each cell its own label, so we look the "
            "label up; pruning as in C4.5 is not built.",
        ),
        row(
            "repeats", "section 7.1", "setting", "Draws of each point", "10",
            where="dpviz.experiments.presets.PRESETS", link=figure(6, "dsg_c"),
            check=number(10, partial(preset_fact, 6, "draws")),
        ),
        row(
            "lowest", "section 7.1", "setting", "Lowest ε", "0.1",
            where="dpviz.experiments.presets.PRESETS", link=figure(6, "dsg_c"),
            check=number(0.1, partial(preset_fact, 6, "low")),
        ),
        row(
            "highest", "section 7.1", "setting", "Highest ε", "2.0",
            where="dpviz.experiments.presets.PRESETS", link=figure(6, "dsg_c"),
            check=number(2.0, partial(preset_fact, 6, "high")),
        ),
        row(
            "level", "section 7.1", "setting", "Wavelet level", "Haar, 1",
            where="dpviz.wavecluster.parameters.Config", link=explorer(wavelet="haar", level="1"),
            check=number(1, partial(setting, "privthr", "level")),
        ),
    )  # fmt: skip


def _true_runs() -> tuple[Row, ...]:
    facts = {
        "ds1": {"n": 30_000, "clusters": 15},
        "ds2": {"n": 31_200, "clusters": 3, "k": 144, "Z": 241},
        "ds3": {"n": 31_520, "clusters": 5},
    }
    words = {"n": "records", "clusters": "clusters", "k": "k", "Z": "|Z|"}
    places = {"n": "section 7.1", "clusters": "figure 4", "k": "section 7.2", "Z": "section 7.2"}
    panels = {"ds1": "a", "ds2": "b", "ds3": "c"}
    rows = [
        row(
            f"{data}-{what.lower()}", f"{places[what]} ({panels[data]})"
            if what == "clusters" else places[what], "figure" if what == "clusters" else "number",
            f"{TITLES[data]}: {words[what]}", f"{value:,}",
            where="dpviz.wavecluster.truth.Truth",
            link=explorer(data, "wavecluster"),
            check=number(value, partial(true_number, data, what), outcome="{value:,.0f}"),
        )
        for data, found in facts.items()
        for what, value in found.items()
    ]  # fmt: skip
    return (
        *rows,
        row(
            "gowalla", "figure 4 (d)", "figure", "Gowalla, g 80, p 31",
            "Clusters of about 1M of 6.4M check-ins", link=Link("wavecluster", {
                "data": "checkins", "method": "wavecluster", "g": "80", "p": "0.31",
            }),
            declared="not possible", why=_GOWALLA,
        ),
    )  # fmt: skip


def _pictures() -> tuple[Row, ...]:
    return (
        row(
            "fig1", "figure 1", "figure", "One person joins two clusters",
            "Without the person 2 clusters, with the person 1",
            where="dpviz.audit.membership.membership_experiment",
            link=Link("audit", {"technique": "privthr-sound"}),
            check=number(1, joined_by_one, outcome="{value:.0f} cluster less with the person"),
        ),
        row(
            "fig2", "figure 2", "figure", "Baseline joins true clusters",
            "Two clusters become one",
            where="dpviz.experiments.illustrations.Picture",
            link=Link("compare", {"preset": "000-2"}),
            check=at_least(0.5, merged, "in {value:.0%} of the draws on DS2"),
        ),
        row(
            "fig3", "figure 3", "figure", "The steps of WaveCluster",
            "Counts, subbands, significant cells, clusters",
            where="dpviz.figures.wavecluster.panels",
            link=explorer(method="wavecluster", view="overview"),
            check=Check(measure=stages_shown, low=0, high=0, outcome="{value:.0f} stages missing"),
        ),
    )  # fmt: skip


def _ranks() -> tuple[Row, ...]:
    """Figure 5 and section 7.2."""
    averages = (
        ("privthr", "1", 141.0, 0.021), ("privthrem", "1", 142.8, 0.008),
        ("baseline", "1", 284.0, 0.972), ("privqt", "1", 249.2, 0.731),
        ("privthr", "0.1", 131.2, 0.089), ("privthrem", "0.1", 82.8, 0.425),
    )  # fmt: skip
    titles = {"privthr": "PrivTHR", "privthrem": "PrivTHREM", "baseline": "Baseline",
              "privqt": "PrivQT"}  # fmt: skip

    rows = []
    for method, epsilon, printed, share in averages:
        draws = CURVE if method == "baseline" else MANY
        rows += [
            row(
                f"k-{method}-{epsilon}", "section 7.2", "number",
                f"k' of {titles[method]} on DS2, ε {epsilon}", f"{printed}",
                where=f"dpviz.wavecluster.methods.{method}.run",
                link=explorer(method=method, epsilon=epsilon),
                check=number(
                    printed,
                    partial(mean_rank, method, float(epsilon), draws),
                    averaged=10, outcome="{value:.1f}",
                ),
                why=(_CENTRES + "k' is 305, still not 284. No constant c from 1 to 10 gives all of "
                     "284, 30 clusters on DS1 and errors from 32.2%.") * (method == "baseline"),
            ),
            row(
                f"share-{method}-{epsilon}", "section 7.2", "number",
                f"Its relative error ({titles[method]}, ε {epsilon})", f"{share:.1%}",
                where="dpviz.experiments.presets.rank_table",
                link=figure(5, "k", "ds2"),
                check=number(share, partial(off, printed), outcome="{value:.1%}"),
            ),
        ]  # fmt: skip
    return (
        *rows,
        row(
            "rise-ds2", "section 7.2", "number", "k' - k of PrivQT on DS2, ε 1", "105.2",
            where="dpviz.wavecluster.methods.privqt.run", link=explorer(method="privqt"),
            check=number(
                105.2,
                rise,
                averaged=10, outcome="{value:.1f}",
            ),
        ),
        row(
            "worst-error", "section 7.2, figure 5", "figure",
            "Mean relative error of k', PrivTHR and PrivTHREM, ε 0.5 up", "Below 4.7%",
            where="dpviz.experiments.presets.rank_table", link=figure(5, "k"),
            check=at_most(0.047, mean_error, "{value:.1%}"),
        ),
        row(
            "worst-error-each", "section 7.2, figure 5", "figure",
            "The same, the largest of all sets and ε", "Below 4.7%",
            where="dpviz.experiments.presets.rank_table", link=figure(5, "k"),
            check=Check(
                measure=partial(largest_error, OURS), high=0.047, averaged=10,
                outcome="{value:.1%}",
            ),
        ),
        row(
            "misprint", "section 7.2", "number", "The techniques with errors below 4.7%",
            "PrivQT and PrivTHREM",
            where="dpviz.experiments.presets.rank_table", link=figure(5, "k"),
            check=at_most(
                0.047, partial(largest_error, ("privqt",)),
                "PrivQT: up to {value:.0%}",
            ),
            why="A slip of the pen: PrivTHR and PrivTHREM are meant, as the next clause shows.",
        ),
        row(
            "range-low", "section 7.2, figure 5", "figure",
            "Least relative error of k', Baseline and PrivQT, ε 0.5 up", "32.2%",
            where="dpviz.experiments.presets.rank_table", link=figure(5, "k"),
            check=number(
                0.322, partial(least_error, THEIRS),
                averaged=10, outcome="{value:.1%}",
            ),
            why="PrivQT has these 32.2%, on DS3. At ε 1.5 our Baseline comes closer there: its "
            "coarse grid then has 18 x 18 cells, those of the subband.",
        ),
        row(
            "range-high", "section 7.2, figure 5", "figure",
            "Largest relative error of k', Baseline and PrivQT, ε 0.5 up", "150.5%",
            where="dpviz.experiments.presets.rank_table", link=figure(5, "k"),
            check=number(
                1.505, partial(largest_error, THEIRS),
                averaged=10, outcome="{value:.1%}",
            ),
            why="With all coefficients positive DS1, DS2 and DS3 would reach 104%, 150.0% and 64%: "
            "150.5% must be of Gowalla, which is not at hand.",
        ),
        row(
            "more-off", "section 7.2", "figure", "k' of PrivTHREM at ε 0.1",
            "Further from k than that of PrivTHR",
            where="dpviz.experiments.presets.rank_table", link=figure(5, "k"),
            check=at_least(0.0, more_off, "further by {value:.1%} of k at least"),
        ),
        row(
            "fig5d", "figure 5 (d)", "figure", "k' on Gowalla", "Curves without numbers",
            declared="not possible", why=_GOWALLA,
        ),
    )  # fmt: skip


def _curves() -> tuple[Row, ...]:
    """Figures 6 to 8 and sections 7.3, 7.4."""
    presets = "dpviz.experiments.presets.PRESETS"
    panels = dict(zip(TITLES, "abc", strict=True))
    later = dict(zip(TITLES, "efg", strict=True))

    def lead(score: str, data: str, epsilons: tuple[float, ...], draws: int) -> Check:
        return at_least(
            0.0, partial(below, score, data, epsilons, draws), "lead of {value:+.3f} at least"
        )

    rows = [
        row(
            f"fig6-{data}{name}", f"figure 6 ({panels[data]})", "figure",
            f"DSG_C on {title}, {words}",
            "PrivTHR and PrivTHREM below Baseline and PrivQT", where=presets,
            link=figure(6, "dsg_c", data), check=lead("dsg_c", data, epsilons, CURVE),
            why=_WIDE if (data, name) == ("ds1", "-low") else "",
        )
        for data, title in TITLES.items()
        for name, words, epsilons in (
            ("-low", "ε 0.1", EPSILONS[:1]), ("", "ε 0.25 to 2", EPSILONS[1:]),
        )
    ]  # fmt: skip
    rows += [
        row(
            f"fig8-{score}-{data}", f"figure 8 ({letters[data]})", "figure", f"{name} on {title}",
            "PrivTHR and PrivTHREM below Baseline and PrivQT, ε 0.5 to 2", where=presets,
            link=figure(8, score, data), check=lead(score, data, FROM_HALF, HELD_OUT),
        )
        for score, name, letters in (("ocm", "OCM", panels), ("two_ce", "2CE", later))
        for data, title in TITLES.items()
    ]  # fmt: skip

    def limit(
        of: Callable[[Any], Measured],
        score: str,
        data: tuple[str, ...],
        methods: tuple[str, ...],
        epsilons: tuple[float, ...],
        draws: int,
    ) -> Measure:
        return partial(extreme, of, score, data, methods, epsilons, draws)

    above_half = (0.75, 1.0, 1.5, 2.0)
    return (
        *rows,
        row(
            "little", "section 7.3", "figure", "What PrivQT gains from more budget",
            "Little: DSG_C at ε 2 is more than half of that at 0.25", where=presets,
            link=figure(6, "dsg_c", "ds2"),
            check=at_least(
                0.5, least_left,
                "{value:.0%} of it is left at least",
            ),
        ),
        row(
            "f-ds1", "figure 7 (a)", "figure", "F-measure of PrivQT and Baseline on DS1, by cells",
            "More than 0.8 at almost all ε (nine of ten)",
            where="dpviz.wavecluster.scores.SCORES", link=figure(7, "f_cells", "ds1"),
            check=at_least(0.9, high_f, "at {value:.0%} of the points"),
        ),
        row(
            "f-ds1-points", "figure 7 (a)", "figure", "The same by points",
            "More than 0.8 at almost all ε", where="dpviz.metrics.matching.f_measure",
            link=explorer("ds1", "baseline", "0.5"),
            check=at_least(0.8, limit(least, "f_measure", ("ds1",), THEIRS, FROM_HALF, CURVE)),
            why="The paper does not say what F counts. Of the readings tried only cells with "
            "noise as a class keep the claim; points, and clusters alone, do not.",
        ),
        *(
            row(
                f"clusters-{method}", "section 7.3", "number",
                f"Clusters of {title} on DS1, ε 0.1", "More than 30 (true: 15)",
                where="dpviz.wavecluster.components.connected_components",
                link=explorer("ds1", method, "0.1"),
                check=at_least(
                    30, limit(least, "clusters", ("ds1",), (method,), (0.1,), CURVE),
                    "{value:.1f}",
                ),
                why=why,
            )
            for method, title, why in (
                ("privqt", "PrivQT", ""),
                ("baseline", "Baseline", _CENTRES + "there are 32, but k' at ε 0.5 is 19% off, not "
                 "32.2% at least. Without inference or rounding, or with a uniform grid: 8 to 10."),
            )
        ),
        row(
            "ocm-low", "section 7.4", "figure", "OCM of PrivTHR, PrivTHREM on DS1, DS3, ε > 0.5",
            "Less than 0.15", where=presets, link=figure(8, "ocm"),
            check=at_most(0.15, limit(largest, "ocm", ("ds1", "ds3"), OURS, above_half, HELD_OUT)),
        ),
        row(
            "ocm-spirals", "section 7.4", "figure", "OCM of PrivTHREM on DS2, ε > 0.5",
            "Less than 0.1", where=presets, link=figure(8, "ocm", "ds2"),
            check=at_most(
                0.1, limit(largest, "ocm", ("ds2",), ("privthrem",), above_half, HELD_OUT)
            ),
        ),
        row(
            "ocm-thr-low", "section 7.4", "figure", "OCM of PrivTHR on DS2, ε > 0.5: least",
            "0.1 at least", where=presets, link=figure(8, "ocm", "ds2"),
            check=at_least(
                0.1, limit(least, "ocm", ("ds2",), ("privthr",), above_half, HELD_OUT),
                "{value:.3f}",
            ),
            why=_LOWER,
        ),
        row(
            "ocm-thr-high", "section 7.4", "figure", "OCM of PrivTHR on DS2, ε > 0.5: largest",
            "0.2 at most", where=presets, link=figure(8, "ocm", "ds2"),
            check=at_most(
                0.2, limit(largest, "ocm", ("ds2",), ("privthr",), above_half, HELD_OUT),
                "{value:.3f}",
            ),
        ),
        row(
            "2ce-low", "section 7.4", "figure", "2CE of all four on DS1", "Less than 0.1",
            where=presets, link=figure(8, "two_ce", "ds1"),
            check=at_most(
                0.1, limit(largest, "two_ce", ("ds1",), TECHNIQUES, FROM_HALF, HELD_OUT)
            ),
        ),
        row(
            "ocm-high", "section 7.4", "figure", "OCM of all four on DS1: largest", "0.5 at most",
            where=presets, link=figure(8, "ocm", "ds1"),
            check=at_most(
                0.5, limit(largest, "ocm", ("ds1",), TECHNIQUES, FROM_HALF, HELD_OUT)
            ),
        ),
        row(
            "ocm-least", "section 7.4", "figure", "OCM of all four on DS1: least", "0.05 at least",
            where=presets, link=figure(8, "ocm", "ds1"),
            check=at_least(
                0.05, limit(least, "ocm", ("ds1",), TECHNIQUES, FROM_HALF, HELD_OUT), "{value:.3f}"
            ),
            why=_LOWER,
        ),
        row(
            "alpha-best", "section 7.4", "figure", "Best share α of PrivTHR on DS1",
            "0.9: no other is better", where="dpviz.wavecluster.methods.privthr.CARD",
            link=Link("compare", {"preset": "000-alpha"}),
            check=at_most(
                0.0, partial(best_alpha, "ds1"), "{value:.4f} less DSG_C elsewhere"
            ),
        ),
        *(
            row(
                f"alpha-best-{data}", "section 7.4", "figure", f"The same on {TITLES[data]}",
                "Similar results", where="dpviz.wavecluster.methods.privthr.CARD",
                link=Link("compare", {"preset": "000-alpha", "data": _LIKE[data]["data"]}),
                check=at_most(
                    0.0, partial(best_alpha, data), "{value:.4f} less DSG_C elsewhere"
                ),
                why="Another share has a lower mean, by less than chance explains.",
            )
            for data in ("ds2", "ds3")
        ),
        row(
            "resilient", "section 7.4", "figure", "OCM on DS2, ε > 0.5: PrivTHREM and PrivTHR",
            "PrivTHREM lower", where=presets, link=figure(8, "ocm", "ds2"),
            check=at_least(0.0, resilience, "lead of {value:+.3f} at least"),
        ),
        row(
            "2ce-ocm", "section 7.4", "figure", "2CE and OCM on DS1", "2CE lower in all four",
            where="dpviz.metrics.matching.two_ce", link=figure(8, "two_ce", "ds1"),
            check=at_least(0.0, ocm_over_two_ce, "lower by {value:.3f} at least"),
        ),
        row(
            "pairs", "section 7.4", "number", "Pairs that k changed samples make inconsistent",
            "k(N - k) + C(k, 2) at most", where="dpviz.metrics.matching.two_ce",
            link=figure(8, "two_ce", "ds1"), check=nothing_differs(more_pairs, "100"),
        ),
        *(
            row(
                f"fig{place.partition(' ')[0]}-gowalla", f"figure {place}", "figure",
                f"{what} on Gowalla", "Curves without numbers", declared="not possible",
                why=_GOWALLA,
            )
            for place, what in (("6 (d)", "DSG_C"), ("7 (d)", "F-measure"))
        ),
        *(
            row(
                f"fig7-{data}", f"figure 7 ({panels[data]})", "figure", f"F-measure on {title}",
                "Curves without numbers", where=presets, link=figure(7, "f_cells", data),
                declared="not possible",
                why="Our copy has the captions of the figure, and the text has no number for it.",
            )
            for data, title in TITLES.items()
            if data != "ds1"
        ),
        row(
            "fig8-gowalla", "figure 8 (d, h)", "figure", "OCM and 2CE on Gowalla",
            "OCM below 0.15 for PrivTHR and PrivTHREM, ε > 0.5", declared="not possible",
            why=_GOWALLA,
        ),
    )  # fmt: skip


ROWS: tuple[Row, ...] = (
    *_algorithms(), *_privacy(), *_theory(), *_measures(), *_true_runs(), *_pictures(),
    *_ranks(), *_curves(),
)  # fmt: skip
