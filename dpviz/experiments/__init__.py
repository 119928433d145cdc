"""Many runs: draws of one setting, sweeps over settings, and the search for good settings."""
