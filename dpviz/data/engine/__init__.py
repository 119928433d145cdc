"""Passes over stored records. Each task reads one part and returns only tables, never records."""
