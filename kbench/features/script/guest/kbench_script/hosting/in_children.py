"""Lets Keras load as kbench chose in each Python process that the program starts, whatever the program sets.

Copied as sitecustomize.py into the cell's KERAS_HOME, which is on the program's PYTHONPATH, with legacy_keras.py
beside it. Python runs it at once.
"""

import importlib.machinery
import importlib.util
import json
import os
import sys
from typing import Any

HOME = os.path.dirname(os.path.abspath(__file__))
beside: Any = importlib.util.spec_from_file_location("kbench_legacy_keras", os.path.join(HOME, "legacy_keras.py"))
legacy_keras: Any = importlib.util.module_from_spec(beside)
beside.loader.exec_module(legacy_keras)
KERAS = legacy_keras.package()


class Chosen:
    """A finder that finds nothing, and sets the backend when Keras is about to be imported."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == KERAS:
            os.environ["KERAS_HOME"] = HOME
            if "KERAS_BACKEND" in os.environ:
                with open(os.path.join(HOME, "keras.json")) as file:
                    os.environ["KERAS_BACKEND"] = json.load(file)["backend"]


legacy_keras.install()
sys.meta_path.insert(0, Chosen)
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HOME]
found = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)  # the machine's own
if found is not None and found.loader is not None:
    found.loader.exec_module(importlib.util.module_from_spec(found))
