"""What is told and kept: axes, backends, cells, what a guest reports, findings. Small frozen values."""
