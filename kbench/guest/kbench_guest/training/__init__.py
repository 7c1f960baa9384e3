"""kbench's own training of an example, or run of it, and what it sees of that."""
