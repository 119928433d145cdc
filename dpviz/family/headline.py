"""What broke, in one sentence: the headline of an explorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpviz.base.numbers import counted


@dataclass(frozen=True, kw_only=True)
class Headline:
    """What broke, in one sentence without its full stop.

    ``detail`` says how much is as it should be, where the sentence does not; ``intact`` is whether
    nothing broke.
    """

    text: str
    detail: str = ""
    intact: bool = False


def headline(
    kept: int, clusters: int, wrong: Sequence[tuple[int, str]], splinters: int = 0
) -> Headline:
    """Say what became of true clusters.

    ``kept`` of ``clusters`` true ones are found. ``wrong`` has the number of clusters for each way
    to be wrong, in words. ``splinters`` is the number of small pieces that split off.
    """
    said = [(number, word) for number, word in wrong if number]
    pieces = f"{counted(splinters, 'piece')} split off"
    if said:
        (number, word), *others = said
        text = f"{counted(number, 'cluster')} {word}"
        text += "".join(f", {number:,} {word}" for number, word in others)
        text += f", {pieces}" if splinters else ""
        return Headline(text=text, detail=f"{kept:,} of {counted(clusters, 'true cluster')} found")
    if not clusters:
        return Headline(text="No cluster, as it should be", intact=True)
    found = f"{all_of(clusters)} {'is' if clusters == 1 else 'are'} found"
    if splinters:
        return Headline(text=f"{found}, {pieces}")
    return Headline(text=found, intact=True)


def all_of(clusters: int) -> str:
    """Write "The one cluster", "Both clusters" or "All 15 clusters"."""
    few = {1: "The one cluster", 2: "Both clusters"}
    return few.get(clusters, f"All {clusters:,} clusters")
