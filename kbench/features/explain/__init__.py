"""`--explain` and `--trace`: why rows differ, with further measurements."""
