"""One secure release: first the debit, then one run; only results of the run are in the bundle."""

from dpviz.release.draw import Released, release, repeat
from dpviz.release.request import Request, refusal

__all__ = ["Released", "Request", "refusal", "release", "repeat"]
