"""Lessons and the game: texts and rules, without the user interface."""
