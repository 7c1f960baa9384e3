"""The guest's modules, loaded as the guest does it: by their bare names, beside a Keras; here the fake one."""

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

from kbench import paths

KERAS_JSON = {"backend": "theano", "image_data_format": "channels_last", "floatx": "float32", "epsilon": 1e-7}


@contextlib.contextmanager
def guest(keras_home: Path, *names: str) -> Iterator[list[ModuleType]]:
    """The modules `names`; afterwards neither they nor the fake Keras are known to this process any more."""
    (keras_home / "keras.json").write_text(json.dumps(KERAS_JSON))
    folders = [str(paths.GUEST), str(fake_backends.FAKE_KERAS)]
    with (
        mock.patch.dict(os.environ, KERAS_HOME=str(keras_home)),
        mock.patch.object(sys, "path", [*folders, *sys.path]),
        mock.patch.object(sys, "dont_write_bytecode", True),
        mock.patch.dict(sys.modules),
    ):
        yield [importlib.import_module(name) for name in names]


def alone(name: str) -> ModuleType:
    """A module that needs nothing but numpy."""
    spec = importlib.util.spec_from_file_location(f"guest_{name}", paths.GUEST / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
