"""Is it really epsilon-private? Lower bounds on the loss of a mechanism, from many runs."""

from dpviz.audit.runs import AuditResult, audit
from dpviz.audit.scenarios import Scenario, scenarios

__all__ = ["AuditResult", "Scenario", "audit", "scenarios"]
