"""Speed benchmarks: ratios of times measured side by side. No test asserts a time."""
