"""Readers for releases: how a record is read never depends on another record.

Public facts may decide how to read a file or whether to refuse it: its name, its first line (or a
given header), column types of Parquet and NumPy files, its size before and after unpacking, and its
number of lines or rows. Every other line and every cell is read separately; it is missing if it
can't be read.
"""
