"""Readers for releases: how one record is read never depends on another one.

What is public, and so may refuse a release or decide how it is read: the name of a file, its first
line (or a header that a person gives), the types of the columns of Parquet and NumPy files, and how
large it is: its size, also unpacked, and its number of lines or rows. Each other line, and each
cell, is read by itself; what can't be read is missing.
"""
