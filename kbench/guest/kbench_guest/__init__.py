"""The guest: builds and measures an example in a backend's own Python. Standard library, numpy and keras alone."""
