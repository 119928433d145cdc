"""Shared code of the audit page's parts: budgets, results of a session, and one audit."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from dpviz.audit.runs import AuditResult, audit
from dpviz.base.work import IsCancelled, Progress


class AuditRequest(NamedTuple):
    """Arguments of an audit."""

    method: str
    variant: str
    scenario: str
    claim: float
    runs: int
    seed: int


Results = dict[AuditRequest, AuditResult]


def results() -> Results:
    """Results of this session, oldest first."""
    found: Results = st.session_state.setdefault("audit:found", {})
    return found


def run_audit(
    request: AuditRequest, found: Results, *, progress: Progress, cancelled: IsCancelled
) -> None:
    """Run one audit and add its result."""
    result = audit(**request._asdict(), progress=progress, cancelled=cancelled)
    found.pop(request, None)
    found[request] = result
