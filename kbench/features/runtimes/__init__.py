"""Models that Keras has exported, run by runtimes without Keras."""
