"""Runs an example: its model is built, and then trained, run, or given to a feature's driver.

Each step is a phase of the cell. Neither Keras nor numpy is imported before the phase that times it.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from kbench_guest import parts
from kbench_guest.proof.as_asked import check_device, check_loaded, check_settings, package_of

if TYPE_CHECKING:
    from kbench_guest.protocol import Events


def run(
    spec: Dict[str, Any],
    events: "Events",
    load: Optional[Callable[[Dict[str, Any]], Any]] = None,
    finish: Optional[Callable[..., Any]] = None,
) -> None:
    """Run the cell of this spec. Raises Refused if it cannot go on.

    Of a feature's driver: load(spec) returns another interface than Keras's own, and finish(framework, model, inputs,
    spec, events) what runs in place of the model that was built.
    """
    with events.phase("import"):
        from kbench_guest import arrays, frameworks, process
        from kbench_guest.training import epochs, example_file, example_model, feeding, timing, within_steps

        framework = load(spec) if load else frameworks.load()
        framework.start_workers(spec)
        threads, cores, imported = process.threads(framework), within_steps.cores(), process.frameworks()
        example = example_file.load(spec["example"])
    events.write("threads", threads_at_start=threads, cores_at_start=cores)
    framework.prepare()
    events.write("memory", at="import", peak_mib=process.peak_memory_mib())
    check_loaded(spec, framework.versions(), events)
    framework.seed(spec["seed"] + framework.workers.rank)  # dropout is each worker's own
    if spec["policy"]:
        framework.set_policy(spec["policy"])

    with events.phase("data"):
        data, validated = spec["data"], spec["validation_samples"]
        train = arrays.open_part(data, "train", spec["samples"])
        validation = arrays.open_part(data, "validation", validated) if validated else None
        targets = example_file.training_targets(example, train, data["num_classes"])
        feed = feeding.feed(example, spec, train, targets)
        events.write("order", **feed.about())

    with events.phase("build"):
        model = example_model.build(framework, example, spec, feed.first_inputs(), events)
    if finish:
        model = finish(framework, model, feed.first_inputs(), spec, events)

    trained = timing.kept(spec.get("trained", "")) if spec["timing"] else None
    if trained is not None:
        framework.set_values(model.weights, trained)
    check_settings(framework, model, spec, events)
    check_device(framework, model, spec, events)
    again = None
    if spec["part"]:
        parts.driver(spec).with_model(framework, model, example, spec, feed, events)
    else:
        again = epochs.measure(framework, model, example, spec, feed, train, validation, events)
    process.report(framework, events, allocator_peak_mib=framework.allocator_peak_mib(model))
    own = package_of(spec["keras_backend"])
    others = [one for one in process.frameworks() if one not in imported and one.split()[0] != own]
    if others:
        events.write("note", text=f"its file also imports {' and '.join(others)}")
    if again is not None:
        again()
