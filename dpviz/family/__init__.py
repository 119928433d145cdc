"""The common interface of both families, and code that uses only this interface."""
