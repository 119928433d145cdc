"""Readers for exploring: they may guess, and say what they took for what."""
