"""Figures of the audit page, each with a table behind it: a view is a file."""
