"""`script`: runs a user's own program on each backend."""
