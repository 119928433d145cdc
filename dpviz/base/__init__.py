"""Basic tools: errors, caches, threads, files. These tools do not depend on data or privacy."""
