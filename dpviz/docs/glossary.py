"""The glossary: every term of the screen in one or two sentences, the same on all pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpviz.base.tables import read_rows
from dpviz.families import FAMILIES


@dataclass(frozen=True)
class Entry:
    """A term, its group, and its meaning."""

    term: str
    group: str
    text: str


#: Terms that are neither scores nor parameters.
_TERMS = read_rows(Path(__file__).with_suffix(".toml"), Entry)


def entries() -> Iterator[Entry]:
    """Return all terms in the order of the Glossary page."""
    yield from _TERMS
    for family in FAMILIES.values():
        scores = (family.scores[name] for name in family.telling)
        yield from (Entry(one.label, f"Scores of {family.title}", one.about) for one in scores)
        for one in family.own:
            if one.help:
                yield Entry(one.label, f"Settings of {family.title}", one.help)
