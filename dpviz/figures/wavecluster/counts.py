"""View of the count grids, true next to private."""

from dpviz.figures.wavecluster.picture import WaveClusterPicture
from dpviz.figures.wavecluster.stage import StagePair, draw_values


def draw(picture: WaveClusterPicture) -> StagePair:
    """Plot the count grids."""
    pair = (picture.true.counts, picture.private.counts)
    return draw_values(picture, "Count grid", pair, 0, "records")
