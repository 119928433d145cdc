"""One secure release: debited first, drawn once, with only its results in the bundle."""

from dpviz.release.draw import Released, release
from dpviz.release.request import Request, refusal

__all__ = ["Released", "Request", "refusal", "release"]
