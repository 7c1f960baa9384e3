"""The features: each folder here is one, and can be deleted. Its `feature.py` lists the hooks that it fills."""
