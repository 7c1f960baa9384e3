"""Whether what was loaded, and how and where it runs, is what was asked for; a cell that differs is refused."""

import importlib
import os
import re
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

from kbench_guest.protocol import Refused

if TYPE_CHECKING:
    from kbench_guest.frameworks.interface import Framework
    from kbench_guest.protocol import Events


def check_loaded(spec: Dict[str, Any], versions: Tuple[str, str], events: "Events") -> None:
    """Report what Keras loaded, and refuse to measure anything else than was asked for."""
    import numpy
    from keras import backend

    from kbench_guest import process

    loaded = {name: getattr(backend, name)() for name in ("image_data_format", "floatx", "epsilon")}
    loaded.update(keras_backend=backend.backend(), keras_version=versions[0], backend_version=versions[1])
    events.write("loaded", numpy_version=numpy.__version__, **loaded)
    for name in sorted(loaded):
        asked = spec["versions"].get(name[: -len("_version")]) if name.endswith("_version") else spec[name]
        if asked and not same(name, loaded[name], asked):
            raise Refused("mismatch", f"Keras loaded {name} {loaded[name]}, but {asked} was asked for")
    own, short = package_of(loaded["keras_backend"]), re.split("[@+]", spec["backend"].split("/")[-1])[0]
    computes = spec["kind"] != "export"  # else Keras only makes the model
    if computes and own not in short and any(one in short for one in process.FRAMEWORKS):
        events.write("note", text=f"{' '.join([own, versions[1]])} does the computing, unlike what the name says")
    named = os.environ.get("KERAS_BACKEND", loaded["keras_backend"])
    if named != loaded["keras_backend"]:
        events.write("note", text=f"KERAS_BACKEND={named} is ignored: this runs on {own}, as kbench was asked")
    check_sources(sorted(spec["sources"]))


def package_of(keras_backend: str) -> str:
    """The framework's package: Keras may be told a module of it."""
    return keras_backend.partition(".")[0]


def check_sources(packages: List[str]) -> None:
    """Refuse a package that was not imported from the user's own folder, which PYTHONPATH names."""
    folders = [os.path.realpath(one) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    for name in packages:
        file = os.path.realpath(importlib.import_module(name).__file__)
        if not any(file.startswith(os.path.join(folder, "")) for folder in folders):
            raise Refused("mismatch", f"Python imports {name} from {file}, not from your folder")


def check_device(framework: "Framework", model: Any, spec: Dict[str, Any], events: "Events") -> None:
    """Report the device that the model is on, and refuse to measure on another one than was asked for."""
    device = framework.device(model)
    events.write("device", device=device)
    if device not in (spec["device"], "unknown"):
        own = package_of(spec["keras_backend"])
        who = f"{own} {framework.versions()[1]}" if own else "the twin"
        asked = spec["device"]
        raise Refused("device", f"the cell was to run on the {asked}, but {who} runs it on the {device}")


def check_settings(framework: "Framework", model: Any, spec: Dict[str, Any], events: "Events") -> None:
    """Set what was asked for, report the model's settings, and refuse to measure if they differ."""
    if spec["jit"]:
        framework.set_jit(model, spec["jit"] == "on")
    held = framework.settings_of_model(model)
    if held:
        events.write("settings", **held)
    if spec["jit"] and held["jit"] != spec["jit"]:
        raise Refused("mismatch", f"jit_compile is {held['jit']}, but {spec['jit']} was asked for")
    dtype = spec["policy"].replace("mixed_", "")
    if dtype and held["computes_in"] and dtype not in held["computes_in"]:
        raise Refused("mismatch", f"its layers compute in {' and '.join(held['computes_in'])}, not in {dtype}")


def same(name: str, loaded: Any, asked: Any) -> bool:
    """Whether a loaded value is the one asked for; a version may end with the name of a build."""
    if name.endswith("_version"):
        return loaded == asked or loaded.startswith((asked + "+", asked + "-", asked + "."))
    if name == "epsilon":
        return abs(loaded - asked) < 1e-12
    if name == "keras_backend":  # programs may load it by their own call, under the package's name
        return package_of(loaded) == package_of(asked)
    return loaded == asked
