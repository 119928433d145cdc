"""The headline of an explorer: one sentence that says what the noise changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpviz.base.numbers import counted


@dataclass(frozen=True)
class Word:
    """A part of the headline ("2 clusters invented"), its kind in pictures, and its pieces."""

    text: str
    kind: str = ""
    pieces: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Headline:
    """One sentence, without its full stop, that says what the noise changed.

    ``words`` are the parts between commas; ``detail`` says how many clusters are found.
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
    """Write the headline about the true clusters, of which ``kept`` are found.

    ``wrong`` has labels, name and words of each kind of error; ``splinters`` are split-off pieces.
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
