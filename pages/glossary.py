"""Glossary: every term of the screen in one or two sentences."""

from dpviz.ui.page import run_page
from dpviz.ui.reference.glossary import build, page_state

run_page("glossary", page_state, build)
