"""Is it really epsilon-private? Lower bounds on the loss of a mechanism, from many runs."""

from dpviz.audit.runs import AuditCancelled, AuditResult, audit
from dpviz.audit.scenarios import Scenario, scenarios

__all__ = ["AuditCancelled", "AuditResult", "Scenario", "audit", "scenarios"]
