"""Audit: one person, claimed against measured epsilon, and what soundness costs."""

from dpviz.ui.audit.page import build, page_state
from dpviz.ui.page import run_page

run_page("audit", page_state, build)
