"""Why the rows of a run differ: what was looked into, in sentences and tables."""
