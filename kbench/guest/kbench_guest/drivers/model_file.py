"""An example, in kbench's own loop: its model is built, and then trained, run, or compared layer by layer.

Each step is a phase of the cell. Neither Keras nor numpy is imported before the phase that times it.
"""

import importlib
import os

from kbench_guest.protocol import Refused


def run(spec, events):
    """Do what the spec asks for. Raises Refused if the cell cannot go on."""
    with events.phase("import"):
        from kbench_guest import arrays, frameworks, process
        from kbench_guest.drivers import epochs, example_file, example_model, feeding, parity

        framework = frameworks.load()
        example = example_file.load(spec["example"])
    framework.prepare()
    events.write("memory", at="import", peak_mib=process.peak_memory_mib())
    check_loaded(spec, framework.versions(), events)
    framework.seed(spec["seed"])
    if spec["policy"]:
        framework.set_policy(spec["policy"])

    with events.phase("data"):
        data = spec["data"]
        train = arrays.open_part(data, "train", spec["samples"])
        validation = None
        if spec["validation_samples"]:
            validation = arrays.open_part(data, "validation", spec["validation_samples"])
        targets = example_file.training_targets(example, train, data["num_classes"])
        feed = feeding.feed(example, spec, train, targets)
        events.write("order", sha256=feed.order_sha256())

    with events.phase("build"):
        model = example_model.build(framework, example, spec, feed.first_inputs(), events)

    check_settings(framework, model, spec, events)
    device = framework.device(model)
    events.write("device", device=device)
    if device not in (spec["device"], "unknown"):
        raise Refused(
            "device",
            "the cell was to run on the %s, but %s %s runs it on the %s"
            % (spec["device"], spec["keras_backend"], framework.versions()[1], device),
        )

    if spec.get("parity"):
        parity.run(framework, model, example, spec, train, feed, events)
    elif spec["task"] == "infer":
        epochs.infer(framework, model, spec, train, events)
    else:
        with events.phase("probe"):
            outputs = epochs.probe(model, feed.first_inputs(), spec["batch_size"])
        events.write("probe", outputs=outputs)
        epochs.train(framework, model, example, spec, feed, validation, events)
    process.report(framework, events, allocator_peak_mib=framework.allocator_peak_mib(model))


def check_loaded(spec, versions, events):
    """Report what Keras loaded, and refuse to measure anything else than was asked for."""
    import keras
    import numpy

    backend = keras.backend
    loaded = {
        "keras_backend": backend.backend(),
        "image_data_format": backend.image_data_format(),
        "floatx": backend.floatx(),
        "epsilon": float(backend.epsilon()),
        "keras_version": versions[0],
        "backend_version": versions[1],
    }
    events.write("loaded", numpy_version=numpy.__version__, **loaded)
    for name in sorted(loaded):
        asked = spec["versions"].get(name[: -len("_version")]) if name.endswith("_version") else spec[name]
        if asked and not same(name, loaded[name], asked):
            raise Refused("mismatch", "Keras loaded %s %s, where %s was asked for" % (name, loaded[name], asked))
    check_sources(sorted(spec["sources"]))


def check_sources(packages):
    """Refuse a package that Python has not imported from the user's own folder, which PYTHONPATH names."""
    folders = [os.path.realpath(one) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    for name in packages:
        place = os.path.realpath(importlib.import_module(name).__file__)
        if not any(place.startswith(os.path.join(folder, "")) for folder in folders):
            raise Refused("mismatch", "Python imports %s from %s, not from your folder" % (name, place))


def check_settings(framework, model, spec, events):
    """Give the model the settings that were asked for, report what it holds, and refuse to measure anything else."""
    if spec["jit"]:
        framework.set_jit(model, spec["jit"] == "on")
    held = framework.held_settings(model)
    if held:
        events.write("settings", **held)
    if spec["jit"] and held["jit"] != spec["jit"]:
        raise Refused("mismatch", "jit_compile is %s, where %s was asked for" % (held["jit"], spec["jit"]))
    dtype = spec["policy"].replace("mixed_", "")
    if dtype and dtype not in held["computes_in"]:
        raise Refused("mismatch", "its layers compute in %s, not in %s" % (" and ".join(held["computes_in"]), dtype))


def same(name, loaded, asked):
    """Whether a loaded value is the asked one; a version may carry the build's name behind the number."""
    if name.endswith("_version"):
        return loaded == asked or loaded.startswith((asked + "+", asked + "-", asked + "."))
    if name == "epsilon":
        return abs(loaded - asked) < 1e-12
    return loaded == asked
