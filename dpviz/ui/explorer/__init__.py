"""The explorers of both families."""
