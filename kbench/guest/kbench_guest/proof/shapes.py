"""The shapes of each layer's inputs, output and weights: enough to count a model's operations."""

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set, Tuple

from kbench_guest import arrays
from kbench_guest.frameworks import graph
from kbench_guest.frameworks.layer_settings import describe

if TYPE_CHECKING:
    from kbench_guest.frameworks.interface import Weights


def layers(framework: "Weights", model: Any, nested: bool = False, uses: int = 1) -> List[Dict[str, Any]]:
    """[{class, settings, weights, inputs, output, uses, trained, fed_by_data}] of each layer that computes something.

    Nested models are opened. Shapes are without the batch axis, in the layout of this backend; inputs and output are
    None if they cannot be read. uses: how often the model calls the layer. trained: whether it has weights that
    training changes. fed_by_data: whether nothing before it has, so that its gradient by its input is never needed.
    nested: whether the model is a layer of another one, which calls it `uses` times.
    """
    try:
        nodes = graph.nodes(model, False)
    except Exception:  # a model that describes itself in another way: each layer counts once, as behind others
        nodes = {}
    found: List[Dict[str, Any]] = []
    behind_training: Set[str] = set()  # names of the layers whose outputs depend on trained weights
    for layer in model.layers:
        node = nodes.get(layer.name)
        times, before = (uses * node.uses, node.inbound) if node else (uses, None)
        trained = bool(getattr(layer, "trainable_weights", layer.weights))
        fed_by_data = not nested and before is not None and not behind_training.intersection(before)
        if trained or not fed_by_data:
            behind_training.add(layer.name)
        if hasattr(layer, "layers"):
            found.extend(layers(framework, layer, True, times))
        elif layer.__class__.__name__ != "InputLayer":
            found.append(_layer(framework, layer, times, trained, fed_by_data))
    return found


def inputs(framework: "Weights", model: Any) -> List[Any]:
    """The shapes of the model's inputs, without the batch axis; [] of a model that does not list them."""
    return [_without_batch(framework, tensor) for tensor in getattr(model, "inputs", None) or []]


def _layer(framework: "Weights", layer: Any, uses: int, trained: bool, fed_by_data: bool) -> Dict[str, Any]:
    found = dict(zip(("class", "settings", "weights"), describe(framework, layer, False)))
    found["inputs"], found["output"] = _first_call(framework, layer)
    return dict(found, uses=uses, trained=trained, fed_by_data=fed_by_data)


def _first_call(framework: "Weights", layer: Any) -> Tuple[Any, Any]:
    """(shapes of the inputs, shape of the output) of the layer's first use; (None, None) if they cannot be read."""
    try:
        node = layer._inbound_nodes[0]
        given = arrays.leaves(node.output_tensors)[0]
        # On TensorFlow 2 those of Keras 2 have only the first argument among their input_tensors.
        taken = getattr(node, "keras_inputs", None) or arrays.leaves(node.input_tensors)
        return [_without_batch(framework, tensor) for tensor in taken], _without_batch(framework, given)
    except Exception:  # a layer that is only called inside another one
        return None, None


def _without_batch(framework: "Weights", tensor: Any) -> List[Optional[int]]:
    return [None if axis is None else int(axis) for axis in framework.shape_of(tensor)[1:]]
