"""Keras in miniature, on numpy: as much of Keras 2 as kbench's guest and a softmax regression need."""

import os

from keras import backend, callbacks, initializers, layers, models, optimizers

# Another version than the installed one, for tests of a broken installation.
__version__ = os.environ.get("FAKE_KERAS_VERSION", "2.99.1")
__all__ = ["backend", "callbacks", "initializers", "layers", "models", "optimizers"]
