"""Many runs: draws of one setting, sweeps over settings, and what to choose."""
