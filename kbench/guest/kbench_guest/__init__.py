"""The guest: runs and measures a program in a backend's own Python. It needs numpy and that framework alone."""
