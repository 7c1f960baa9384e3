"""The guest of `parity`: computes one batch layer by layer, and a few steps, in a backend's own Python."""
