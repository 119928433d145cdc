"""The audit page: one person, claimed and measured epsilon, and a table of all audits."""

from __future__ import annotations

from dpviz.ui.audit import claims, person
from dpviz.ui.audit.stored import cost_overview, detected_mistakes
from dpviz.ui.page import live_part
from dpviz.ui.session.state import UrlState


def page_state() -> UrlState:
    """All controls of the page, with values from the link or the session."""
    state = UrlState("audit", {**person.CONTROLS, **claims.CONTROLS})
    if state.fresh:
        claims.correct_link(state)
    return state


def build(state: UrlState) -> None:
    """Draw the page."""
    live_part(person.one_person, state)
    live_part(claims.claims, state)
    detected_mistakes()
    cost_overview()
