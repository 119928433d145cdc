"""Adapters. Each adapter runs in the environment of its peer, not in the environment of dpviz."""
