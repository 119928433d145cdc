"""The explorer pages of both families."""

#: Families whose first method has run in this process, so that its code is compiled.
PREPARED: set[str] = set()
