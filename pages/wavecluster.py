"""WaveCluster explorer: controls -> configuration -> run -> figures, true beside private."""

from dpviz.ui.explorer.wavecluster import build, page_state
from dpviz.ui.page import run_page

run_page("wavecluster", page_state, build)
