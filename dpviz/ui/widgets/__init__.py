"""Parts of the screen that pages share; they know no data of a session."""
