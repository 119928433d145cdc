"""The explorer pages of both families."""
