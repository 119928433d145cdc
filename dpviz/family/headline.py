"""The headline of an explorer: one sentence that says what the noise changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpviz.base.numbers import counted


@dataclass(frozen=True)
class Word:
    """A part of the headline that counts pieces, and the pieces.

    Parameters
    ----------
    text
        The part of the sentence, for example "2 clusters invented".
    kind
        What happened to the pieces; pictures use the same name. Empty if nothing is counted.
    pieces
        Labels of the counted clusters, or numbers of the counted centres.
    """

    text: str
    kind: str = ""
    pieces: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Headline:
    """One sentence, without its full stop, that says what the noise changed.

    ``words`` are the parts of the sentence between its commas. ``detail`` says how many clusters
    are found, if the sentence does not. ``intact`` is whether nothing changed.
    """

    text: str
    detail: str = ""
    intact: bool = False
    words: tuple[Word, ...] = ()

    @classmethod
    def of(cls, words: Sequence[Word], *, detail: str = "", intact: bool = False) -> Headline:
        """Join the parts of a sentence."""
        text = ", ".join(word.text for word in words)
        return cls(text=text, detail=detail, intact=intact, words=tuple(words))


def headline(
    kept: int,
    clusters: int,
    wrong: Sequence[tuple[Sequence[int], str, str]],
    splinters: Sequence[int] = (),
) -> Headline:
    """Write the headline about the true clusters.

    ``kept`` of the ``clusters`` true clusters are found. ``wrong`` lists the kinds of wrong
    clusters: each has the labels of the clusters, the name of the kind, and the kind in words.
    ``splinters`` are the labels of small pieces that split off true clusters.
    """
    off = Word(f"{counted(len(splinters), 'piece')} split off", "splinters", tuple(splinters))
    rest = [off] * bool(len(splinters))
    said: list[Word] = []
    for labels, kind, word in wrong:
        if len(labels):
            # The first part has the noun: "2 clusters invented, 1 lost".
            number = f"{len(labels):,}" if said else counted(len(labels), "cluster")
            said.append(Word(f"{number} {word}", kind, tuple(labels)))
    if said:
        detail = f"{kept:,} of {counted(clusters, 'true cluster')} found"
        return Headline.of([*said, *rest], detail=detail)
    if not clusters:
        return Headline(text="No cluster, which is correct", intact=True)
    found = Word(f"{all_of(clusters)} {'is' if clusters == 1 else 'are'} found")
    return Headline.of([found, *rest], intact=not rest)


def all_of(clusters: int) -> str:
    """Write "The one cluster", "Both clusters" or "All 15 clusters"."""
    few = {1: "The one cluster", 2: "Both clusters"}
    return few.get(clusters, f"All {clusters:,} clusters")
