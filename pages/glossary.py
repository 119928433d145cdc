"""Glossary: every term of the screen in one or two sentences."""

from dpviz.ui.glossary import build, page_state
from dpviz.ui.page import run_page

run_page("glossary", page_state, build)
