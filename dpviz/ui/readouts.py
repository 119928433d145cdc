"""Readouts beside the picture: figures with a line of help, the ledger, the promise."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.privacy.claim import EXPLORATION, Claim
from dpviz.privacy.ledger import Ledger, Relation

_LEDGER_COLOURS = ("#0b6aa2", "#b35a00", "#5f4bb6", "#2a7f2a", "#8a3030", "#4a5560")


@dataclass(frozen=True)
class Readout:
    """One figure: what it is called, its value, the true one beside it, a line of help."""

    label: str
    value: str
    beside: str
    help: str


def show_readouts(
    readouts: Sequence[Readout], place: DeltaGenerator | None = None
) -> DeltaGenerator:
    """Show figures in a row of cards; the help of each opens on hover and on focus.

    Parameters
    ----------
    readouts
        What to show.
    place
        What an earlier call returned, to be replaced; an ``st.empty`` would blink.

    Returns
    -------
    DeltaGenerator
        The place of the cards.
    """
    cards = "".join(
        '<div class="dpv-card" tabindex="0" role="group" '
        f'aria-label="{html.escape(f"{one.label}: {one.value} {one.beside}. {one.help}")}">'
        f'<span class="dpv-label">{html.escape(one.label)}</span>'
        f'<span class="dpv-value">{html.escape(one.value)}</span>'
        f'<span class="dpv-beside">{html.escape(one.beside)}</span>'
        f'<span class="dpv-help" role="tooltip">{html.escape(one.help)}</span></div>'
        for one in readouts
    )
    return (place or st).html(f'{_STYLE}<div class="dpv-cards">{cards}</div>')


def show_ledger(ledger: Ledger, epsilon: float) -> None:
    """Show the spends as one stacked bar with their noise scales."""
    parts, rows = [], []
    for number, spend in enumerate(ledger):
        share = 100 * spend.epsilon / epsilon
        colour = _LEDGER_COLOURS[number % len(_LEDGER_COLOURS)]
        text = (
            f"{spend.step}: ε {spend.epsilon:.3g}, sensitivity {spend.sensitivity:.3g}, "
            f"noise scale {spend.scale:.3g}"
        )
        parts.append(
            f'<div style="width:{share:.3f}%;background:{colour}" title="{html.escape(text)}">'
            f"{html.escape(spend.step) if share > 12 else ''}</div>"
        )
        rows.append(f'<li><i style="background:{colour}"></i>{html.escape(text)}</li>')
    label = html.escape(f"Budget: {ledger.epsilon:.4g} of {epsilon:.4g} spent in {len(rows)} steps")
    st.html(
        f'<div class="dpv-ledger"><div class="dpv-bar" role="img" aria-label="{label}">'
        f"{''.join(parts)}</div><ul>{''.join(rows)}</ul></div>"
    )


def show_promise(claim: Claim, ledger: Ledger, epsilon: float, relation: Relation) -> None:
    """Say whether the run is private, what epsilon means in words, and what may leave the room."""
    badge = "private mechanism" if claim.private else "not private"
    kind = "yes" if claim.private else "no"
    words = f" {odds(epsilon, relation)}" if ledger.spends else ""
    st.html(
        f'<div class="dpv-promise"><span class="dpv-badge dpv-{kind}">{badge}</span>'
        f"<span>{html.escape(words)} {html.escape(claim.reason)} "
        f"<em>{html.escape(EXPLORATION)}</em></span></div>"
    )


def odds(epsilon: float, relation: Relation) -> str:
    """Epsilon in words: what one person's taking part can change."""
    factor = math.exp(min(epsilon, 700))
    times = f"{factor:.2f}" if factor < 2 else f"{factor:.1f}" if factor < 100 else f"{factor:,.0f}"
    with_you = (
        "with you as without you"
        if relation == "add_remove"
        else "with you as with another in your place"
    )
    return (
        f"ε = {epsilon:.3g}: any result is at most e^{epsilon:.3g} = {times} times as likely "
        f"{with_you}."
    )


_STYLE = """<style>
.dpv-cards{display:flex;flex-wrap:wrap;gap:.4rem}
.dpv-card{position:relative;flex:1 1 92px;min-width:92px;padding:.3rem .55rem .35rem;
 border:1px solid color-mix(in srgb,currentColor 18%,transparent);border-radius:.45rem;
 display:flex;flex-direction:column;line-height:1.25;font-variant-numeric:tabular-nums}
.dpv-card:focus-visible{outline:2px solid currentColor}
.dpv-label{font-size:.75rem;opacity:.8;white-space:nowrap}
.dpv-value{font-size:1.2rem;font-weight:600;white-space:nowrap}
.dpv-beside{font-size:.75rem;opacity:.8;white-space:nowrap;min-height:1em}
.dpv-help{display:none;position:absolute;top:100%;left:0;z-index:99;width:max-content;
 max-width:260px;padding:.4rem .55rem;border-radius:.4rem;font-size:.8rem;white-space:normal;
 background:#1f2933;color:#fff;box-shadow:0 2px 8px #0006}
.dpv-card:nth-last-child(-n+2) .dpv-help{left:auto;right:0}
.dpv-card:hover .dpv-help,.dpv-card:focus .dpv-help{display:block}
.dpv-bar{display:flex;height:1.5rem;border-radius:.35rem;overflow:hidden;
 background:color-mix(in srgb,currentColor 12%,transparent)}
.dpv-bar>div{color:#fff;font-size:.75rem;line-height:1.5rem;padding-left:.4rem;overflow:hidden;
 white-space:nowrap;box-sizing:border-box;border-right:1px solid #fff8}
.dpv-ledger ul{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1rem;margin:.25rem 0 0;
 padding:0;font-size:.8rem}
.dpv-ledger li{margin:0;padding:0;font-size:.8rem}
.dpv-ledger i{display:inline-block;width:.7em;height:.7em;border-radius:2px;margin-right:.35em}
.dpv-promise{font-size:.85rem;line-height:1.4}
.dpv-badge{display:inline-block;padding:0 .5rem;border-radius:.6rem;font-weight:600;
 margin-right:.4rem;color:#fff}
.dpv-yes{background:#1d6b3a}.dpv-no{background:#a33a00}
</style>"""
