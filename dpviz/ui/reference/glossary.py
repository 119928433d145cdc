"""The page of the glossary: one or two sentences for every term of the screen."""

from __future__ import annotations

import html

import streamlit as st

from dpviz.docs.glossary import entries
from dpviz.ui.messages import docs_link
from dpviz.ui.session.state import Control, UrlState, choice
from dpviz.ui.widgets.show import segments

#: Parts of the page; each has the beginnings of the names of its groups.
PARTS = {
    "all": "All terms",
    "privacy": "Privacy",
    "clusters": "Clusters",
    "scores": "Scores",
    "settings": "Settings",
}


def page_state() -> UrlState:
    """State of the page: the part that is shown, from the link or the session."""
    return UrlState("glossary", {"part": Control("all", choice("part", tuple(PARTS)))})


def build(state: UrlState) -> None:
    """Show the terms of a part."""
    segments(state, "part", "Part", PARTS, label_visibility="collapsed")
    part = state.get("part")
    found = [one for one in entries() if part in ("all", one.group.partition(" ")[0].lower())]
    # The groups have the order of their first terms.
    for group in dict.fromkeys(one.group for one in found):
        rows = "".join(
            f"<dt>{html.escape(one.term)}</dt><dd>{html.escape(one.text)}</dd>"
            for one in found
            if one.group == group
        )
        heading = f"<h2>{html.escape(group)}</h2>"
        st.html(f'<section>{heading}<dl class="dpv-terms">{rows}</dl></section>')
    st.markdown(docs_link("scores", "Formulas and sources of all scores"))
    state.write()
