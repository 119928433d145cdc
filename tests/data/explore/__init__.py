"""Tests of the readers for exploring."""
