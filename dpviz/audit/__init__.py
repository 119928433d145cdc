"""Audits of the claim that a mechanism is epsilon-private: lower bounds on its privacy loss."""

from dpviz.audit.runs import AuditResult, audit
from dpviz.audit.scenarios import Scenario, scenarios

__all__ = ["AuditResult", "Scenario", "audit", "scenarios"]
