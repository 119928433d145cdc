"""k-means explorer: controls -> configuration -> run -> figures, true beside private."""

from dpviz.ui.kmeans import page_state
from dpviz.ui.kmeans_view import build
from dpviz.ui.page import run_page

run_page("kmeans", page_state, build)
