"""View of the average subbands, true next to private."""

from dpviz.figures.wavecluster.picture import WaveClusterPicture
from dpviz.figures.wavecluster.stage import StagePair, draw_values


def draw(picture: WaveClusterPicture) -> StagePair:
    """Plot the average subbands."""
    pair = (picture.true.average, picture.private.average)
    return draw_values(picture, "Average subband", pair, picture.true.level, "coefficient")
