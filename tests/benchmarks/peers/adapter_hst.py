"""Adapter for Google's clustering by hierarchically separated trees, with its default settings.

Its pipeline needs Apache Beam, which only passes records and cells on. The adapter passes them on
itself, in groups of records, so a stand-in replaces Beam. The exponent of the distances is 2, for
k-means. The noise comes from the seed, and so do the cuts of the tree, which are public.
"""

import sys
import types

import numpy as np
import pandas as pd
from protocol import serve

beam, options, pipeline = (
    types.ModuleType(name)
    for name in ("apache_beam", "apache_beam.options", "apache_beam.options.pipeline_options")
)
beam.DoFn = pipeline.PipelineOptions = object
sys.modules |= {one.__name__: one for one in (beam, options, pipeline)}
sys.path.insert(0, sys.argv[2])

from hst_clustering import dp_hst, dynamic_program, io  # noqa: E402 - of the checkout

LAYERS, DELTA = 10, 1e-5

#: The cells with records of the last seed, because several epsilons have the same cells.
_KNOWN = {}


def cells(points, seed):
    """Of each cell with records: its name, and its diameter, middle and number of records."""
    ndim = points.shape[1]
    level = [("", np.full(ndim, -1.0), np.full(ndim, 1.0), np.arange(len(points)))]
    found = []

    def add(level):
        for name, low, high, inside in level:
            diameter, middle, _ = dp_hst.get_diameter_center_one_count_tuple(low, high)
            found.append((name, (diameter, middle, float(len(inside)))))

    add(level)
    for layer in range(LAYERS):
        for axis in range(ndim):
            below = []
            for name, low, high, inside in level:
                cut = dp_hst.layer_dimension_threshold(
                    seed=seed,
                    layer=layer,
                    dimension=axis,
                    min_dimension_value=low[axis],
                    max_dimension_value=high[axis],
                )
                left = points[inside, axis] < cut
                for sign, part in (("1", inside[left]), ("0", inside[~left])):
                    if len(part):
                        ends = [low.copy(), high.copy()]
                        ends[sign == "1"][axis] = cut
                        below.append((name + sign, *ends, part))
            level = below
            add(level)
    return found


def fit(points, clusters, epsilon, seed):
    """Centres of one run; at most K."""
    np.random.seed(seed % 2**32)  # noqa: NPY002 - the generator that it draws from
    ndim = points.shape[1]
    if seed not in _KNOWN:
        _KNOWN.clear()
        _KNOWN[seed] = cells(points, seed)
    noise = dp_hst.GaussianThresholdMechansimFn(epsilon, DELTA, LAYERS * ndim)
    kept = [one for cell in _KNOWN[seed] for one in noise.process(cell)]
    features = [str(one) for one in range(ndim)]
    table = pd.DataFrame(
        [[name, f"{name}0", f"{name}1", size, number, *middle]
         for name, (size, middle, number) in kept],
        columns=["id", "right_child", "left_child", "diameter", "weight", *features],
    )  # fmt: skip
    tree = io.DataFrameToTree(table)
    tree.validate_tree(True)
    tree.solve_dp(clusters, exp=2.0)
    return np.unique(dynamic_program.get_centers_from_hst(table, tree, features), axis=0)


serve(fit)
