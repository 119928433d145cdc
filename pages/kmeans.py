"""k-means explorer: controls -> configuration -> run -> figures, true beside private."""

from dpviz.ui.explorer.kmeans import build, page_state
from dpviz.ui.page import run_page

run_page("kmeans", page_state, build)
