"""What each of Keras's public names does on each backend: the cases, and whether the results are right."""
