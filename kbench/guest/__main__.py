"""The guest: builds one example in one backend's own Python, trains or runs it, and tells the host what it measured.

Started by the host as `BACKEND_PYTHON kbench/guest spec.json`. Standard library, numpy and keras alone.
"""

import importlib.util
import json
import os
import sys
import time
import traceback

from events import Events


class Refused(Exception):
    """The cell cannot go on; `kind` says why: 'mismatch', 'unsupported' or 'example'."""

    def __init__(self, kind, message):
        super(Refused, self).__init__(message)
        self.kind = kind


def main(path):
    """Run the cell that the spec file describes; 0 where it ended well."""
    started = time.perf_counter()
    with open(path, encoding="utf-8") as file:
        spec = json.load(file)
    for holder, name in (
        (spec, "example"),
        (spec, "events"),
        (spec, "published_weights"),
        (spec["data"], "folder"),
    ):
        holder[name] = os.path.expanduser(holder[name])
    events = Events(spec["events"])
    events.write("start", schema=1, pid=os.getpid(), python=sys.version.split()[0])
    try:
        run(spec, events)
    except Refused as error:
        traceback.print_exc()
        events.write("error", kind=error.kind, message=str(error))
        return 1
    except BaseException as error:
        traceback.print_exc()
        message = str(error).strip().splitlines()
        events.write(
            "error",
            kind="exception",
            message="%s: %s" % (type(error).__name__, message[0] if message else "no message"),
        )
        return 1
    events.write("end", seconds=time.perf_counter() - started)
    return 0


def run(spec, events):
    """Import, build, measure: a phase of the cell each."""
    with events.phase("import"):
        import generations
        import keras  # noqa: F401
        import measure

        example = load_example(spec["example"])
        import hardware
    hardware.keep_float32()
    events.write("memory", at="import", peak_mib=hardware.peak_memory_mib())
    check_loaded(spec, generations.versions(), events)
    generations.seed(spec["seed"])

    with events.phase("data"):
        import arrays

        data = spec["data"]
        train = arrays.open_part(data, data["train"], data["train_labels"], spec["samples"])
        validation = None
        if spec["validation_samples"]:
            validation = arrays.open_part(
                data, data["validation"], data["validation_labels"], spec["validation_samples"]
            )
        targets = training_targets(example, train, data["num_classes"])
        used = train.samples // spec["batch_size"] * spec["batch_size"]
        events.write("order", sha256=arrays.order_sha256(train.samples, used, spec["seed"], spec["epochs"]))

    with events.phase("build"):
        model = build(example, spec, events)

    device = hardware.device_in_use(model)
    events.write("device", device=device)
    if device not in (spec["device"], "unknown"):
        raise Refused(
            "device",
            "the cell was to run on the %s, but %s %s runs it on the %s"
            % (spec["device"], spec["keras_backend"], generations.versions()[1], device),
        )

    if spec.get("parity"):
        import parity

        parity.run(model, example, spec, train, targets, events)
    elif spec["task"] == "infer":
        measure.infer(model, spec, train, events)
    else:
        with events.phase("probe"):
            outputs = measure.probe(model, train, spec["batch_size"])
        events.write("probe", outputs=outputs)
        measure.train(model, example, spec, train, validation, targets, events)
    events.write(
        "memory", at="end", peak_mib=hardware.peak_memory_mib(), allocator_peak_mib=hardware.allocator_peak_mib(model)
    )
    import libraries

    # At the end: some frameworks load their libraries with the first step.
    events.write(
        "libraries",
        libraries=libraries.mapped(),
        framework_threads=libraries.framework_threads(),
        numpy_blas=libraries.numpy_blas(),
    )


def load_example(path):
    """The example's module; what it raises is the example's fault and said so."""
    module_spec = importlib.util.spec_from_file_location("example", path)
    module = importlib.util.module_from_spec(module_spec)
    sys.dont_write_bytecode = True  # or an example that was edited within a second would run as it was before
    try:
        module_spec.loader.exec_module(module)
    except Exception as error:
        raise Refused(
            "example", "%s raises on import: %s: %s" % (os.path.basename(path), type(error).__name__, error)
        ) from error
    finally:
        sys.dont_write_bytecode = False
    return module


def check_loaded(spec, versions, events):
    """Tell the host what Keras loaded, and refuse to measure anything else than was asked for."""
    import keras
    import numpy

    backend = keras.backend
    loaded = {
        "keras_backend": backend.backend(),
        "image_data_format": backend.image_data_format(),
        "floatx": backend.floatx(),
        "epsilon": float(backend.epsilon()),
    }
    events.write(
        "loaded",
        keras_version=versions[0],
        backend_version=versions[1],
        numpy_version=numpy.__version__,
        **loaded,
    )
    asked = {name: spec[name] for name in loaded}
    versions_asked = spec["versions"]
    loaded.update(keras_version=versions[0], backend_version=versions[1])
    asked.update(
        keras_version=versions_asked.get("keras") or versions[0],
        backend_version=versions_asked.get("backend") or versions[1],
    )
    for name in sorted(asked):
        if not same(name, loaded[name], asked[name]):
            raise Refused(
                "mismatch", "Keras loaded %s %s, where %s was asked for" % (name, loaded[name], asked[name])
            )


def same(name, loaded, asked):
    """Whether a loaded value is the asked one; a version may carry the build's name behind the number."""
    if name.endswith("_version"):
        return loaded == asked or loaded.startswith((asked + "+", asked + "-", asked + "."))
    if name == "epsilon":
        return abs(loaded - asked) < 1e-12
    return loaded == asked


def training_targets(example, train, num_classes):
    """Labels as the example's loss wants them, or None where nothing is trained."""
    import arrays

    if train.labels is None:
        return None
    if getattr(example, "LOSS", None) == "categorical_crossentropy":
        return arrays.one_hot(train.labels, num_classes)
    return train.labels[:]


def build(example, spec, events):
    """The example's model in the form that is right on this backend, with the common initial weights."""
    import fingerprint
    import forms
    import generations
    import keras
    import shapes as shapes_of
    import weights

    shapes = [tuple(shape) for shape in spec["data"]["input_shapes"]]
    made = example.build_model(shapes[0] if len(shapes) == 1 else shapes, spec["data"]["num_classes"])
    if not isinstance(made, keras.models.Model):
        raise Refused("example", "build_model of the example returns no Keras model but %r" % type(made).__name__)
    # Of the model as its file describes it: a form that a backend needs changes how it is computed, not what.
    events.write("shapes", inputs=shapes_of.inputs(made), layers=shapes_of.layers(made))
    if spec.get("parity"):
        made = forms.without_dropout(made)
    model, form, _ = forms.arrange(made, spec["recurrent"], spec["fixed_batch"], spec["batch_size"])
    if spec["published_weights"]:
        generations.load_published_weights(model, spec["published_weights"])
        sha256, left, origin = "", [], "published"
    elif spec["init"] == "backend":
        sha256, left, origin = "", [], "backend"
    else:
        sha256, left = weights.initialise(model, spec["seed"])
        origin = "seeded"
    events.write(
        "model",
        parameters=int(model.count_params()),
        form=form,
        weights=origin,
        weights_sha256=sha256,
        weights_left=left,
        dtypes=fingerprint.dtypes(model),
        layers=fingerprint.layers(model),
    )
    if spec["parameters"] not in (None, int(model.count_params())):
        raise Refused(
            "mismatch",
            "the model has %d parameters, where the example states %d" % (model.count_params(), spec["parameters"]),
        )
    if spec["task"] == "train" and not spec.get("parity"):
        generations.compile_model(model, example, spec["device"], spec["ordered_updates"])
        events.write("compiled", **fingerprint.compiled(model, example.LOSS, spec["batch_size"]))
    return model


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
