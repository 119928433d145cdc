"""The table of peers on the documentation's page "Measured": cells won and lost against ours.

``python -m tests.benchmarks.peers_table`` prints it from the rows that ``bench_utility`` measured:
``utility_rows.parquet``, and ``peers_rows.parquet`` for peers without rows on all sets. A cell is a
data set at one epsilon. A sign test over common seeds with 99% confidence decides on a cell with
:data:`FEWEST` seeds or more.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd

from dpviz.experiments.benchmark import title_of
from dpviz.metrics.bands import sign_interval

FOLDER = Path(__file__).parent

EPSILONS = (0.1, 0.5, 1.0, 2.0)

#: With fewer common seeds, a sign test with 99% confidence can't decide.
FEWEST = 8

OURS = ("dprefine", "dplloyd")

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
}


def rows() -> pd.DataFrame:
    """All draws of our methods and of peers: data, method, epsilon, seed, nicv_ratio."""
    names = ["data", "method", "epsilon", "seed", "nicv_ratio"]
    files = (FOLDER / "utility_rows.parquet", FOLDER / "peers_rows.parquet")
    first, second = (pd.read_parquet(file) for file in files)
    found = pd.concat([first[first["variant"] == "sound"][names], second[names]])
    return found[found["epsilon"].isin(EPSILONS)]


def verdicts(table: pd.DataFrame, ours: str, peer: str) -> dict[tuple[str, float], str]:
    """Verdict on each cell, from our point of view: won, lost, open or few draws."""
    seen = {}
    part = table[table["method"].isin((ours, peer))]
    sets = part[part["method"] == peer]["data"].unique()
    for data in sets:
        for epsilon in EPSILONS:
            cell = part[(part["data"] == data) & (part["epsilon"] == epsilon)]
            wide = cell.pivot_table(index="seed", columns="method", values="nicv_ratio")
            both = wide.reindex(columns=[ours, peer]).dropna()
            if len(both) < FEWEST:
                seen[data, epsilon] = "few draws"
                continue
            low, high = sign_interval((both[ours] - both[peer]).to_numpy())
            seen[data, epsilon] = "won" if high < 0 else "lost" if low > 0 else "open"
    return seen


def lines() -> list[str]:
    """The table as Markdown; losses come first."""
    table = rows()
    head = "| peer | cells | " + " | ".join(f"{title_of(one)}: lost, open, won" for one in OURS)
    found = [head + " | too few draws | audit of its claim |", "|---" * (4 + len(OURS)) + "|"]
    for peer, audit in AUDITS.items():
        counts = [Counter(verdicts(table, one, peer).values()) for one in OURS]
        told = " | ".join(f"{one['lost']}, {one['open']}, {one['won']}" for one in counts)
        cells, few = sum(counts[0].values()), counts[0]["few draws"]
        found.append(f"| {title_of(peer)} | {cells} | {told} | {few} | {audit} |")
    return found


if __name__ == "__main__":
    print(*lines(), sep="\n")
