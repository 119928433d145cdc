"""The about page: version, which results are private, citations, licences, how to report a flaw."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import streamlit as st

from dpviz import __version__
from dpviz.base.lazy import pandas as pd
from dpviz.base.tables import read_beside
from dpviz.data.samples import sample, sample_names
from dpviz.families import CARDS
from dpviz.papers.references import ABSTRACT, LICENCE, REFERENCES, bibtex, our_bibtex
from dpviz.ui.messages import plain_text, show_caption
from dpviz.ui.session.address import where_files_go
from dpviz.ui.session.state import UrlState

#: Licences of packages and data, which the file NOTICE repeats.
LICENCES: dict[str, Any] = read_beside(__file__, Any, "licences")

_FLAW = (
    "If you find that a method, a release or a page of dpviz breaks a privacy promise, tell the "
    "maintainers of your copy before anybody else. Include the version, the link or the command, "
    "and your measurements, but no personal data."
)


def page_state() -> UrlState:
    """Return the state of the page, which has no controls."""
    return UrlState("about", {})


def build(state: UrlState) -> None:
    """Draw the page."""
    st.header(f"About dpviz {plain_text(__version__)}")
    st.markdown(f"{plain_text(ABSTRACT)}.")
    _private()
    _cite()
    _licences()
    st.header("Report a privacy flaw", anchor="flaw")
    st.markdown(_FLAW)
    st.code(
        "python -m dpviz audit privqt --variant published --runs 1000", "shell", wrap_lines=True
    )
    show_caption("An audit measures how well two neighbouring data sets can be distinguished.")
    state.write()


def _private() -> None:
    spending = [card for card in CARDS.values() if card.spends]
    proven = sum(any(one.private for one in card.variants) for card in spending)
    failing = [
        card.title
        for card in spending
        if not all(one.private for one in card.variants if one.name == "published")
    ]
    st.header("What is private, and what isn't", anchor="private")
    st.markdown(
        f"""
* **Private: a bundle that the Release page has made.** It comes from a mechanism with a proof, a
  declared domain, noise that no seed can repeat, and a recorded budget.
* **Not private: every other page.** Pictures, scores and tables show true results beside runs with
  a known seed. They are for the owner of the data, unless the data are public like the sample sets.
* **Methods:** {proven:d} of {len(spending)} methods with a budget have a variant that is private,
  with its proof on its card. As published, the claim fails for {plain_text(", ".join(failing))}:
  their cards say why.
* **Your data** stay on the computer that runs dpviz. {where_files_go()} No page asks another host,
  and no link contains a record."""
    )


def _cite() -> None:
    st.header("Cite", anchor="cite")
    st.markdown("Cite dpviz, and the paper of the method that you used:")
    st.code(our_bibtex(), language="latex", wrap_lines=True)
    st.markdown("\n".join(f"* {one.text}" for one in REFERENCES))
    st.download_button(
        "All of these (BibTeX)",
        bibtex,
        file_name="dpviz.bib",
        mime="text/x-bibtex",
        key="about:bibtex",
        on_click="ignore",
        icon=":material/download:",
    )


def _licences() -> None:
    st.header("Licences", anchor="licences")
    st.markdown(
        f"dpviz: {LICENCE}. Coastlines, borders and cities of maps: "
        "[Natural Earth](https://www.naturalearthdata.com), public domain. Positions of cities: "
        "[GeoNames](https://www.geonames.org), CC BY 4.0."
    )
    # This is a list, because a table would cut off long credits.
    samples = [sample(name) for name in sample_names()]
    st.markdown("Sample sets:")
    st.markdown(
        "\n".join(
            f"* {plain_text(f'{one.title} ({one.licence}): {one.credit}')}" for one in samples
        )
    )
    st.markdown("Packages:")
    st.dataframe(
        pd.DataFrame(
            {
                "package": list(LICENCES["packages"]),
                "version": [_version(name) for name in LICENCES["packages"]],
                "licence": list(LICENCES["packages"].values()),
            }
        ),
        hide_index=True,
        height="content",
        key="about:packages",
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
