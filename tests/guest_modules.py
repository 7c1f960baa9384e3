"""The guest's modules, loaded as the guest does it: from its folder, beside a Keras; here the fake one."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from unittest import mock

import fake_backends

from kbench.base import paths

GUESTS_OF_FEATURES = sorted((paths.PACKAGE / "features").glob("*/guest"))
KERAS_JSON = {"image_data_format": "channels_last", "floatx": "float32", "epsilon": 1e-7}


@contextlib.contextmanager
def guest(keras_home: Path, *names: str, backend: str = "theano") -> Iterator[list[ModuleType]]:
    """The package's modules `names`, or keras; afterwards this process knows neither them nor the fake Keras."""
    (keras_home / "keras.json").write_text(json.dumps({**KERAS_JSON, "backend": backend}))
    folders = [str(paths.GUEST), *map(str, GUESTS_OF_FEATURES), str(fake_backends.FAKE_KERAS)]
    with (
        mock.patch.dict(os.environ, KERAS_HOME=str(keras_home)),
        mock.patch.object(sys, "path", [*folders, *sys.path]),
        mock.patch.object(sys, "dont_write_bytecode", True),
        mock.patch.dict(sys.modules),
    ):
        yield [importlib.import_module(_full(name)) for name in names]


def _full(name: str) -> str:
    return name if name == "keras" or name.startswith("kbench_") else f"kbench_guest.{name}"


def alone(name: str, package: Path = paths.GUEST / "kbench_guest") -> ModuleType:
    """A module that needs nothing but numpy and its like; `name` is its path in the package."""
    path = package / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"guest_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with (
        mock.patch.object(sys, "path", [str(paths.GUEST), *map(str, GUESTS_OF_FEATURES), *sys.path]),
        mock.patch.dict(sys.modules),
    ):
        spec.loader.exec_module(module)
    return module
