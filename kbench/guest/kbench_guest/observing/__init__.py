"""Observes a user's program while it runs: the Keras that it imports, and the methods of models that it calls."""
