"""A collection of runs of many machines, into which a forged or careless run does not get; and its site."""
