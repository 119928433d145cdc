"""WaveCluster explorer: controls -> configuration -> run -> figures, true beside private."""

from dpviz.ui.page import run_page
from dpviz.ui.wavecluster import page_state
from dpviz.ui.wavecluster_view import build

run_page("wavecluster", page_state, build)
