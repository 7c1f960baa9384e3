"""Runs side by side, and a run beside figures from the literature."""
