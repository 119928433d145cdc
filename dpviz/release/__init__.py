"""One secure release: debited first, run once; only its results are in the bundle."""

from dpviz.release.draw import Released, release
from dpviz.release.request import Request, refusal

__all__ = ["Released", "Request", "refusal", "release"]
