"""The domain, its grid, and the counts of the grid's cells."""
