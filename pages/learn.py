"""Learn: lessons beside the explorers that they explain."""

from dpviz.ui.learn.page import build, page_state
from dpviz.ui.page import run_page

run_page("learn", page_state, build)
