"""Readers of tables and grids of counts, with one module per format."""
