"""The game "In or out?": guess whether one person is in the data, alone or as a class."""

from dpviz.ui.game.page import build, page_state
from dpviz.ui.page import run_page

run_page("game", page_state, build)
