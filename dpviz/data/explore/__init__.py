"""Readers for exploring. These readers may guess the form of a file, and they report each guess."""
