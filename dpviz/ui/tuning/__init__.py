"""The panel "Find parameters" of the explorers."""
