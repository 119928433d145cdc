"""Docs: the documentation, which this server serves by itself."""

from dpviz.ui.docs import build, page_state
from dpviz.ui.page import run_page

run_page("docs", page_state, build)
