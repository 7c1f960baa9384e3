"""The guest of `--shims`: what the other generation of Keras has and this one lacks."""
