"""The protocol between an adapter and the benchmark.

The benchmark starts ``python adapter_NAME.py REQUEST [CHECKOUT ...]``. The request is a JSON file:
``points`` (path of an .npy file, shape (n, d), in the box [-1, 1]^d), ``clusters`` and ``runs``, a
list of ``[epsilon, seed]``. As soon as a run is finished, the adapter prints one line of JSON on
standard output: ``{"epsilon": ..., "seed": ..., "centers": [[...], ...], "seconds": ...}``. The
centres are in the same box, the seconds are CPU seconds, and a failed run has the key ``"error"``
with one sentence, and no centres. All other output of a peer goes to standard error. For a density
method, ``clusters`` has its settings, points have its units, and cells replace the centres. This
file needs only NumPy.
"""

import contextlib
import json
import sys
import time

import numpy as np


def serve(fit):
    """Answer the request by calls of ``fit(points, clusters, epsilon, seed)``: centres (K, d)."""
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    points = np.load(request["points"])
    for epsilon, seed in request["runs"]:
        answer = {"epsilon": epsilon, "seed": seed}
        start = time.process_time()
        try:
            with contextlib.redirect_stdout(sys.stderr):
                centers = np.asarray(fit(points.copy(), request["clusters"], epsilon, seed))
            if not np.isfinite(centers).all():
                raise ValueError("a centre is not finite")
            answer["centers"] = centers.tolist()
        except Exception as error:  # any error of a peer is its answer
            answer["error"] = f"{type(error).__name__}: {error}"[:200]
        answer["seconds"] = time.process_time() - start
        print(json.dumps(answer), flush=True)
