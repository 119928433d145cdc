"""Papers: what the papers say line by line, and what comes out."""

from dpviz.ui.page import run_page
from dpviz.ui.reference.papers import build, page_state

run_page("papers", page_state, build)
