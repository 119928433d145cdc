"""Domain, its grid, and the counts of its cells."""
