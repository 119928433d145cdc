"""k-means explorer: controls -> configuration -> run -> figures, true beside private."""

from dpviz.ui.explorer.kmeans import KMeansExplorer
from dpviz.ui.page import run_page

run_page("kmeans", KMeansExplorer.page_state, KMeansExplorer.build)
