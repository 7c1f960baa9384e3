"""A backend's own Python: found or made, installed from its lock file, reused."""
