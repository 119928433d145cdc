"""WaveCluster explorer: controls -> configuration -> run -> figures, true beside private."""

from dpviz.ui.explorer.wavecluster import WaveClusterExplorer
from dpviz.ui.page import run_page

run_page("wavecluster", WaveClusterExplorer.page_state, WaveClusterExplorer.build)
