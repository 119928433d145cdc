"""Docs: the documentation, served by the app itself."""

from dpviz.ui.page import run_page
from dpviz.ui.reference.docs import build, page_state

run_page("docs", page_state, build)
