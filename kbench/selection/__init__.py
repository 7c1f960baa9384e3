"""Finds the backends, builds, examples and scripts that the user named."""
