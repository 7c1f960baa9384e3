"""Which functions of keras.ops a user's own layers call in one pass, with what each is given and returns."""

import functools
import inspect
import types
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Tuple

import keras
import numpy as np

from kbench_guest import arrays
from kbench_guest.frameworks.layers import every_layer
from kbench_parity import files

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels

MOST_CALLS = 300  # of a pass
KEPT = 1 << 14  # numbers of an array; of a larger one so many are drawn, beside its mean and extremes
CALLED = 4  # samples
OF_KERAS = ("keras", "tf_keras")
USUAL = ("linear", "channels_last")  # settings that None stands for
TAKES_CODE = "Lambda"  # Keras's own layer with a function of the user's

# (such as "ops.pad", the arrays that it was given, those that it returned)
Call = Tuple[str, List[np.ndarray], List[np.ndarray]]


def recorded(framework: "KerasModels", model: Any, x: Any) -> List[Call]:
    """The calls, in their order, for the first samples of x; none where all layers are Keras's, or on Keras 2."""
    own = [one for one in [model, *every_layer(model)] if not is_kerass(one)]
    if not own or not framework.eager or not hasattr(keras, "ops"):
        return []
    found: List[Call] = []
    undo = _wrapped(own, functools.partial(_recorded, framework, found))
    try:
        model(arrays.mapped(lambda one: one[:CALLED], x), training=False)
    except Exception:  # of the user's code: what was called before it is known
        return found
    finally:
        for holder, name, value in undo:
            holder[name] = value
    return found


def is_kerass(layer: Any) -> bool:
    """Whether all code of the layer is Keras's."""
    inner = wrapped_by(layer)
    of_keras = type(layer).__module__.partition(".")[0] in OF_KERAS and type(layer).__name__ != TAKES_CODE
    return of_keras and (inner is None or is_kerass(inner))


def wrapped_by(layer: Any) -> Any:
    """The layer that a wrapper has; None of others."""
    return getattr(layer, "layer", getattr(layer, "forward_layer", None))  # of Bidirectional in Keras 3


def public_name(layer: Any) -> str:
    """Of a layer that is Keras's, with the settings that are not its defaults: "layers.Dense(units=4)"; or empty."""
    name, inner = type(layer).__name__, wrapped_by(layer)
    if not is_kerass(layer) or getattr(keras.layers, name, None) is not type(layer):
        return ""
    settings = [] if inner is None else [f"layer={public_name(inner)}"]
    parameters = inspect.signature(type(layer).__init__).parameters
    try:
        config = layer.get_config()
    except Exception:  # with an own class among its settings
        config = {}
    for key, value in config.items():
        plain = isinstance(value, (bool, int, float, str, tuple, list)) and value not in USUAL
        if plain and key in parameters and key != "name" and value != parameters[key].default:
            settings.append(f"{key}={value!r}")
    return f"layers.{name}({', '.join(settings)})"


def _wrapped(own: List[Any], record: Callable[..., Any]) -> List[Tuple[Dict[str, Any], str, Any]]:
    """Put what records in place of all functions of keras.ops where the code of layers finds them; returns these."""
    functions = {id(value): record(f"{name}.{key}", value) for name, key, value in _functions()}
    code = [one.function if type(one).__name__ == TAKES_CODE else getattr(type(one), "call", None) for one in own]
    holders = [vars(keras.ops)] + [getattr(one, "__globals__", {}) for one in code]
    holders += [vars(value) for value in vars(keras.ops).values() if isinstance(value, types.ModuleType)]
    undo = []
    for holder in {id(one): one for one in holders}.values():
        for key, value in list(holder.items()):
            if id(value) in functions:
                undo.append((holder, key, value))
                holder[key] = functions[id(value)]
    return undo


def _functions() -> Iterator[Tuple[str, str, Any]]:
    """(module, name, function) of all public ones."""
    for module in ("ops", "ops.image"):
        held = keras.ops if module == "ops" else keras.ops.image
        for key, value in vars(held).items():
            if inspect.isfunction(value) and not key.startswith("_"):
                yield module, key, value


_inside: List[str] = []  # the call that is recorded: what it calls itself is not


def _recorded(framework: "KerasModels", found: List[Call], name: str, function: Callable[..., Any]) -> Any:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if _inside or len(found) >= MOST_CALLS:
            return function(*args, **kwargs)
        _inside.append(name)
        try:
            given = _numbers(framework, (args, kwargs))  # before: it may change them
            returned = function(*args, **kwargs)
            found.append((name, given, _numbers(framework, returned)))
            return returned
        finally:
            _inside.pop()

    return called


def _numbers(framework: "KerasModels", value: Any) -> List[np.ndarray]:
    """The arrays and numbers in it, and the shapes of those that a framework has not computed yet."""
    if isinstance(value, dict):
        return [one for key in sorted(value, key=str) for one in _numbers(framework, value[key])]
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in _numbers(framework, part)]
    if isinstance(value, (bool, int, float, np.ndarray, np.generic)):
        return [np.asarray(value)]
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        try:
            return framework.values([value])
        except Exception:  # inside a function that is traced
            return []
    return []


def kept(value: np.ndarray) -> np.ndarray:
    """What is written of an array: all of it, or as much as is drawn alike on every backend and what all come to."""
    value = np.stack([value.real, value.imag], -1) if value.dtype.kind == "c" else value
    found = files.drawn_numbers(value, KEPT)
    return found if value.size <= KEPT else np.concatenate([found, [value.mean(), value.min(), value.max()]])
