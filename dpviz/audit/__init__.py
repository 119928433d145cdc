"""Audits of the claim that a mechanism is epsilon-private: lower bounds on its privacy loss."""

from dpviz.audit.external import ExternalAudit, assert_private, audit_external
from dpviz.audit.runs import AuditResult, audit
from dpviz.audit.scenarios import Scenario, scenarios

__all__ = [
    "AuditResult",
    "ExternalAudit",
    "Scenario",
    "assert_private",
    "audit",
    "audit_external",
    "scenarios",
]
