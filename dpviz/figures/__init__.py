"""Results -> Plotly figures, and the table behind each; the only part that uses Plotly."""
