"""Words: how numbers, names and findings are put for people."""
