"""The guest of `coverage`: tries public names of Keras in a backend's own Python."""
