"""What is kept of large arrays in a parity run's files, and weights that are moved by the least that can be."""

import numpy as np

KEPT_OUTPUTS = 1 << 22  # of the model's outputs
KEPT_WEIGHTS = 1 << 18  # numbers of a weight that are kept, drawn from all of it


def at_most(outputs):
    """All numbers of the outputs, or the first ones."""
    found = np.asarray(outputs, "float32")
    return found if found.size <= KEPT_OUTPUTS else found.reshape(-1)[:KEPT_OUTPUTS]


def drawn_numbers(value):
    """All numbers of a weight, or many of them, drawn alike on every backend."""
    flat = np.ascontiguousarray(value, "float32").reshape(-1)
    if flat.size <= KEPT_WEIGHTS:
        return flat
    return flat[np.random.RandomState(0).randint(0, flat.size, KEPT_WEIGHTS)]


def moved(value):
    """About half of the numbers of a weight, drawn alike everywhere, moved by one unit in the last place."""
    if value.dtype.kind != "f":
        return value
    chosen = np.random.RandomState(0).rand(*value.shape) < 0.5
    return np.where(chosen, np.nextafter(value, np.inf, dtype=value.dtype), value)
