"""k-means explorer: controls, run, and figures of the true run beside the private run."""

from dpviz.ui.explorer.kmeans import KMeansExplorer
from dpviz.ui.page import run_page

run_page("kmeans", KMeansExplorer.page_state, KMeansExplorer.build)
