"""The contract that both families keep, and what is written against it alone."""
