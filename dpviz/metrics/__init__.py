"""Scores that compare private and true results; they are not private: for the owner only."""
