"""An example on a native backend: its twin is built, and then trained, run, or compared. Keras is not imported.

Each step is a phase of the cell, as in the core's model_file.py.
"""

from typing import TYPE_CHECKING, Any, Dict

from kbench_guest import parts
from kbench_guest.proof.as_asked import check_device, check_sources, same
from kbench_guest.protocol import Refused

if TYPE_CHECKING:
    from kbench_guest.protocol import Events


def run(spec: Dict[str, Any], events: "Events") -> None:
    """Do what the spec asks for. Raises Refused if the cell cannot go on."""
    with events.phase("import"):
        import types

        import numpy

        from kbench_guest import arrays, process
        from kbench_guest.frameworks.layer_settings import dropped_defaults, plain
        from kbench_guest.training import epochs, feeding, timing
        from kbench_native import first_step
        from kbench_native import framework as frameworks
        from kbench_native.twin import Twin

        framework = frameworks.load(spec["framework"], spec["module"])
        framework.start_workers(spec)
        twin = Twin(spec["driver"]["file"], not spec["part"], spec["seed"], spec["seed"] + framework.workers.rank)
    events.write("memory", at="import", peak_mib=process.peak_memory_mib())
    check_loaded(spec, framework.versions()[1], numpy.__version__, events)
    framework.seed(spec["seed"] + framework.workers.rank)
    example = types.SimpleNamespace(**spec["constants"])

    with events.phase("data"):
        data, validated = spec["data"], spec["validation_samples"]
        train = arrays.open_part(data, "train", spec["samples"])
        validation = arrays.open_part(data, "validation", validated) if validated else None
        loss = getattr(example, "LOSS", None)
        binary = arrays.zeros_and_ones(train, loss)
        taken = (binary or arrays.class_numbers(train, loss) is not None) and train.weights is None
        if spec["task"] == "train" and not taken:
            raise Refused(
                "unsupported",
                "a twin needs class numbers, or zeros and ones, as targets: one per sample or per step",
            )
        targets = [numpy.asarray(one, "float32" if binary else "int32") for one in train.targets]
        feed = feeding.feed(example, spec, train, targets)
        events.write("order", **feed.about())

    initial = twin.drawn()
    if spec["task"] == "train" and not (spec["part"] or spec["timing"]) and spec["repeat"] == 1:
        with events.phase("probe"):  # the twin that is measured seeds its framework when it is built
            first_step.of_twin(
                Twin(spec["driver"]["file"], False, spec["seed"]), initial, example, spec, feed, events
            )
        framework.seed(spec["seed"] + framework.workers.rank)

    with events.phase("build"):
        trained = timing.kept(spec.get("trained", "")) if spec["timing"] else None
        twin.build(initial if trained is None else trained)
        held = twin.weights()
        parameters = sum(int(value.size) for value in held)
        proof = {"weights": "seeded", "weights_sha256": twin.sha256(), "weights_left": []}
        dtypes = sorted({str(value.dtype) for value in held})
        events.write("model", parameters=parameters, form="", dtypes=dtypes, **proof)
        if spec["parameters"] not in (None, parameters):
            stated = "the twin has %d parameters, where the example states %d"
            raise Refused("mismatch", stated % (parameters, spec["parameters"]))
        if spec["task"] == "train" and not spec["part"]:
            twin.compile(example.OPTIMIZER, example.LOSS)
            optimizer = dropped_defaults({name: plain(value) for name, value in example.OPTIMIZER.items()})
            events.write("compiled", optimizer=optimizer, loss=example.LOSS, batch_size=spec["batch_size"])

    check_device(framework, twin, spec, events)
    if spec["part"]:
        parts.driver(spec).with_twin(twin, initial, example, spec, feed, events)
    else:
        epochs.measure(framework, twin, example, spec, feed, train, validation, events)
    process.report(framework, events, allocator_peak_mib=framework.allocator_peak_mib(twin))


def check_loaded(spec: Dict[str, Any], version: str, numpy_version: str, events: "Events") -> None:
    """Report what was loaded, and refuse to measure another version than was asked for."""
    asked = spec["versions"].get("backend")
    version = version or asked or "unknown"  # one that does not say has been installed from the lock file
    settings = {name: spec[name] for name in ("keras_backend", "image_data_format", "floatx", "epsilon")}
    events.write("loaded", keras_version="", backend_version=version, numpy_version=numpy_version, **settings)
    if asked and not same("backend_version", version, asked):
        raise Refused("mismatch", f"{spec['module']} {version} was loaded, where {asked} was asked for")
    check_sources(sorted(spec["sources"]))
