"""The guest of `script`: runs a user's program in a backend's own Python, and observes what it does."""
