"""About: version, what is private, what to cite, licences."""

from dpviz.ui.about import build, page_state
from dpviz.ui.page import run_page

run_page("about", page_state, build)
