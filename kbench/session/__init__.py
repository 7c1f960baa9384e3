"""Measures: plan, prepare, run the cells, record. Prints nothing and knows no command line: see `events`."""
