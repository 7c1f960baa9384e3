"""Whether rows do the same work, and what is declared of how they may differ."""
