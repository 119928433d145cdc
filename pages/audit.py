"""Audit: one person, claimed and measured epsilon, and the cost of soundness."""

from dpviz.ui.audit.page import build, page_state
from dpviz.ui.page import run_page

run_page("audit", page_state, build)
