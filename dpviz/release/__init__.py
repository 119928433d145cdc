"""One secure release: debited first, drawn once, and a bundle that holds nothing else."""

from dpviz.release.draw import Released, release
from dpviz.release.request import Request, refusal

__all__ = ["Released", "Request", "refusal", "release"]
