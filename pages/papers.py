"""Papers: each claim of the papers beside the result that dpviz measures."""

from dpviz.ui.page import run_page
from dpviz.ui.reference.papers import build, page_state

run_page("papers", page_state, build)
