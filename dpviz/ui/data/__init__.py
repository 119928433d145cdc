"""Data on the screen: own files, columns, domain, privacy unit, and scale of maps."""
