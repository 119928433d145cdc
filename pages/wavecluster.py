"""WaveCluster explorer: controls -> configuration -> run -> figures, true beside private."""

from dpviz.ui.page import run_page
from dpviz.ui.wavecluster import build, page_state

run_page("wavecluster", page_state, build)
