"""The fate of every true cluster in another result, and private clusters without a true cluster.

The match P of a true cluster C is the private cluster with the most cells of C that is not invented
(on ties, the smaller private cluster). P determines the fate of C:

* If P has more than half of C's cells, C is *joined* (the headline says merged) if another true
  cluster has at least half as many cells in P as C has. Otherwise C is *kept* (found) if P and C
  overlap by more than half (intersection over union, in cells). Otherwise C is *shrunk* if P is
  smaller than C, and *grown* if not.
* If no private cluster has more than half of C's cells, C is *broken* (split) if more than half of
  its cells are in private clusters that are not invented, *shrunk* if some of its cells are, and
  *lost* if none is.

The rule is "more than half", not "half or more". So a cluster that is cut into two equal halves, or
two equal clusters that are joined, do not count as kept.

A private cluster that does not have more than half of any true cluster is

* *invented* if at most half of its cells are truly significant,
* a *splinter* if it is not invented, and for each true cluster that it touches, another private
  cluster has more than half of that true cluster.

All other clusters of this kind are remains of broken or shrunk clusters. Labels of clusters do not
matter. If all true clusters are kept, and no private cluster is invented or a splinter, both
results have the same number of clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Indices, Labels, Mask
from dpviz.family.headline import Headline, headline
from dpviz.metrics.matching import contingency

Fate = Literal["kept", "grown", "joined", "broken", "shrunk", "lost"]

#: Words of the headline for the fates, most striking first.
_SAID: dict[Fate, str] = {
    "lost": "lost",
    "joined": "merged",
    "broken": "split",
    "shrunk": "shrunk",
    "grown": "grown",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Fates:
    """Fates (n,) of the true clusters, and labels of private clusters without a true cluster.

    ``match`` (n,): label of each match, 0 if lost. ``beside`` (n, n): whether true cluster j has at
    least half as many cells as i in the match of i.
    """

    of: NDArray[np.str_]
    match: Indices
    beside: Mask
    invented: Indices
    splinters: Indices

    def having(self, fate: Fate) -> Indices:
        """Labels of the true clusters with this fate."""
        return np.flatnonzero(self.of == fate) + 1

    @property
    def others(self) -> str:
        """Numbers of invented and lost clusters in words: "2 invented, 1 lost"."""
        wrong = ((self.invented.size, "invented"), (self.having("lost").size, "lost"))
        return ", ".join(f"{number:,} {word}" for number, word in wrong if number)

    @property
    def broken(self) -> int:
        """Number of true clusters that are not kept."""
        return int((self.of != "kept").sum())

    @property
    def headline(self) -> Headline:
        """Headline on the fates."""
        wrong = [(self.invented.tolist(), "invented", "invented")]
        wrong += [(self.having(fate).tolist(), fate, said) for fate, said in _SAID.items()]
        merged = self.of == "joined"
        if self.beside[merged][:, ~merged].any():
            # Their match is also the match of clusters that are not counted as merged.
            other = "another" if merged.sum() == 1 else "others"
            wrong = [
                (labels, fate, f"{said} with {other}" if fate == "joined" else said)
                for labels, fate, said in wrong
            ]
        return headline(self.having("kept").size, self.of.size, wrong, self.splinters.tolist())


def fates(true: Labels, other: Labels) -> Fates:
    """Find the fate of each true cluster in another labels grid; see the module's text.

    Both grids have the same shape; 0 = not significant, clusters are 1, 2, ... without gaps.
    """
    table = contingency(true, other)
    cells, sizes, shares = table.sum(axis=1)[1:], table.sum(axis=0)[1:], table[1:, 1:]
    if not shares.size:
        return Fates(
            of=np.full(cells.size, "lost", dtype=_NAMES),
            match=np.zeros(cells.size, dtype=np.intp),
            beside=np.zeros((cells.size, cells.size), dtype=bool),
            invented=np.arange(1, sizes.size + 1),
            splinters=np.zeros(0, dtype=np.intp),
        )
    minor = ~(2 * shares > cells[:, None]).any(axis=0)
    invented = minor & (2 * shares.sum(axis=0) <= sizes)
    # What is left of a true cluster in an invented cluster is there by chance.
    shares = shares * ~invented
    shared, left, each = shares.max(axis=1), shares.sum(axis=1), np.arange(cells.size)
    match = np.where(shares == shared[:, None], sizes, sizes.max() + 1).argmin(axis=1)
    # Entry [i, j]: cells of true cluster j in the match of true cluster i.
    rivals = shares[:, match].T
    rivals[each, each] = 0
    beside = (2 * rivals >= shared[:, None]) & (rivals > 0) & (left > 0)[:, None]
    held = 2 * shared > cells
    found = np.select(
        [
            left == 0,
            held & beside.any(axis=1),
            held & (2 * shared > cells + sizes[match] - shared),
            held & (sizes[match] >= cells),
            ~held & (2 * left > cells),
        ],
        ["lost", "joined", "kept", "grown", "broken"],
        "shrunk",
    )
    splinters = minor & ~invented & ~((shares > 0) & ~held[:, None]).any(axis=0)
    return Fates(
        of=found.astype(_NAMES),
        match=np.where(left > 0, match + 1, 0),
        beside=beside,
        invented=np.flatnonzero(invented) + 1,
        splinters=np.flatnonzero(splinters) + 1,
    )


_NAMES = f"<U{max(map(len, get_args(Fate)))}"
