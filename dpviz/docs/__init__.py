"""The documentation: hand-written and generated pages in Markdown, and the site built from them."""
