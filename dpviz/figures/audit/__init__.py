"""Figures of the audit page, each with its table; each view has a separate file."""
