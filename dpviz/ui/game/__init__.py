"""The page of the game "In or out?"."""
