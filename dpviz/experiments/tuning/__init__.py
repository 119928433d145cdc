"""Searches over settings: the smallest budget, the best parameters, and the null set."""
