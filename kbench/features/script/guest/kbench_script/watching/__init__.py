"""Watches a user's program while it runs: what it calls of its models, and what that takes and returns."""
