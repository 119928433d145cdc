"""The documentation: pages in Markdown, others written from the code, and the site made of them."""
