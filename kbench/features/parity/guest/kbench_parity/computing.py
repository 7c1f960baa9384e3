"""What a model computes on one batch: every layer, the outputs, the loss, and its weights after training steps.

The numbers are float32 in .npz files beside the events; an event names each file.
"""

import collections
import functools
import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

import keras
import numpy as np

from kbench_guest import arrays
from kbench_guest.frameworks import graph
from kbench_guest.frameworks.layers import every_layer, find
from kbench_guest.protocol import in_a_line
from kbench_guest.training import example_file
from kbench_guest.training.first_step import train_on
from kbench_parity import calls, files, reference
from kbench_parity.activations import Unknown

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events
    from kbench_parity.files import OfSite

KEPT = 1 << 17  # numbers of a layer's output that are kept, from the first sample on

CALLED = 4  # samples that a model of Python code is called with
MOST = 200  # characters of an error
OUTPUT = ""


# What is compared. batch(number): a batch, the first is 0; predicts: whether the model can be asked for its
# outputs; loss(outputs): of the first batch, or None; compile(): compiles the model again, or None if it cannot;
# train(batch): returns what Keras reports, or None if nothing is trained.
Case = collections.namedtuple("Case", "model batch predicts loss channels_first compile optimizer train")


def run(
    framework: "KerasModels", model: Any, example: Any, spec: Dict[str, Any], feed: Any, events: "Events"
) -> None:
    """Compute all of an example's model. It is compiled later: on one backend, predictions by another model would
    otherwise hide the trained weights."""
    image = getattr(example, "INPUT", "sequence") == "image"
    trains = spec["task"] == "train"
    case = Case(
        model=model,
        batch=feed.batch,
        predicts=True,
        loss=feed.loss_of_first(),
        channels_first=image and spec["image_data_format"] == "channels_first",
        compile=lambda: framework.compile(model, example, spec["device"], spec["ordered_updates"]),
        optimizer=optimizer_of(example) if trains else "",
        train=functools.partial(train_on, model, example_file.class_weights(example)) if trains else None,
    )
    compute(framework, case, spec, events)


def optimizer_of(example: Any) -> str:
    """The class of its optimizer, as far as its file says."""
    return example.OPTIMIZER["class_name"] if isinstance(example.OPTIMIZER, dict) else example.OPTIMIZER.__name__


def compute(framework: "KerasModels", case: Case, spec: Dict[str, Any], events: Union["Events", "OfSite"]) -> None:
    """Compute, and write files and events."""
    folder = os.path.dirname(spec["events"])
    model, first = case.model, case.batch(0)
    with events.phase("forward"):
        outputs = predicted(model, first) if case.predicts else np.zeros(0)
        try:
            nodes = graph.nodes(model, case.channels_first)
        except Exception:  # it is no graph of layers
            nodes, found = layers_called(framework, model, first)
        else:
            found = layer_outputs(framework, model, in_order(model, first), nodes)
    with events.phase("reference"):
        right, unknown = expected(framework, model, nodes, in_order(model, first), case.channels_first)
    called = calls.recorded(framework, model, first.model_inputs()) if case.predicts else []
    known = {layer.name: calls.public_name(layer) for layer in every_layer(model)}
    write_forward(folder, outputs, found, right, unknown, nodes, case.loss, events, called, known)
    if case.train:
        train(framework, case, spec["part"]["steps"], folder, events)


def predicted(model: Any, batch: Any) -> np.ndarray:
    """The model's outputs for a batch; several outputs as one flat array."""
    forget(model)
    outputs = model.predict(batch.model_inputs(), batch_size=len(batch.inputs[0]), verbose=0)
    return as_one(arrays.leaves(outputs))


def in_order(model: Any, batch: Any) -> List[Any]:
    """The inputs of a batch in the order of the model's, which those that go by name need not have."""
    x = batch.model_inputs()
    if not isinstance(x, dict) or not getattr(model, "inputs", None):
        return batch.inputs
    names = getattr(model, "input_names", None) or [tensor.name for tensor in model.inputs]
    return [x[name] for name in names] if set(names) <= set(x) else batch.inputs


def as_one(outputs: List[Any]) -> np.ndarray:
    """Several arrays as a flat one; a single one as it is."""
    if len(outputs) == 1:
        return np.asarray(outputs[0])
    return np.concatenate([np.asarray(one, "float32").reshape(-1) for one in outputs])


def layer_outputs(
    framework: "KerasModels", model: Any, inputs: List[Any], nodes: Dict[str, Any]
) -> Dict[str, Union[str, np.ndarray]]:
    """{layer's name: its output, or why it cannot be read}, in the model's order."""
    layers = [layer for layer in model.layers if nodes[layer.name].class_name != "InputLayer"]
    tensors, found = [], {}
    for layer in layers:
        try:
            tensors.append((layer.name, _output(layer)))
        except Exception as error:
            found[layer.name] = in_a_line(error)[:MOST]
    forget(model)
    kept = _samples_kept([framework.shape_of(tensor) for _, tensor in tensors], len(inputs[0]))
    fixed = framework.shape_of(model.inputs[0])[0] is not None  # such a graph takes only whole batches
    given = inputs if fixed else [x[:kept] for x in inputs]
    try:
        outputs = _predict(model, [tensor for _, tensor in tensors], given)
        found.update((name, output[:kept]) for (name, _), output in zip(tensors, outputs))
    except Exception:  # one that cannot be read must not hide the others
        for name, tensor in tensors:
            try:
                found[name] = _predict(model, [tensor], given)[0][:kept]
            except Exception as error:
                found[name] = in_a_line(error)[:MOST]
    return {layer.name: found[layer.name] for layer in layers}


def layers_called(framework: "KerasModels", model: Any, batch: Any) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """(nodes, outputs) of a model that is Python code: what each layer returns for a few samples when it first runs.

    Both are empty if models cannot be called with numbers.
    """
    nodes, found, watched = collections.OrderedDict(), {}, []

    def keep(layer: Any, output: Any) -> None:
        nodes[layer.name] = graph.Node(layer.name, graph.kind_of(layer), {}, None, False, 1)
        found[layer.name] = output

    def watch(layer: Any) -> None:
        call = layer.call

        def called(*args: Any, **kwargs: Any) -> Any:
            output = call(*args, **kwargs)
            if layer.name not in found and hasattr(output, "shape"):
                keep(layer, np.asarray(framework.values([output])[0], "float32"))
            return output

        vars(layer)["call"] = called
        watched.append(layer)

    if not framework.eager:
        return nodes, found
    try:
        for layer in every_layer(model):
            watch(layer)
        model(arrays.mapped(lambda x: x[:CALLED], batch.model_inputs()), training=False)
    except Exception as error:
        if not found:
            keep(model, in_a_line(error)[:MOST])
    finally:
        for layer in watched:
            del vars(layer)["call"]
    return nodes, found


def _output(layer: Any) -> Any:
    """The output of the layer's first use; of a model within the model, the first one after its own making."""
    nested = hasattr(layer, "layers")
    if hasattr(layer, "get_output_at"):
        return layer.get_output_at(1 if nested else 0)
    return layer._inbound_nodes[0].output_tensors[0] if nested else layer.output


def _predict(model: Any, tensors: List[Any], inputs: List[Any]) -> Any:
    part = keras.models.Model(inputs=model.inputs, outputs=tensors)
    outputs = part.predict(inputs[0] if len(inputs) == 1 else inputs, batch_size=len(inputs[0]), verbose=0)
    return outputs if isinstance(outputs, (list, tuple)) else [outputs]


def _samples_kept(shapes: List[Any], batch_size: int) -> int:
    """As many samples as keep the largest layer's output below KEPT; the same number on every backend."""
    sizes = [int(np.prod([axis or 1 for axis in shape[1:]])) for shape in shapes]
    return min(batch_size, max(1, KEPT // max(sizes + [1])))


def expected(
    framework: "KerasModels", model: Any, nodes: Dict[str, Any], inputs: List[Any], images_channels_first: bool
) -> Tuple[Optional[Dict[str, Any]], str]:
    """({layer's name: output by the numpy reference}, "") or (None, what it does not know); OUTPUT: of the model."""
    try:
        names, ends = graph.ends(model)
        given = {name: _channels_last(x, images_channels_first and x.ndim == 4) for name, x in zip(names, inputs)}
        own = {layer.name: values for layer, values in framework.weights(model)}
        found = reference.forward(nodes, own, given)
        return dict(found, **{OUTPUT: as_one([found[name] for name in ends])}), ""
    except Unknown as error:
        return None, str(error)
    except (KeyError, IndexError, ValueError, TypeError, NotImplementedError) as error:
        # Another layer under a name that it knows, or no graph of layers.
        return None, in_a_line(error)


def write_forward(
    folder: str,
    outputs: Any,
    found: Dict[str, Any],
    right: Optional[Dict[str, Any]],
    unknown: str,
    nodes: Dict[str, Any],
    loss: Any,
    events: Union["Events", "OfSite"],
    called: Sequence[calls.Call],
    known: Dict[str, str],
) -> None:
    """forward.npz and its event. called: the functions of keras.ops; known: public names of layers."""
    kept: Dict[str, Any] = {"outputs": files.at_most(outputs)}
    layers = []
    for number, (name, value) in enumerate(found.items()):
        about = {"name": name, "class": nodes[name].class_name, "public": known.get(name, "")}
        layers.append(about)
        if not isinstance(value, str):
            about["output"] = f"layer_{number:03}"
            about["shape"] = list(value.shape[1:])
            kept[about["output"]] = _first_numbers(_channels_last(value, nodes[name].channels_first))
            if right is not None:
                about["reference"] = f"reference_{number:03}"
                kept[about["reference"]] = _first_numbers(right[name][: len(value)])
        else:
            about["unread"] = value
    values: Dict[str, Any] = {"loss": loss and loss(np.asarray(outputs)), "layers": layers, "unknown": unknown}
    if right is not None:
        kept["reference_outputs"] = files.at_most(right[OUTPUT])
        values["reference_loss"] = loss and loss(right[OUTPUT])
    values["calls"] = [{"name": name} for name, _, _ in called]
    for number, (_, given, returned) in enumerate(called):
        for role, several in (("given", given), ("returned", returned)):
            names = [f"{role}_{number:03}_{place}" for place in range(len(several))]
            kept.update(zip(names, map(calls.kept, several)))
            values["calls"][number][role] = [[name, list(one.shape)] for name, one in zip(names, several)]
    np.savez(os.path.join(folder, "forward.npz"), **kept)
    events.write("parity", stage="forward", file="forward.npz", **values)


def _first_numbers(value: Any) -> np.ndarray:
    return np.ascontiguousarray(value, "float32").reshape(-1)[:KEPT]


def _channels_last(value: Any, channels_first: bool) -> np.ndarray:
    return np.moveaxis(value, 1, -1) if channels_first and value.ndim > 2 else value


def train(
    framework: "KerasModels", case: Case, steps: Sequence[int], folder: str, events: Union["Events", "OfSite"]
) -> None:
    """Train, each step on the next batch, and keep the weights after some steps.

    Then again from weights moved by one unit in the last place, which shows how far rounding takes this training.
    """
    initial = framework.values(case.model.weights)

    def step(batch: Any) -> Any:
        forget(case.model)
        return case.train(batch)

    def write(stage: str) -> None:
        held = framework.weights(case.model)
        layers = [(layer.name, graph.kind_of(layer), values, roles(layer)) for layer, values in held]
        after = case.loss and case.loss(predicted(case.model, case.batch(0)))
        files.write_step(folder, stage, layers, after, case.optimizer, events)

    with events.phase("compile"):
        if case.compile:
            case.compile()
    files.take_steps(steps, "step", case.batch, step, write, events)
    if case.compile:
        framework.set_values(case.model.weights, [arrays.perturb_by_one_ulp(value) for value in initial])
        case.compile()
        files.take_steps(steps, "moved", case.batch, step, write, events)


def roles(layer: Any) -> List[Dict[str, Any]]:
    """[{"name", "trained"}] of the layer's weights."""
    trained = list(getattr(layer, "trainable_weights", layer.weights))
    return [
        {"name": find(layer, weight)[0] or "", "trained": any(weight is one for one in trained)}
        for weight in layer.weights
    ]


def forget(model: Any) -> None:
    """Reset the state of stateful layers."""
    for layer in getattr(model, "layers", ()):
        if getattr(layer, "stateful", False):
            getattr(layer, "reset_states" if hasattr(layer, "reset_states") else "reset_state")()
