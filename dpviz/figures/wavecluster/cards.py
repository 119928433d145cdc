"""Cards of the stages of a WaveCluster run, in the order of the method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpviz.base.numbers import counted, readable
from dpviz.figures.stages import StageCard, Thumbnail, Thumbnails, of_labels, of_values, shrunk
from dpviz.figures.wavecluster.picture import WaveClusterPicture
from dpviz.figures.wavecluster.significant import palette
from dpviz.figures.wavecluster.stage import scale_end
from dpviz.wavecluster.pipeline import Run, Stages

#: Steps of the ledger whose noise is not in the counts.
_OTHERS = ("records", "nonpositive", "threshold")


def cards(picture: WaveClusterPicture) -> list[StageCard]:
    """Return a card for each stage of a true and a private run."""
    run = picture.run
    assert run is not None  # noqa: S101 - an explorer has the run
    true, private = picture.stages
    end, n, made = scale_end(true.counts), true.n_clusters, private.n_clusters
    significant = counted(int(private.significant.sum()), "cell")
    size = " x ".join(map(str, true.counts.shape))
    flat = private.threshold.sampled and not any(map(np.any, private.details[0].values()))
    filter_ = f"{private.wavelet}, level {private.level}"
    return [
        StageCard(
            name="counts",
            fact=size,
            said=f"{size} cells",
            parameters=("grid",),
            thumbnails=_both(lambda one: of_values(one.counts, end, picture.mode), picture.stages),
        ),
        _noise(picture, run),
        StageCard(
            name="wavelet",
            fact="all details are 0" if flat else filter_,
            said="details are 0, because the cells of a block are equal" * flat
            or f"an average and {3 * private.level} details",
            parameters=("wavelet", "level"),
            thumbnails=_mosaics(picture),
            offer=flat,
        ),
        StageCard(
            name="cut",
            fact=f"k′ {run.k:,}",
            said=f"k′ {run.k:,} of {true.threshold.k or 0:,} true; {significant} significant",
            parameters=("density",),
            thumbnails=_cut(picture),
        ),
        StageCard(
            name="clusters",
            fact=counted(made, "cluster"),
            said=f"{counted(made, 'cluster')} of {n:,} true",
            parameters=(),
            thumbnails=_both(lambda one: of_labels(one, n, picture.mode), picture.labels),
        ),
    ]


def _both(draw: Callable[[Any], Thumbnail], pair: tuple[Any, Any]) -> Thumbnails:
    return draw(pair[0]), draw(pair[1])


def _noise(picture: WaveClusterPicture, run: Run) -> StageCard:
    spends = [one for one in run.ledger if one.step not in _OTHERS]
    if not spends:
        return StageCard(
            name="noise", fact="none is added", said="this method adds no noise",
            parameters=("epsilon", "alpha"), missing=True, offer=True,
        )  # fmt: skip
    low, high = (readable(end(one.scale for one in spends), 3) for end in (min, max))
    fact = f"scale {low}" if low == high else f"scale {low} to {high}"
    steps = [f"{one.step} {readable(one.scale, 3)}" for one in run.ledger]
    said = f"scale of the noise: {'; '.join(steps)}"
    if picture.denoised:
        fact += ", denoised"
        said += "; the picture shows private minus true counts after the method's own denoising"
    added = picture.private.counts - picture.true.counts
    end = scale_end(added)
    return StageCard(
        name="noise",
        fact=fact,
        said=said,
        parameters=("epsilon", "alpha"),
        thumbnails=_both(lambda one: of_values(one, end, picture.mode), (0 * added, added)),
    )


def _mosaics(picture: WaveClusterPicture) -> Thumbnails:
    bands = [band for level in picture.true.details for band in level.values()]
    ends = scale_end(picture.true.average), max(map(scale_end, bands))

    def draw(stages: Stages) -> Thumbnail:
        mosaic = stages.average / ends[0]
        for level in reversed(stages.details):
            ad, da, dd = (level[name] / ends[1] for name in ("ad", "da", "dd"))
            # Padding may make the parts of the coarser level larger.
            mosaic = np.block([[mosaic[: len(ad), : ad.shape[1]], ad], [da, dd]])
        return of_values(mosaic, 1.0, picture.mode)

    return _both(draw, picture.stages)


def _cut(picture: WaveClusterPicture) -> Thumbnails:
    true, private = (shrunk(stages.significant).astype(np.uint8) for stages in picture.stages)
    colours = tuple(palette(picture.mode))
    return _both(
        lambda codes: Thumbnail(codes=codes, palette=colours), (3 * true, true + 2 * private)
    )
