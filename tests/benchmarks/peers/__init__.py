"""Adapters: each runs in the environment of its peer, not in that of dpviz."""
