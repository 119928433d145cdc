"""About: version, private and public results, citations, licences."""

from dpviz.ui.page import run_page
from dpviz.ui.reference.about import build, page_state

run_page("about", page_state, build)
