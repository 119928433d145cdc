"""The sentence above an explorer's picture, and the hint of the first visit."""

from __future__ import annotations

import html

import streamlit as st

from dpviz.family.headline import Headline
from dpviz.figures.panels import NO_NOISE
from dpviz.numbers import readable
from dpviz.privacy.explain import surest, surest_words

#: From so sure a guess on, at an epsilon of about 3, the sentence on it stands out.
_RISK = 0.95


def show_headline(
    headline: Headline,
    epsilon: float | None,
    hint: str,
    *,
    private: bool = False,
    persons: bool = False,
) -> None:
    """Show what broke, with its epsilon; the place for it is always the same.

    Parameters
    ----------
    headline
        Of the run on the screen.
    epsilon
        Its whole budget; None for a method without noise.
    private
        Whether the method keeps its promise: then the other side of the trade stands there, too.
    persons
        Whether the promise is to persons; else it is to single records.
    hint
        What to try first. The browser shows it until somebody closes it, and remembers that.
    """
    kind, sign, said = ("good", "✓", "nothing broke") if headline.intact else ("bad", "✗", "broken")
    at = NO_NOISE if epsilon is None else f"epsilon {readable(epsilon)}"
    parts, plain = [html.escape(headline.detail)], [headline.detail]
    if private and epsilon is not None:
        guess = "who" if persons else "which record"
        sure = f"a guess {guess} is in the data: {surest_words(epsilon)}"
        plain.append(sure)
        # What is found looks good: what that tells has to be as loud.
        parts.append(f'<span class="dpv-risk">{sure}</span>' if surest(epsilon) > _RISK else sure)
    detail, after = (" · ".join(filter(None, some)) for some in (parts, plain))
    mark = f'<i role="img" aria-label="{said}">{sign}</i>'
    whole = html.escape(f"{headline.text}: {at}. {after}".strip())
    detail = f'<span class="dpv-detail">{detail}</span>' * bool(after)
    sentence = f"{mark} <b>{html.escape(headline.text)}: {at}</b> {detail}"
    close = '<button type="button" aria-label="Close this hint">✕</button>'
    st.html(
        f'<div class="dpv-top"><p class="dpv-headline dpv-{kind}" title="{whole}">{sentence}</p>'
        f'<p class="dpv-hint">{html.escape(hint)}{close}</p></div>'
    )
