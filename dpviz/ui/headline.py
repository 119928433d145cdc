"""The sentence above an explorer's picture, and the hint of the first visit."""

from __future__ import annotations

import html

import streamlit as st

from dpviz.family.headline import Headline
from dpviz.numbers import readable


def show_headline(headline: Headline, epsilon: float | None) -> None:
    """Show what broke, with its epsilon; the place for it is always the same.

    Parameters
    ----------
    headline
        Of the run on the screen.
    epsilon
        Its whole budget; None for a method without noise.
    """
    kind, sign, said = ("good", "✓", "nothing broke") if headline.intact else ("bad", "✗", "broken")
    at = "no noise" if epsilon is None else f"epsilon {readable(epsilon)}"
    detail = f'<span class="dpv-detail">{html.escape(headline.detail)}</span>'
    st.html(
        f'<p class="dpv-headline dpv-{kind}"><i role="img" aria-label="{said}">{sign}</i> '
        f"<b>{html.escape(headline.text)}: {at}</b> {detail if headline.detail else ''}</p>"
    )
