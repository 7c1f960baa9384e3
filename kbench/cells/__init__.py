"""Runs the cells of a plan: each in a process of its own, watched, and cleaned up after."""
