"""The glossary: every term of the screen in one or two sentences.

Scores and parameters come from the families, so that the Glossary page, the documentation, the
question marks and the menus say the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpviz.families import FAMILIES


@dataclass(frozen=True)
class Entry:
    """A term, the group that it stands in, and what it means."""

    term: str
    group: str
    text: str


#: Terms that are no score and no parameter.
_PRIVACY = {
    "Epsilon (ε, privacy budget)": "Any result is at most e^ε times as likely with one record of "
    "yours as without it (with three: e^(3ε)); where the unit is a person, with you as without "
    "you. Small is private and noisy, large is accurate and tells more. Budgets of several results "
    "add up.",
    "Sensitivity": "The most that one record, or one person, can change a number. Noise has to be "
    "as large as sensitivity over ε to hide it.",
    "Laplace noise": "Random noise with the scale sensitivity over ε: small errors are likely, "
    "large ones rare.",
    "Ledger": "The list of all steps that read the data, with the share of ε that each one spends. "
    "The bar below the picture.",
    "Method: private or not private": "Whether a method keeps its promise of ε: private has a "
    "proof, not private a reason why it fails. Where a guess may be more than 90% sure, the proof "
    "holds and promises little. It says nothing about the picture, which shows true data: unless "
    "these are public, it is for the owner alone.",
    "Sound and published": "Published is a method as its paper prints it; sound is the same idea "
    "with a proof that holds.",
    "Domain": "The bounds of the data, chosen in public before anyone looks. Bounds taken from the "
    "data tell its extreme records.",
    "Unit of privacy": "Who is protected: one record, or one person with all records up to the "
    "cap.",
    "Cap": "The most records of one person that take part; further ones are left out. Noise grows "
    "with it.",
    "Seed": "Number of a draw of the noise. One seed always draws the same; a release draws from "
    "secure noise without a seed.",
    "Audit bound": "A lower bound on the real ε, measured on thousands of runs on two data sets "
    "that differ by one person. Above the promised ε the promise is refuted.",
    "Release": "One secure draw that may be published, paid from the lifetime budget of the data. "
    "All other pages are for the owner's screen, unless the data are public.",
    "Lifetime budget": "All of ε that may ever be spent on one data source.",
}
_CLUSTERS = {
    "True": "The result of the same method family without noise. Of data that aren't public nobody "
    "but the owner may see it.",
    "Average subband": "The counts smoothed by a wavelet: with Haar, the sum over blocks of 2 x 2 "
    "cells, halved.",
    "Significant cell": "A cell of the average subband that reaches the density threshold. "
    "Connected significant cells are a cluster.",
    "Found": "A true cluster whose match, the private cluster with most of its cells, overlaps it "
    "by more than half.",
    "Invented": "A private cluster with more than half of no true cluster, at least half of whose "
    "cells are not significant in truth.",
    "Lost": "A true cluster none of whose cells is significant any more.",
    "Merged": "A true cluster in one private cluster with another one that has at least half as "
    "many cells there.",
    "Split": "A true cluster more than half of whose cells are still significant, with no more "
    "than half of them in any private cluster.",
    "Shrunk, grown": "A true cluster that is neither found nor merged, lost or split: what is left "
    "of it is too small, or what holds it too large.",
    "Piece that split off": "A private cluster made of cells of true clusters that others hold.",
    "No centre, several (k-means)": "Each private centre belongs to the true centre nearest to it. "
    "A cluster without one has no centre; with two or more it has several.",
    "Far off (k-means)": "A private centre further from its true centre than half of the way to "
    "the next true one.",
}


def entries() -> Iterator[Entry]:
    """All terms in the order of the page."""
    for group, texts in (("Privacy", _PRIVACY), ("Clusters", _CLUSTERS)):
        yield from (Entry(term, group, text) for term, text in texts.items())
    for family in FAMILIES.values():
        scores = (family.scores[name] for name in family.telling)
        yield from (Entry(one.label, f"Scores of {family.title}", one.about) for one in scores)
        yield from (
            Entry(one.label, f"Settings of {family.title}", one.help)
            for one in family.own
            if one.help
        )
