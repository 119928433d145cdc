"""Parts of the screen that pages share and that do not use a session's data."""
