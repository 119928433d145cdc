"""The release page."""
