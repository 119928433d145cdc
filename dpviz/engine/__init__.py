"""Passes over the records for pictures and methods, computed once."""
