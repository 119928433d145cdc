"""Readers for releases: how one record is read never depends on another one.

What is public, and so may refuse a release or decide how it is read: the name and size of a file,
its first line (or a header that a person gives), and the types of the columns of Parquet and NumPy
files. Each other line, and each cell, is read by itself; what can't be read is missing.
"""
