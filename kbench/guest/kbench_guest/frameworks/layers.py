"""The layers of a Keras model, and to which of them each weight belongs."""

import functools
import inspect
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

GIVEN = "kbench_initializer"  # of a weight: the initializer that `add_weight` was given
OWN_FORMS = ("Folded", "Reordered", "Silent")  # what kbench's own forms put before a class's name


def class_name(name: str) -> str:
    """The class as people know it: forms of kbench's own by Keras's name."""
    for own in OWN_FORMS:
        name = name.replace(own, "")
    return name.split(">")[-1]


def layers(model: Any, frozen: bool = False) -> Iterator[Tuple[Any, bool]]:
    """(layer, whether a model around it is frozen) of each layer that computes something, nested models opened."""
    frozen = frozen or not getattr(model, "trainable", True)
    for layer in model.layers:
        if hasattr(layer, "layers"):
            yield from layers(layer, frozen)
        elif layer.__class__.__name__ != "InputLayer":
            yield layer, frozen


def every_layer(model: Any) -> List[Any]:
    """The model's layers and, in Keras 3, all layers inside them, each once; a nested model is one of them, too."""
    import keras

    listed = list(getattr(model, "layers", ()))
    if keras.__version__.startswith("2."):  # its wrappers keep layers that they never use
        return listed
    found: Dict[int, Any] = {id(model): model}
    waiting: List[Any] = [listed, model]
    while waiting:
        value = waiting.pop()
        if isinstance(value, keras.layers.Layer):
            # Without the model that a Sequential makes of its layers.
            parts: Iterable[Any] = [part for name, part in vars(value).items() if name != "_functional"]
        else:
            parts = value.values() if isinstance(value, dict) else value
        for part in parts:
            if isinstance(part, (list, tuple, dict)):
                waiting.append(part)
            elif isinstance(part, keras.layers.Layer) and id(part) not in found:
                found[id(part)] = part
                waiting.append(part)
    del found[id(model)]
    return list(found.values())


def owners(layer: Any) -> Iterator[Any]:
    """The layer and those inside it: a recurrent layer's cell, a wrapper's layer, the layers of a user's own."""
    yield layer
    held = [getattr(layer, name, None) for name in ("cell", "layer", "forward_layer", "backward_layer")]
    own = getattr(layer, "_layers", None)
    if own is None and hasattr(layer, "_flatten_layers"):  # Keras 2 on TensorFlow 2
        own = layer._flatten_layers(recursive=False, include_self=False)
    for inner in held + list(own or ()):
        if inner is not None:
            yield from owners(inner)


def find(layer: Any, weight: Any) -> Tuple[Optional[str], Any, Any]:
    """(name, initializer, owner) of a weight: `recurrent_kernel` has `recurrent_initializer`."""
    for owner in owners(layer):
        for name, value in vars(owner).items():
            if value is weight:
                name = name.lstrip("_")
                short = name[: -len("_kernel")] if name.endswith("_kernel") else name
                initializer = getattr(owner, name + "_initializer", getattr(owner, short + "_initializer", None))
                if initializer is None and name == "kernel":  # of a DepthwiseConv2D in Keras 3
                    initializer = getattr(owner, "depthwise_initializer", None)
                return name, initializer or getattr(weight, GIVEN, None), owner
    return None, getattr(weight, GIVEN, None), None


def remember_initializers() -> None:
    """Let each weight keep the initializer that its layer gave to `add_weight`: users' own layers seldom do."""
    import keras

    original = keras.layers.Layer.add_weight
    if getattr(original, "kbench_remembers", False):
        return
    parameters = inspect.signature(getattr(original, "_original_function", original))  # Keras 2 wraps it

    @functools.wraps(original)
    def add_weight(*args: Any, **kwargs: Any) -> Any:
        weight = original(*args, **kwargs)
        try:
            given = parameters.bind_partial(*args, **kwargs).arguments
            initializer = given.get("initializer")
            if initializer is None and "int" not in str(given.get("dtype")):
                initializer = "glorot_uniform"  # Keras's default
            setattr(weight, GIVEN, keras.initializers.get(initializer))
        except (AttributeError, TypeError, ValueError):  # a weight that takes no attribute, or arguments of Keras 1
            pass
        return weight

    add_weight.kbench_remembers = True  # type: ignore[attr-defined]
    keras.layers.Layer.add_weight = add_weight
