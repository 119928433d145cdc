"""Release: declared domain, budget, review, one secure random run, a bundle to download."""

from dpviz.ui.page import run_page
from dpviz.ui.release.controls import page_state
from dpviz.ui.release.view import build

run_page("release", page_state, build)
