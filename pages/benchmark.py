"""Benchmark: all methods, and methods of other programs, at equal epsilon."""

from dpviz.ui.page import run_page
from dpviz.ui.reference.benchmark import build, page_state

run_page("benchmark", page_state, build)
