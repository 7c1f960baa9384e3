"""The guest of runtimes: makes an example's model with Keras, exports it, and runs what was exported."""
