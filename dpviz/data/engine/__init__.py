"""Passes over stored records: one task per part, and a task returns only tables."""
