"""The parts of the audit page."""
