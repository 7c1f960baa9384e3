"""The public names of the Keras that is installed, with their signatures: an event for each."""

import importlib
import inspect
import operator
from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Tuple

if TYPE_CHECKING:
    from kbench_guest.protocol import Events

MODULES = (
    "layers", "activations", "initializers", "regularizers", "constraints", "losses", "metrics", "optimizers", "ops",
    "ops.image", "random",
)  # fmt: skip
NO_CASES = ("get", "serialize", "deserialize", "serialize_keras_object", "deserialize_keras_object")
# The classes that others are made of, which compute nothing.
ABSTRACT = (
    "Layer", "Wrapper", "Loss", "Metric", "Optimizer", "Initializer", "RandomInitializer", "Regularizer",
    "Constraint", "ConvRecurrent2D",
)  # fmt: skip
INIT = operator.attrgetter("__init__")  # that of a class; its __new__ often takes anything
PLAIN = (bool, int, float, str)


def tell(events: "Events") -> None:
    """Write an event for each public name of each module that there is."""
    for module in MODULES:
        for name, value in public(module):
            told = parameters(INIT(value) if inspect.isclass(value) else value)
            call = getattr(value, "call", None) if module == "layers" else None
            more = {}
            if call is not None:
                more = {
                    key: [one[0] for one in parameters(call) if one[1] == needed]
                    for key, needed in (("called", 1), ("optional", 0))
                }
            events.write("public", name=f"{module}.{name}", parameters=told, **more)


def public(module: str) -> List[Tuple[str, Any]]:
    """(name, class or function) of keras.<module>, each once: other names of the same thing are left out."""
    import keras

    kinds = {"layers": keras.layers.Layer, "optimizers": getattr(keras.optimizers, "Optimizer", None)}
    try:
        held = importlib.import_module(f"keras.{module}")
    except ImportError:
        held = getattr(keras, module, None)
    found = {}
    for name in sorted(dir(held)):
        value = getattr(held, name)
        if name.startswith("_") or name in NO_CASES or not callable(value) or not of_keras(value):
            continue
        kind = kinds.get(module)
        if name in ABSTRACT or (kind and not (isinstance(value, type) and issubclass(value, kind))):
            continue
        if id(value) not in found or name == getattr(value, "__name__", ""):
            found[id(value)] = (name, value)
    return sorted(found.values(), key=lambda one: one[0])


def of_keras(value: Any) -> bool:
    """Whether it is a class or function that Keras defines, and no tool of its modules."""
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return False
    module = str(getattr(value, "__module__", ""))
    if module.partition(".")[0] not in ("keras", "tf_keras"):
        return False
    return not any(part in module.split(".") for part in ("utils", "engine", "generic_utils")) or inspect.isclass(
        value
    )


def parameters(function: Any) -> List[List[Any]]:
    """[name, 1 if it has to be given, its default if that is plain] of each parameter but self."""
    return [list(one) for one in _parameters(getattr(function, "_original_function", function))]


def _parameters(function: Any) -> Iterator[Tuple[str, int, Optional[Any]]]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    for one in signature.parameters.values():
        if one.name == "self" or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        default = None if one.default is one.empty else one.default
        yield one.name, int(one.default is one.empty), plain(default)


def plain(value: Any) -> Any:
    """A default as JSON can have it; None if it cannot."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    finite = not isinstance(value, float) or abs(value) < float("inf")
    return value if isinstance(value, PLAIN) and finite else None
