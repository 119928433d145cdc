"""Basic tools: errors, caches, threads, files. They do not depend on data or privacy."""
