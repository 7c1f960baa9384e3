"""`parity`: whether backends compute the same on one batch: outputs, layers, loss and the first steps."""

KIND = "parity"  # of a run
