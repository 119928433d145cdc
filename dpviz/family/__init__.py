"""The common interface of all families, and code that uses only this interface."""
