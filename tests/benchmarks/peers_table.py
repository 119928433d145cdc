"""The tables of peers on the documentation's page "Measured": cells won and lost against ours.

``python -m tests.benchmarks.peers_table`` prints the table of peers, ``--sets`` the table of sets
on which DP-Refine loses, and ``--write`` writes all cells to ``dpviz/docs/pages/peers.csv``. They
follow from the rows that ``bench_utility`` measured: ``utility_rows.parquet``, and
``peers_rows.parquet`` for peers without rows on all sets. A cell is a data set at one epsilon. A
sign test over common seeds with 99% confidence decides on a cell with :data:`FEWEST` seeds or more.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpviz import docs
from dpviz.experiments.benchmark import benchmark, title_of
from dpviz.metrics.bands import sign_interval

FOLDER = Path(__file__).parent

#: All cells, as the site of the documentation has them.
FILE = Path(docs.__file__).with_name("pages") / "peers.csv"

EPSILONS = (0.1, 0.5, 1.0, 2.0)

#: With fewer common seeds, a sign test with 99% confidence can't decide.
FEWEST = 8

OURS = ("dprefine", "dplloyd")

NAMES = (*OURS, "peer")

#: What an audit found, and what follows from reading the code.
AUDITS = {
    "cedskmeans": "refuted (3.62 or more at ε 1): its noise depends on the records",
    "diffprivlib": "refuted with all attributes (2.31 or more at ε 1), not with centres alone",
    "fastlloyd": "refuted (1.63 or more by centres, 4.03 with its updates): its first noise has "
    "the seed 0, and sums and counts share a seed; not refuted with new seeds",
    "pemeans": "not refuted by centres; for more than 32 columns its other function is refuted "
    "(3.09 or more): one number is the noise of all coordinates",
    "google": "not refuted; its code ends with an error without records",
    "dpm": "not refuted; its code ends with an error on small data",
    "emmc": "refuted (3.98 or more at ε 1)",
    "hst": "not refuted; its noise is for all but one of a record's counts, and its code ends with "
    "an error on small data",
    "opendp": "not refuted",
    "rugnik": "not refuted (our program)",
}

#: Why DP-Refine loses cells to a peer.
REASONS = {
    "cedskmeans": "the peer's noise protects no record: its centres are those without noise",
    "fastlloyd": "few records, 8 columns or more: with δ, noise grows with the square root of the "
    "columns, and with pure ε with the columns",
    "rugnik": "evenly spread clusters: a nested grid and a step cost more budget than they gain",
}

#: Why DPLloyd loses a cell that DP-Refine does not lose.
ONLY_LLOYD = "only DPLloyd: one start, or noise in every iteration"

SIGNS = {"lost": "−", "open": "=", "won": "+", "few draws": "·"}


@cache
def rows() -> pd.DataFrame:
    """All draws of our methods and of peers: data, method, epsilon, seed, nicv_ratio."""
    names = ["data", "method", "epsilon", "seed", "nicv_ratio"]
    files = (FOLDER / "utility_rows.parquet", FOLDER / "peers_rows.parquet")
    first, second = (pd.read_parquet(file) for file in files)
    found = pd.concat([first[first["variant"] == "sound"][names], second[names]])
    return found[found["epsilon"].isin(EPSILONS) & found["method"].isin([*OURS, *AUDITS])]


@cache
def cells() -> pd.DataFrame:
    """Each cell of each peer: seeds, medians and verdicts, from our point of view; losses first."""
    wide = rows().pivot_table(index=["data", "epsilon", "seed"], columns="method")["nicv_ratio"]
    found = []
    for peer, audit in AUDITS.items():
        draws = wide[[*OURS, peer]].dropna()
        by_cell = dict(iter(draws.groupby(level=["data", "epsilon"])))
        verdict = f"{'not ' * audit.startswith('not')}refuted"
        for data, epsilon in product(dict.fromkeys(data for data, _ in by_cell), EPSILONS):
            cell = by_cell.get((data, epsilon), draws.head(0))
            row = {"peer": peer, "data": data, "epsilon": epsilon, "seeds": len(cell)}
            for ours in OURS:
                row[ours] = decided((cell[ours] - cell[peer]).to_numpy())
            row |= {
                f"median_{name}": cell[one].median() for name, one in zip(NAMES, cell, strict=True)
            }
            lost = [one for one in OURS if row[one] == "lost"]
            reason = REASONS[peer] if OURS[0] in lost else ONLY_LLOYD if lost else ""
            found.append(row | {"audit": verdict, "reason": reason})
    table = pd.DataFrame(found)
    ranks = table.assign(**{one: table[one].map([*SIGNS].index) for one in OURS})
    order = ranks.sort_values([*OURS, "peer", "data", "epsilon"], kind="stable").index
    return table.loc[order].reset_index(drop=True)


def decided(difference: np.ndarray[Any, Any]) -> str:
    """Verdict on a cell from our score minus that of the peer, for each common seed."""
    if len(difference) < FEWEST:
        return "few draws"
    low, high = sign_interval(difference)
    return "won" if high < 0 else "lost" if low > 0 else "open"


def lines() -> list[str]:
    """The table of peers as Markdown; the peer to which we lose most comes first."""
    head = "| peer | cells | " + " | ".join(f"{title_of(one)}: lost, open, won" for one in OURS)
    found = [head + " | too few draws | audit of its claim |", "|---" * (4 + len(OURS)) + "|"]
    parts = {peer: cells()[cells()["peer"] == peer] for peer in AUDITS}

    def losses(peer: str) -> list[int]:
        return [-int((parts[peer][one] == "lost").sum()) for one in OURS]

    for peer in sorted(AUDITS, key=losses):
        part, audit = parts[peer], AUDITS[peer]
        counts = [Counter(part[one]) for one in OURS]
        told = " | ".join(f"{one['lost']}, {one['open']}, {one['won']}" for one in counts)
        few = counts[0]["few draws"]
        found.append(f"| {title_of(peer)} | {len(part)} | {told} | {few} | {audit} |")
    return found


def set_lines() -> list[str]:
    """The table of sets on which DP-Refine loses a cell as Markdown, a row for each peer."""
    head = " | ".join(f"ε {one:g}" for one in EPSILONS)
    found = [f"| peer | set | records, columns, K | {head} | audit |", "|---" * 8 + "|"]
    groups = cells().groupby(["peer", "data"], sort=False)
    for (peer, data), part in groups:
        if not (part["dprefine"] == "lost").any():
            continue
        told = []
        for _, cell in part.sort_values("epsilon").iterrows():
            both = f" {cell['median_dprefine']:.4f}, {cell['median_peer']:.4f} ({cell['seeds']})"
            told.append(SIGNS[cell["dprefine"]] + both * (cell["seeds"] > 0))
        facts = benchmark().sets[data]
        size = f"{facts.records:,}, {facts.columns}, {facts.clusters}"
        audit = part["audit"].iloc[0]
        found.append(f"| {title_of(peer)} | {data} | {size} | {' | '.join(told)} | {audit} |")
    return found


def text() -> str:
    """All cells as CSV."""
    shown: str = cells().to_csv(index=False, float_format="%.5g", lineterminator="\n")
    return shown


if __name__ == "__main__":
    if "--write" in sys.argv:
        FILE.write_text(text(), encoding="utf-8")
    print(*(set_lines() if "--sets" in sys.argv else lines()), sep="\n")
