"""Finds or creates each backend's Python environment, from its lock file."""
