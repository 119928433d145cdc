"""Pages for reference: about, benchmark, documentation, glossary, papers."""
