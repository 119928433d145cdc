"""The explorer pages of both families."""

#: Families whose first method has run in this process, or whose code is on disk.
PREPARED: set[str] = set()
