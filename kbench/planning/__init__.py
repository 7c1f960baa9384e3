"""From a request to a plan: the cells of a run, in order."""
