"""The framework that this process runs, behind one interface: nothing outside this folder knows which one it is."""

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any, Type

from kbench_guest.protocol import Refused

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels


def load() -> "KerasModels":
    """The interface to the Keras that is loaded; an unknown backend gets the general answers. Raises Refused."""
    import keras  # not above: a program without Keras uses this folder, too

    number = keras.__version__.partition(".")[0]
    if number not in ("2", "3"):
        raise Refused("unsupported", f"Keras {keras.__version__} is not known: kbench measures Keras 2 and Keras 3")
    backend = "tensorflow2" if of_tensorflow2(keras) else keras.backend.backend().partition(".")[0]
    file = f"{__name__}.keras{number}_{backend}"
    if importlib.util.find_spec(file) is None:
        file = f"{__name__}.keras{number}"
    interface: Type[KerasModels] = importlib.import_module(file).INTERFACE
    return interface()


def of_tensorflow2(keras: Any) -> bool:
    """Whether this is the Keras 2 of TensorFlow 2: its layers, and no others, are TensorFlow's modules."""
    module = getattr(sys.modules.get("tensorflow"), "Module", None)
    return keras.__version__.startswith("2.") and isinstance(module, type) and issubclass(keras.layers.Layer, module)
