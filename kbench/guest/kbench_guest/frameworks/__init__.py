"""The framework that this process runs, behind one interface: nothing outside this folder knows which one it is."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels


def load() -> "KerasModels":
    """The interface to the Keras that is loaded; an unknown backend gets the general answers."""
    import keras  # not above: a program without Keras uses this folder, too

    from kbench_guest.frameworks import keras2, keras3

    generation = keras2 if keras.__version__.startswith("2.") else keras3
    known = generation.BACKENDS.get(keras.backend.backend(), generation.AnyBackend)
    return known()
