"""Compare: scores as curves over epsilon with bands, for any methods and data sets."""

from dpviz.ui.compare.controls import page_state
from dpviz.ui.compare.view import build
from dpviz.ui.page import run_page

run_page("compare", page_state, build)
