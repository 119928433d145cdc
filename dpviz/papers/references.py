"""References to cite: the source papers of methods, and dpviz; as text and BibTeX."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from dpviz import __version__
from dpviz.base.latex import entry, escaped
from dpviz.base.tables import read_beside
from dpviz.family.card import Card

TITLE = "dpviz"
ABSTRACT = "See what privacy costs: clustering with and without differential privacy"
LICENCE = "Apache-2.0"
AUTHOR = "The dpviz maintainers"

#: Year of the version, and the project's address on the web; "" if it has no address.
YEAR, ADDRESS = 2026, ""

_READ = read_beside(__file__, Any)

#: Full names of venues, by their abbreviations.
_PROCEEDINGS: dict[str, str] = _READ["proceedings"]
_JOURNALS: dict[str, str] = _READ["journals"]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A paper: ``authors`` "L. Chen, T. Yu", ``venue`` abbreviated, ``volume`` "46(2)".

    ``doi``: its digital object identifier, if the paper prints one. ``chinese``: it is in Chinese,
    and ``title`` is its English title.
    """

    authors: str
    title: str
    year: int
    venue: str = ""
    volume: str = ""
    doi: str = ""
    chinese: bool = False

    @property
    def first(self) -> str:
        """Family name of the first author."""
        return self.authors.split(",")[0].split()[-1]

    @property
    def key(self) -> str:
        """Key in BibTeX: first author, year and first word of the title."""
        # Old BibTeX reads only letters of ASCII in a key.
        family = unicodedata.normalize("NFKD", self.first).encode("ascii", "ignore").decode()
        word = next(one for one in re.findall(r"\w+", self.title) if len(one) > 1)
        return f"{family}{self.year}{word}".lower()

    @property
    def short(self) -> str:
        """Family names and year: "Lee, Kifer 2016"."""
        families = (one.rpartition(" ")[2] for one in self.authors.split(", "))
        return f"{', '.join(families)} {self.year}"

    @property
    def place(self) -> str:
        """Venue, volume and year: "Computer Science 46(2), 2019"."""
        if not self.venue or self.venue in _PROCEEDINGS or self.venue in _JOURNALS:
            return f"{self.venue} {self.year}".strip()
        return f"{f'{self.venue} {self.volume}'.strip()}, {self.year}"

    @property
    def text(self) -> str:
        """Line in a list of references, in Markdown."""
        language = " (in Chinese)" if self.chinese else ""
        title = self.title.replace("*", r"\*")
        return f"{self.authors}: *{title}*{language}. {self.place}."

    @property
    def bibtex(self) -> str:
        """BibTeX entry of the paper."""
        people = {"author": " and ".join(self.authors.split(", ")), "title": self.title}
        end = {"year": str(self.year)} | ({"doi": self.doi} if self.doi else {})
        end |= {"note": "In Chinese"} if self.chinese else {}
        if self.venue in _PROCEEDINGS:
            where = {"booktitle": _PROCEEDINGS[self.venue]}
            return entry("inproceedings", self.key, people | where | end)
        if not self.venue or self.venue.startswith("arXiv"):
            where = {"howpublished": self.venue} if self.venue else {}
            return entry("misc", self.key, people | where | end)
        where = {"journal": _JOURNALS.get(self.venue, self.venue)}
        volume, _, number = self.volume.rstrip(")").partition("(")
        where |= {name: one for name, one in (("volume", volume), ("number", number)) if one}
        return entry("article", self.key, people | where | end)


#: Source papers of methods, in the order of the methods.
REFERENCES = tuple(Reference(**one) for one in _READ["source"])

#: Source papers of lemmas, reference runs and scores, sorted by first author.
MENTIONED = tuple(Reference(**one) for one in _READ["mentioned"])


def cited(card: Card) -> list[Reference]:
    """Papers that the card of a method names as its source."""
    source = re.sub(r" [A-Z]\.", "", card.source)
    papers = (*REFERENCES, *MENTIONED)
    # A card may shorten "Hu, Yang, Bai 2019" to "Hu et al.".
    return [one for one in papers if one.short in source or f"{one.first} et al." in source]


def keys(*cards: Card) -> list[str]:
    """BibTeX keys to cite for methods: their papers, and dpviz."""
    return [*dict.fromkeys(one.key for card in cards for one in cited(card)), TITLE]


def references(*cards: Card) -> str:
    """Return BibTeX entries of methods' source papers and of dpviz; comments name the sections."""
    comments = [f"% {escaped(card.title)}: {escaped(card.source)}" for card in cards]
    papers = dict.fromkeys(one.bibtex for card in cards for one in cited(card))
    return "\n".join([*comments, *papers, our_bibtex()])


def our_bibtex() -> str:
    """BibTeX entry of dpviz itself."""
    fields = {
        "author": AUTHOR,
        "title": f"{TITLE}: {ABSTRACT.split(':')[0].lower()}",
        "year": str(YEAR),
        "url": ADDRESS,
        "note": f"Software, version {__version__}, {LICENCE}",
    }
    return entry("misc", TITLE, fields, group=True)


def bibtex() -> str:
    """All BibTeX entries; dpviz is the first."""
    return "\n".join([our_bibtex(), *(one.bibtex for one in REFERENCES)])
