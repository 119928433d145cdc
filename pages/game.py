"""Game "In or out?": one player or a class guesses whether one person is in the data."""

from dpviz.ui.game.page import build, page_state
from dpviz.ui.page import run_page

run_page("game", page_state, build)
