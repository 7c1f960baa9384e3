"""The guest of `--explain` and `--trace`: looks into a training step in a backend's own Python."""
