"""What a user's program finds around it: its imports and its shell, and how its errors are shown."""
