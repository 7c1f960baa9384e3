"""Several workers: one model trained by all of them, each on its part of every batch."""
