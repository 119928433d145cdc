"""Scores that compare private and true results: not private, so only for the owner."""
