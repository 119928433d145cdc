"""The k-means family: shared parts of all its methods."""
