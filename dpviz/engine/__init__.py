"""Passes over the records: what pictures and methods read of them, computed once."""
