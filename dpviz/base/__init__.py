"""Ground: errors, caches, threads, files; knows nothing of data or privacy."""
