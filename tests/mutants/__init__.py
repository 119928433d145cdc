"""Mistakes that tests have to find: each changes code that privacy or scores depend on."""
