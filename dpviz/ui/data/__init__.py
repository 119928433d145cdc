"""Data on the screen: own files, columns, domain, and what they stand for."""
