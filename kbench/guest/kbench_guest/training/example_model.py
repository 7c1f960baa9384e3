"""The Keras model of an example, built as it is measured."""

import inspect
from typing import TYPE_CHECKING, Any, Dict, List

import keras

from kbench_guest import arrays, parts
from kbench_guest.frameworks.layers import remember_initializers
from kbench_guest.proof import fingerprint, forms, shapes, weights
from kbench_guest.protocol import Refused

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events


def build(framework: "KerasModels", example: Any, spec: Dict[str, Any], first: Any, events: "Events") -> Any:
    """The example's model in the form that is right on this backend, with its initial weights; first: a batch."""
    if spec["corrected_normalization"]:
        framework.correct_normalization()
    remember_initializers()
    made = model_of(framework, example, spec["data"], first)
    # Before `arrange`: the form that a backend needs changes how the model is computed, not what.
    events.write("shapes", inputs=shapes.inputs(framework, made), layers=shapes.layers(framework, made))
    if parts.is_bare(spec):
        made = parts.driver(spec).without_dropout(made)
    model, form = forms.arrange(
        made, spec["recurrent"], spec["fixed_batch"], spec["batch_size"] // framework.workers.here
    )
    left: List[str] = []
    sha256, origin = "", spec["init"]
    if spec["published_weights"]:
        model.load_weights(spec["published_weights"], by_name=True)  # in the format of Keras 2
        origin = "published"
    elif origin == "seeded":
        sha256, left = weights.initialise(framework, model, spec["seed"])
    events.write(
        "model",
        parameters=int(model.count_params()),
        form=form,
        weights=origin,
        weights_sha256=sha256,
        weights_left=left,
        dtypes=fingerprint.dtypes(framework, model),
        layers=framework.describe(model),
    )
    if spec["parameters"] not in (None, int(model.count_params())):
        stated = "the model has %d parameters, but the example states %d"
        raise Refused("mismatch", stated % (model.count_params(), spec["parameters"]))
    if spec["task"] == "train" and not parts.is_bare(spec):
        framework.compile(model, example, spec["device"], spec["ordered_updates"])
        events.write("compiled", **fingerprint.compiled(framework, model, example, spec["batch_size"]))
    return model


def model_of(framework: "KerasModels", example: Any, data: Dict[str, Any], first: Any) -> Any:
    """What the example's build_model returns, with weights. Raises Refused if it is no such model."""
    shapes_in = arrays.structured([tuple(shape) for shape in data["input_shapes"]], data["input_names"])
    takes = len(inspect.signature(example.build_model).parameters)  # one or both
    made = example.build_model(*(shapes_in, data["num_classes"])[:takes])
    if not isinstance(made, keras.models.Model):
        raise Refused(
            "example", f"build_model of the example must return a Keras model, and returns {type(made).__name__!r}"
        )
    if not getattr(made, "inputs", None) and isinstance(made, keras.models.Sequential):
        batches = [(None,) + tuple(shape) for shape in data["input_shapes"]]
        made.build(batches[0] if len(batches) == 1 else batches)  # it does not state its input shape
    elif not getattr(made, "inputs", None):
        framework.build_by_calling(made, first)
    if not made.weights and not getattr(made, "inputs", None):
        raise Refused("example", "build_model of the example returns a model without layers that kbench can see")
    return made
