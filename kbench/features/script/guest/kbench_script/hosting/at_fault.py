"""Which public name of Keras raised an error, of what the program called: imported once there is one."""

import importlib
import inspect
import os
import traceback
import types
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

from kbench_guest.frameworks import legacy_keras
from kbench_guest.protocol import in_a_line
from kbench_script.hosting.errors import GUEST

if TYPE_CHECKING:
    from kbench_guest.protocol import Events

MODULES = (
    "layers", "activations", "initializers", "regularizers", "constraints", "losses", "metrics", "optimizers", "ops",
    "ops.image", "random",
)  # fmt: skip
CALLERS = ("layers.", "losses.", "metrics.", "optimizers.", "initializers.", "regularizers.", "constraints.")
ABSTRACT = ("Layer", "Wrapper", "Loss", "Metric", "Optimizer")  # which compute nothing themselves
LIBRARIES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep, os.path.dirname(os.__file__))
KERAS = ("keras", legacy_keras.PACKAGE)
FRAMEWORKS = ("jax", "jaxlib", "tensorflow", "torch")  # whose tensors are of use to them alone
MOST = 300  # characters of an error


def tell(error: BaseException, events: "Events") -> None:
    """Write the event of it, if there is one: what was raised, by which name, and what that was given."""
    try:
        found = told(error)
    except Exception:  # the objects of a program may be anything: its own error counts
        return
    if found:
        events.write("raised", **found)


def told(error: BaseException) -> Dict[str, Any]:
    """{"name", "within", "error", "given"}; empty if no part of Keras is to blame.

    name: of the innermost function that has a public one, behind the last line that is not Keras's; within: the layer
    or the like that called it.
    """
    first = root(error)
    frames = list(inwards_of_user(first))
    names = [(name, frame) for frame in frames for name in [public_name(frame)] if name]
    if not names or is_guest(frames[0]) or not isinstance(first, Exception) or isinstance(first, MemoryError):
        return {}
    name, frame = names[0]
    given = arguments(frame)
    if any(is_foreign(value) for _, value in given):
        return {}
    within = next((other for other, _ in names if other.startswith(CALLERS) and other != name), "")
    texts = [f"{key} {dtype_of(value)} {shape_of(value)}" for key, value in given]
    return {"name": name, "within": within, "error": in_a_line(first)[:MOST], "given": texts}


def root(error: BaseException) -> BaseException:
    """The error that Keras raises again with other words, whose traceback has the frames that Keras leaves out."""
    while True:
        cause = error.__cause__ or (error.__context__ if error.__suppress_context__ else None)
        if cause is None:
            return error
        error = cause


def inwards_of_user(error: BaseException) -> Iterator[types.FrameType]:
    """The frames that ran, from the innermost on, up to the first that is neither Keras's nor below it."""
    frame: Optional[types.FrameType] = [*traceback.walk_tb(error.__traceback__), (None, 0)][-2][0]
    while frame is not None and not is_user(frame):
        yield frame
        frame = frame.f_back


def is_user(frame: types.FrameType) -> bool:
    """Whether it is the program's own, or that of a package with layers of its own."""
    file, package = frame.f_code.co_filename, package_of(frame.f_globals.get("__name__"))
    if package in KERAS or is_guest(frame) or file.startswith("<frozen"):
        return False
    return package.startswith("keras_") or not any(one in file for one in LIBRARIES)


def is_guest(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.startswith(GUEST)


def package_of(module: Any) -> str:
    return str(module or "").partition(".")[0]


def public_name(frame: types.FrameType) -> str:
    """Such as "ops.pad" or "layers.Dense"; "" of what has none."""
    code, own = frame.f_code, frame.f_locals.get("self")
    if package_of(frame.f_globals.get("__name__")) not in KERAS:
        return ""
    if code.co_varnames[:1] == ("self",) and code.co_argcount:
        classes = [one for one in type(own).__mro__ if one.__name__ not in ABSTRACT]
        return next((name for one in classes for name in [found_as(one.__name__, one)] if name), "")
    return found_as(code.co_name, code)


def found_as(name: str, value: Any) -> str:
    """The public name under which a class, or a function of this code, is found."""
    for module in MODULES if not name.startswith("_") else ():
        try:
            held: Any = importlib.import_module("keras." + module)
        except ImportError:
            continue
        there = getattr(held, name, None)
        if there is not None and (there is value or getattr(inspect.unwrap(there), "__code__", None) is value):
            return f"{module}.{name}"
    return ""


def arguments(frame: types.FrameType) -> List[Tuple[str, Any]]:
    """[(name, array)] of what its function was given."""
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    given = [(name, frame.f_locals[name]) for name in names if name in frame.f_locals]
    several = [(name, value if isinstance(value, (list, tuple)) else [value]) for name, value in given]
    return [
        (name, one) for name, values in several for one in values if hasattr(one, "shape") and hasattr(one, "dtype")
    ]


def is_foreign(value: Any) -> bool:
    """Whether it is a tensor of a framework that Keras does not run on here: that is the program's own fault."""
    import keras

    package, backend = package_of(type(value).__module__), keras.backend.backend()
    return package in FRAMEWORKS and package.replace("jaxlib", "jax") != backend


def shape_of(value: Any) -> str:
    return str(tuple(value.shape)).replace("None", "n")


def dtype_of(value: Any) -> str:
    return str(getattr(value.dtype, "name", value.dtype)).rpartition(".")[2]
