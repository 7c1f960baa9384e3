"""The framework that this process runs, behind one interface: nothing outside this folder knows which one it is."""


def load():
    """The interface to the Keras that is loaded; a backend that nobody knows gets the general answers."""
    import keras  # not above: a program without Keras uses this folder, too

    from kbench_guest.frameworks import keras2, keras3

    generation = keras2 if keras.__version__.startswith("2.") else keras3
    known = generation.BACKENDS.get(keras.backend.backend(), generation.AnyBackend)
    return known()
