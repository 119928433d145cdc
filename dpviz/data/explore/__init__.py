"""Readers for exploring. They may guess the form of a file, and they report each guess."""
