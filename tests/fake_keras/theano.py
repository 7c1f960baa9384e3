"""A framework with a version and a device, which may be told to be a GPU as the real one of this name is."""

import os
from types import SimpleNamespace

__version__ = "1.0"
_flags = dict(flag.split("=", 1) for flag in os.environ.get("THEANO_FLAGS", "").split(",") if "=" in flag)
config = SimpleNamespace(device=_flags.get("device", "cpu"), gcc=SimpleNamespace(cxxflags=""))
