"""WaveCluster explorer: controls, run, and figures of the true run beside the private run."""

from dpviz.ui.explorer.wavecluster import WaveClusterExplorer
from dpviz.ui.page import run_page

run_page("wavecluster", WaveClusterExplorer.page_state, WaveClusterExplorer.build)
