"""What a user sees of a run: the plan, the progress, the tables."""
