"""The sentence above an explorer's picture, and the hint of the first visit."""

from __future__ import annotations

import html

import streamlit as st

from dpviz.base.numbers import readable
from dpviz.family.headline import Headline
from dpviz.figures.panels import NO_NOISE
from dpviz.privacy.explain import explain_guess
from dpviz.ui.widgets.readouts import Promise


def show_headline(headline: Headline, promise: Promise, hint: str) -> None:
    """Say whether the clusters are intact, and show the epsilon of the run.

    If the promise is kept, also show how sure someone may become about a person. The browser shows
    the hint until the user closes the hint, and remembers that it was closed.
    """
    kind, sign, said = ("good", "✓", "nothing broke") if headline.intact else ("bad", "✗", "broken")
    at = NO_NOISE if promise.epsilon is None else f"epsilon {readable(promise.epsilon)}"
    parts, plain = [html.escape(headline.detail)], [headline.detail]
    if promise.kept is not None:
        sure = explain_guess(promise.kept, promise.neighbours, persons=promise.persons)
        plain.append(sure)
        # Good results attract attention, so a weak promise must be as visible as the results.
        parts.append(f'<span class="dpv-risk">{sure}</span>' if promise.little else sure)
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
