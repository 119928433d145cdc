"""Scores that compare private and true results; they are not private, but for the owner."""
