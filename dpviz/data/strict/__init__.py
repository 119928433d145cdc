"""Readers for releases: the reading of one record never depends on another record.

Some facts are public, so they may decide how to read a file or whether to refuse it: its name, its
first line (or a given header), the column types of Parquet and NumPy files, its size before and
after unpacking, and its number of lines or rows. Every other line and every cell is read
separately. If a line or cell can't be read, it is missing.
"""
