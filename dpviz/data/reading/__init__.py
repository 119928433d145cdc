"""Reading tables and grids of counts: one format a file."""
