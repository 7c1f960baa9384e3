"""Describes this machine and measures its speed: processor, memory, GPUs."""
