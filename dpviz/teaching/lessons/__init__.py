"""Lessons as Markdown files, and what reads them."""
