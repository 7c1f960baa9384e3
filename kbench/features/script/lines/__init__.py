"""The lines of a user's program: what they call, take and return."""
