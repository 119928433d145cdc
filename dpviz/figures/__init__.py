"""Plotly figures of results, with the table behind each figure; only this package uses Plotly."""
