"""Benchmark: all methods and their peers at equal epsilon."""

from dpviz.ui.benchmark import build, page_state
from dpviz.ui.page import run_page

run_page("benchmark", page_state, build)
