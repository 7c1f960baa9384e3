"""Gives `import keras` the Keras 2 that is installed as tf_keras, where TF_USE_LEGACY_KERAS asks for it.

TensorFlow itself heeds that variable for `tensorflow.keras` alone. This file imports nothing of kbench: a copy of it
serves the Python processes that a program starts.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from typing import Any, Optional

PACKAGE = "tf_keras"


def package() -> str:
    """The package that is Keras in this process."""
    asked = os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True")  # as TensorFlow reads it
    return PACKAGE if asked and importlib.util.find_spec(PACKAGE) is not None else "keras"


def install() -> None:
    """From now on `keras` and its modules are those of `package()`."""
    if package() == PACKAGE:
        sys.meta_path.insert(0, Renamed())
    elif _is_of_tensorflow():
        # Up to TensorFlow 2.15 Keras 2 is `keras` itself; 2.15 would look for `tensorflow.keras` in tf_keras.
        os.environ.pop("TF_USE_LEGACY_KERAS", None)


def _is_of_tensorflow() -> bool:
    """Whether `keras` is the Keras 2 that is `tensorflow.keras`, from 2.6 on; told without importing it."""
    found = importlib.util.find_spec("keras")
    folders = list(found.submodule_search_locations or ()) if found is not None else []
    return any(os.path.isdir(os.path.join(folder, "api", "_v2")) for folder in folders)


class Renamed:
    """A finder of `keras` and `keras.*`, which are the modules of the same names in tf_keras."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        if name.partition(".")[0] != "keras":
            return None
        own = PACKAGE + name[len("keras") :]
        if name == "keras":
            # Before there is an empty module of this name: what watches the import looks at Keras.
            importlib.import_module(PACKAGE)
        try:
            found = importlib.util.find_spec(own)
        except (ImportError, ValueError):
            found = None
        if found is None:
            return None
        made = importlib.machinery.ModuleSpec(name, self, origin=found.origin)  # type: ignore[arg-type]
        made.submodule_search_locations = found.submodule_search_locations
        return made

    @staticmethod
    def create_module(spec: importlib.machinery.ModuleSpec) -> None:
        """A new one, which the module itself replaces."""

    @staticmethod
    def exec_module(module: Any) -> None:
        name = module.__spec__.name
        sys.modules[name] = importlib.import_module(PACKAGE + name[len("keras") :])
