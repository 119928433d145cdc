"""The headline of an explorer: one sentence that says what the noise changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpviz.base.numbers import counted


@dataclass(frozen=True, kw_only=True)
class Headline:
    """One sentence, without its full stop, that says what the noise changed.

    ``detail`` says how many clusters are found, if the sentence does not. ``intact`` is whether
    nothing changed.
    """

    text: str
    detail: str = ""
    intact: bool = False


def headline(
    kept: int, clusters: int, wrong: Sequence[tuple[int, str]], splinters: int = 0
) -> Headline:
    """Write the headline about the true clusters.

    ``kept`` of the ``clusters`` true clusters are found. ``wrong`` lists the kinds of wrong
    clusters: each has a number of clusters, and the kind in words. ``splinters`` is the number of
    small pieces that split off true clusters.
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
        return Headline(text="No cluster, which is correct", intact=True)
    found = f"{all_of(clusters)} {'is' if clusters == 1 else 'are'} found"
    if splinters:
        return Headline(text=f"{found}, {pieces}")
    return Headline(text=found, intact=True)


def all_of(clusters: int) -> str:
    """Write "The one cluster", "Both clusters" or "All 15 clusters"."""
    few = {1: "The one cluster", 2: "Both clusters"}
    return few.get(clusters, f"All {clusters:,} clusters")
