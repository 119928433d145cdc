"""Reading for exploring."""
