"""Pages to read: about, benchmark, documentation, glossary, papers."""
