"""Readers of tables and count grids, and the sample sets."""
