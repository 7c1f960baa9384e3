"""Runs cells: each in a process of its own, with limits, and cleans up afterwards."""
