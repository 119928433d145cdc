"""Passes over stored records: one task a part, and nothing but tables leaves it."""
