"""What is in the user's cache folder: what it takes, and what can be freed."""
