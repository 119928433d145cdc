"""The game "In or out?": its rules, and rooms in which a class plays the game."""
