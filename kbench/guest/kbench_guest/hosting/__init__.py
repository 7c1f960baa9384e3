"""What a user's program finds around it: its imports, its shell, its downloads, and names of the other Keras."""
