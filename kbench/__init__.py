"""kbench: the same Keras models, measured on every Keras backend."""

__version__ = "0.1.0"
