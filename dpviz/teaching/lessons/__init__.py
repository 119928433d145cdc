"""Lessons as TOML files, and the code that reads the files."""
