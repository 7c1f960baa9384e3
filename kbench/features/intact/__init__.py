"""Whether an environment is what its lock file says."""
