"""The audit page, part by part."""
