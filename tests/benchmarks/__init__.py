"""Speed benchmarks, which compare times that are measured in one run. No test asserts a time."""
