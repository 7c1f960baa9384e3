"""What a model computes on one batch: outputs, every layer, the loss, and its weights after one step and after ten.

The numbers go into .npz files beside the events, float32 and without pickles, and an event names each file.
"""

import os

import keras
import numpy as np

from kbench_guest import arrays, scores
from kbench_guest.frameworks import graph
from kbench_guest.proof import reference

KEPT = 1 << 17  # numbers of a layer's output that are kept, from the first sample on
KEPT_WEIGHTS = 1 << 18  # numbers of a weight that are kept, drawn from all of it

OUTPUT = ""


def run(framework, model, example, spec, part, targets, events):
    """Compute and report. The model is not compiled yet: on one backend another model's prediction, after that, would
    leave the trained weights unread."""
    folder = os.path.dirname(spec["events"])
    batches = Batches(part, targets, spec["batch_size"], spec["seed"])
    first = batches.batch(0)
    loss = scores.LOSSES.get(getattr(example, "LOSS", None)) if part.labels is not None else None
    first_loss = loss and (lambda outputs: loss(outputs, batches.labels(0)))
    with events.phase("forward"):
        outputs = model.predict(first.model_inputs(), batch_size=spec["batch_size"], verbose=0)
        image = getattr(example, "INPUT", "sequence") == "image"
        channels_first = image and spec["image_data_format"] == "channels_first"
        nodes = graph.nodes(model, channels_first)
        found = layer_outputs(framework, model, first.inputs, nodes)
    with events.phase("reference"):
        right, unknown = expected(framework, model, nodes, first.inputs, channels_first)
    write_forward(folder, outputs, found, right, unknown, nodes, first_loss, events)
    if spec["task"] == "train":
        train(framework, model, example, spec, batches, first_loss, folder, events)


class Batches(object):
    """The batches of the first epoch's order, from the front again where there are no more."""

    def __init__(self, part, targets, batch_size, seed):
        self._part, self._targets, self._batch_size = part, targets, batch_size
        self._order = arrays.epoch_order(part.samples, part.samples // batch_size * batch_size, seed, 1)

    def batch(self, number):
        """The model-ready arrays of a batch; the first is number 0."""
        buffer = arrays.Buffer(self._part, self._batch_size, self._targets)
        buffer.fill(self._samples(number))
        return buffer

    def labels(self, number):
        return self._part.labels[:][self._samples(number)]

    def _samples(self, number):
        start = number * self._batch_size % len(self._order)
        return self._order[start : start + self._batch_size]


def layer_outputs(framework, model, inputs, nodes):
    """{layer's name: its output, or a text that says why it cannot be read}, in the model's order."""
    layers = [layer for layer in model.layers if nodes[layer.name].class_name != "InputLayer"]
    tensors, found = [], {}
    for layer in layers:
        try:
            tensors.append((layer.name, _output(layer)))
        except Exception as error:
            found[layer.name] = _in_a_line(error)
    kept = _samples_kept([framework.shape_of(tensor) for _, tensor in tensors], len(inputs[0]))
    fixed = framework.shape_of(model.inputs[0])[0] is not None  # such a graph takes whole batches alone
    given = inputs if fixed else [x[:kept] for x in inputs]
    try:
        outputs = _predict(model, [tensor for _, tensor in tensors], given)
        found.update((name, output[:kept]) for (name, _), output in zip(tensors, outputs))
    except Exception:  # one that cannot be read must not hide the others
        for name, tensor in tensors:
            try:
                found[name] = _predict(model, [tensor], given)[0][:kept]
            except Exception as error:
                found[name] = _in_a_line(error)
    return {layer.name: found[layer.name] for layer in layers}


def _output(layer):
    """The output of the layer's first use."""
    return layer.get_output_at(0) if hasattr(layer, "get_output_at") else layer.output


def _predict(model, tensors, inputs):
    part = keras.models.Model(inputs=model.inputs, outputs=tensors)
    outputs = part.predict(inputs[0] if len(inputs) == 1 else inputs, batch_size=len(inputs[0]), verbose=0)
    return outputs if isinstance(outputs, (list, tuple)) else [outputs]


def _samples_kept(shapes, batch_size):
    """So many samples that the largest layer fills what is kept of one; the same number on every backend."""
    sizes = [int(np.prod([axis or 1 for axis in shape[1:]])) for shape in shapes]
    return min(batch_size, max(1, KEPT // max(sizes + [1])))


def _in_a_line(error):
    lines = str(error).strip().splitlines()
    return "%s: %s" % (type(error).__name__, lines[0][:200] if lines else "no message")


def expected(framework, model, nodes, inputs, pictures_channels_first):
    """({layer's name: output by the numpy reference}, "") or (None, what it does not know); OUTPUT is the model's."""
    try:
        names, last = graph.ends(model)
        given = {name: _channels_last(x, pictures_channels_first and x.ndim == 4) for name, x in zip(names, inputs)}
        own = {layer.name: values for layer, values in framework.weights(model)}
        found = reference.forward(nodes, own, given)
        return dict(found, **{OUTPUT: found[last]}), ""
    except reference.Unknown as error:
        return None, str(error)
    except (KeyError, IndexError, ValueError, TypeError) as error:  # another layer under a name that it knows
        return None, _in_a_line(error)


def write_forward(folder, outputs, found, right, unknown, nodes, loss, events):
    """forward.npz and its event."""
    kept = {"outputs": np.asarray(outputs, "float32")}
    layers = []
    for number, (name, value) in enumerate(found.items()):
        about = {"name": name, "class": nodes[name].class_name}
        layers.append(about)
        if not isinstance(value, str):
            about["output"] = "layer_%03d" % number
            about["shape"] = list(value.shape[1:])
            kept[about["output"]] = _first_numbers(_channels_last(value, nodes[name].channels_first))
            if right is not None:
                about["reference"] = "reference_%03d" % number
                kept[about["reference"]] = _first_numbers(right[name][: len(value)])
        else:
            about["unread"] = value
    values = {"loss": loss and loss(np.asarray(outputs)), "layers": layers, "unknown": unknown}
    if right is not None:
        kept["reference_outputs"] = right[OUTPUT].astype("float32")
        values["reference_loss"] = loss and loss(right[OUTPUT])
    np.savez(os.path.join(folder, "forward.npz"), **kept)
    events.write("parity", stage="forward", file="forward.npz", samples=len(outputs), **values)


def _first_numbers(value):
    return np.ascontiguousarray(value, "float32").reshape(-1)[:KEPT]


def _channels_last(value, channels_first):
    return np.moveaxis(value, 1, -1) if channels_first and value.ndim > 2 else value


def train(framework, model, example, spec, batches, loss, folder, events):
    """Optimizer steps, each on the next batch, and the state of the model after some of them."""
    with events.phase("compile"):
        framework.compile(model, example, spec["device"], spec["ordered_updates"])
    for step in range(1, max(spec["parity"]["steps"]) + 1):
        batch = batches.batch(step - 1)
        reported = model.train_on_batch(batch.model_inputs(), batch.targets)
        if step == 1:
            events.write("parity", stage="reported", loss=float(np.ravel(reported)[0]))
        if step in spec["parity"]["steps"]:
            write_step(framework, step, model, example, spec, batches, loss, folder, events)


def write_step(framework, step, model, example, spec, batches, loss, folder, events):
    """step_N.npz with the weights, and its event with the loss that the first batch has now."""
    kept, layers = {}, []
    for layer, values in framework.weights(model):
        about = {"name": layer.name, "class": graph.kind_of(layer), "weights": []}
        for value in values:
            name = "weight_%03d" % len(kept)
            kept[name] = _drawn_numbers(value)
            about["weights"].append({"values": name, "size": int(value.size)})
        layers.append(about)
    name = "step_%d.npz" % step
    np.savez(os.path.join(folder, name), **kept)
    after = None
    if loss:
        first = batches.batch(0)
        after = loss(np.asarray(model.predict(first.model_inputs(), batch_size=spec["batch_size"], verbose=0)))
    optimizer = example.OPTIMIZER["class_name"]
    events.write("parity", stage="step_%d" % step, file=name, loss=after, layers=layers, optimizer=optimizer)


def _drawn_numbers(value):
    """All numbers of a weight, or many of them, drawn alike on every backend."""
    flat = np.ascontiguousarray(value, "float32").reshape(-1)
    if flat.size <= KEPT_WEIGHTS:
        return flat
    return flat[np.random.RandomState(0).randint(0, flat.size, KEPT_WEIGHTS)]
