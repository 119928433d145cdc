"""Reading tables and count grids, and the sample sets."""
