"""Readers for exploring. They may guess, and then report their guesses."""
