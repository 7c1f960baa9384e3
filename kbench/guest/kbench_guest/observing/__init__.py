"""What is seen of a user's program while it runs: which Keras it loads, and what it calls of its models."""
