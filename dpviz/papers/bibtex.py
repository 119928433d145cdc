"""What to cite for a run: the paper that its method is from, and dpviz."""

from __future__ import annotations

import re

from dpviz import __version__
from dpviz.family.card import Card
from dpviz.latex import entry, escaped
from dpviz.papers import PAPERS
from dpviz.papers.row import Paper

#: Key of dpviz itself.
OURS = "dpviz"


def keys(card: Card) -> list[str]:
    """Keys of what to cite for a method: its paper, if that is one of ours, and dpviz."""
    paper = PAPERS.get(card.origin)
    return [*([_key(paper)] if paper else []), OURS]


def references(card: Card) -> str:
    """Return BibTeX entries of the paper that a method is from, and of dpviz.

    Only papers that we have are entries; a comment names all that the method's card does.
    """
    paper = PAPERS.get(card.origin)
    return "\n".join(
        [
            f"% {escaped(card.title)}: {escaped(card.source)}",
            *([_entry(paper)] if paper else []),
            entry(
                "misc",
                OURS,
                {
                    "key": "dpviz",
                    "title": "dpviz: see what privacy costs",
                    "note": f"Version {__version__}",
                },
            ),
        ]
    )


def _key(paper: Paper) -> str:
    """Key of a paper: "chen2015"."""
    return re.sub(r"\W", "", paper.short).lower()


def _entry(paper: Paper) -> str:
    """Entry of a paper of the table."""
    return entry(
        "misc",
        _key(paper),
        {
            "author": " and ".join(paper.authors.split(", ")),
            "title": paper.title,
            # A venue that is unknown is the year alone.
            "howpublished": "" if paper.venue == str(paper.year) else paper.venue,
            "year": str(paper.year),
        },
    )
