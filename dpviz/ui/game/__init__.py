"""The page of the game."""
