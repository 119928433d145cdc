"""Mistakes that tests have to find: each is one changed line of what privacy and scores rest on."""
