"""Lessons and the game: texts and rules, without a screen."""
