"""Scores of a private result against the true one: not private, for the owner's screen."""
