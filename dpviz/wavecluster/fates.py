"""What broke: the fate of every true cluster in another result, and clusters without a true one.

The match P of a true cluster C is the private cluster with most of its cells (on ties, the
smaller one). The fate of C follows from P:

* P has more than half of C's cells. Then C is *joined* (the headline says merged) if another true
  cluster has at least half as many cells in P as C has; otherwise *kept* (found) if P and C overlap
  by more than half (intersection over union, in cells); otherwise *shrunk* if P is the smaller one,
  else *grown*.
* No private cluster has more than half of it. Then C is *broken* (split) if more than half of its
  cells are still significant, *shrunk* if some are, *lost* if no cell is.

The rule is not "half or more": a cluster cut into two equal halves, or two equal clusters that
are joined, do not count as kept.

A private cluster that has more than half of no true cluster is

* *invented* if no more than half of its cells are truly significant,
* a *splinter* if it is not invented, and other private clusters have more than half of each true
  cluster that it touches.

All others are what is left of broken or shrunk clusters. Numbers of clusters do not matter. If all
true clusters are kept, and none is invented or a splinter, both results have equally many clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpviz.family.headline import Headline, headline
from dpviz.metrics.matching import contingency

Fate = Literal["kept", "grown", "joined", "broken", "shrunk", "lost"]

#: How the headline calls them, most striking first.
_SAID: dict[Fate, str] = {
    "lost": "lost",
    "joined": "merged",
    "broken": "split",
    "shrunk": "shrunk",
    "grown": "grown",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Fates:
    """Fate of each true cluster, and numbers of invented clusters and splinters."""

    of: NDArray[np.str_]
    invented: int = 0
    splinters: int = 0

    def count(self, fate: Fate) -> int:
        """Number of true clusters with a fate."""
        return int(np.count_nonzero(self.of == fate))

    @property
    def headline(self) -> Headline:
        """What broke, in one sentence."""
        wrong = [(self.invented, "invented")]
        wrong += [(self.count(fate), said) for fate, said in _SAID.items()]
        return headline(self.count("kept"), self.of.size, wrong, self.splinters)


def fates(true: NDArray[np.int32], other: NDArray[np.int32]) -> Fates:
    """Find what became of each true cluster in another labels grid; see the module's text.

    Both grids have one shape, 0 = not significant, clusters 1, 2, ... without gaps.
    """
    table = contingency(true, other)
    cells, sizes, shares = table.sum(axis=1)[1:], table.sum(axis=0)[1:], table[1:, 1:]
    if not shares.size:
        return Fates(of=np.full(cells.size, "lost", dtype=_NAMES), invented=sizes.size)
    shared, left, each = shares.max(axis=1), shares.sum(axis=1), np.arange(cells.size)
    match = np.where(shares == shared[:, None], sizes, sizes.max() + 1).argmin(axis=1)
    # Cells of each other true cluster (row) in the match of each one (column).
    rivals = shares[:, match]
    rivals[each, each] = 0
    held = 2 * shared > cells
    found = np.select(
        [
            left == 0,
            held & (2 * rivals.max(axis=0) >= shared),
            held & (2 * shared > cells + sizes[match] - shared),
            held & (sizes[match] >= cells),
            ~held & (2 * left > cells),
        ],
        ["lost", "joined", "kept", "grown", "broken"],
        "shrunk",
    )
    minor = ~(2 * shares > cells[:, None]).any(axis=0)
    invented = minor & (2 * shares.sum(axis=0) <= sizes)
    splinters = minor & ~invented & ~((shares > 0) & ~held[:, None]).any(axis=0)
    return Fates(
        of=found.astype(_NAMES),
        invented=int(invented.sum()),
        splinters=int(splinters.sum()),
    )


_NAMES = f"<U{max(map(len, get_args(Fate)))}"
