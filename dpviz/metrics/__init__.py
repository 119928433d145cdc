"""Scores that compare a private result with the true result; not private, for the owner only."""
