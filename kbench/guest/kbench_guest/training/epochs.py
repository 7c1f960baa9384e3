"""Trains or runs a model through Keras's own fit and predict, and times it epoch by epoch."""

import contextlib
import functools
import json
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple

from kbench_guest import arrays, process, scores, sketches
from kbench_guest.clock import StepClock
from kbench_guest.frameworks.layer_settings import plain
from kbench_guest.proof import first_outputs
from kbench_guest.training import example_file, first_step, generation, recurrent_kernel, timing
from kbench_guest.training.between_epochs import ClockBetween, WeightsAndRateWatch
from kbench_guest.training.callbacks import Callbacks
from kbench_guest.training.received import ReceivedData
from kbench_guest.training.validated import watched
from kbench_guest.training.within_steps import WithinSteps
from kbench_guest.turns import Call, TurnClient

if TYPE_CHECKING:
    from kbench_guest.arrays import Part
    from kbench_guest.frameworks.interface import Framework
    from kbench_guest.protocol import Events


def measure(
    framework: Any,
    model: Any,
    example: Any,
    spec: Dict[str, Any],
    feed: Any,
    part: "Part",
    validation_part: Optional["Part"],
    events: "Events",
) -> Optional[Callable[[], None]]:
    """Run the model, or train it after its outputs for the first batch and its first step are known.

    Returns what is to be called when everything is measured, if there is anything: it takes the first step again.
    """
    again = None
    if spec["task"] == "infer" and not spec["timing"]:
        infer(framework, model, example, spec, part, events)
        return None
    if spec["timing"]:
        framework.workers.join(model)
        timing.measure(framework, model, example, spec, feed, part, events)
        return None
    with events.phase("probe"):
        if framework.workers.observes:
            with recurrent_kernel.reported(framework, model, events):
                outputs = model.predict(feed.first_inputs(), batch_size=spec["batch_size"], verbose=0)
            events.write("probe", **first_outputs.sampled(model, example, spec, outputs))
        framework.workers.join(model)
        # Its repeats are the same program; a feature's driver has taken the step itself, if it can be taken.
        if spec["repeat"] == 1 and not spec["driver"]:
            again = first_step.of_model(framework, model, example, spec, feed, events)
    train(framework, model, example, spec, feed, validation_part, events)
    if framework.workers.observes:
        timing.keep(spec.get("trained", ""), lambda: framework.all_weights(model))
    return None if again is None else functools.partial(first_step.write_again, again, events)


def train(
    framework: "Framework",
    model: Any,
    example: Any,
    spec: Dict[str, Any],
    feed: Any,
    validation_part: Optional["Part"],
    events: "Events",
) -> None:
    """Train for spec['epochs'] epochs and write an event for each."""
    validation = watched(framework, model, spec, validating(framework, model, example, spec, validation_part))
    steps = framework.calls(example, feed.steps)
    shared = framework.workers.shares(arrays.images_first(spec))
    received = ReceivedData(framework, model, spec, feed.steps, shared)
    turns = TurnClient(steps * spec["epochs"])
    within = WithinSteps(framework, steps)

    def look(number: int, args: Tuple[Any, ...]) -> None:
        received.step(number, args)
        within.step(number)

    clock = StepClock(framework, model, "train", steps, turns, look)
    own = getattr(example, "callbacks", None)  # or Keras's module of that name
    callbacks = Callbacks(own() if callable(own) else (), model)
    write_settings(framework, model, example, spec, events)
    around = WeightsAndRateWatch(framework, model, callbacks.made)
    turns.ready()
    for epoch in range(1, spec["epochs"] + 1):
        given = dict(feed.of_epoch(epoch), **example_file.class_weights(example))
        timer = ClockBetween(framework, model, around)
        callbacks.begin(epoch)
        framework.workers.meet()
        with received.of_epoch(epoch, given):
            called, call, ready = time.perf_counter(), Call(), process.ready_seconds()
            logs = framework.train_epoch(model, epoch, given, timer, callbacks.made)
            ready = _since(ready)
            late = time.perf_counter() - timer.end - timer.after
            late -= call.added(late)
        # Some backends compile in fit before the epoch begins: the first epoch counts from the call.
        start = called + timer.before if epoch == 1 else timer.start
        calls = clock.begun
        timed = clock.lap(start, timer.end)
        if epoch == 1:
            write_first(events, clock, start, timed["seconds"])
            if not clock.hooked:
                events.write("note", text=framework.unseen_steps("train"))
        found = dict(received.found(calls if clock.hooked else None), **around.found(), **within.found)
        within.next_epoch()
        if shared:
            logs = shared.together(epoch, feed, logs, found, events)
        loss, accuracy = scores.training_scores(logs)
        result = dict(timed, epoch=epoch, samples=found.get("samples", feed.samples), loss=loss, accuracy=accuracy)
        result["teardown_seconds"] = late
        found.update(callback_seconds=callbacks.taken(), ready_seconds=ready)
        metrics = scores.others(logs, example)
        if validation:
            scored = framework.workers.of_first(validation)
            metrics.update(scored.pop("metrics", {}))
            result.update(scored)
        events.write("received", epoch=epoch, validation_sha256=result.pop("sha256", None), **found)
        if metrics:
            result["metrics"] = metrics
        events.write("epoch", resident_mib=process.resident_mib(), **result)
        last = epoch == spec["epochs"]
        if callbacks.end(epoch, dict(logs, **scores.of_validation(result, metrics)), last):
            if not last:
                events.write("stopped", epoch=epoch)
            return


def _since(ready: Optional[float]) -> Optional[float]:
    """How much process.ready_seconds has grown since; threads that have ended are no longer in it."""
    now = process.ready_seconds()
    return None if ready is None or now is None else max(0.0, now - ready)


def write_settings(framework: "Framework", model: Any, example: Any, spec: Dict[str, Any], events: "Events") -> None:
    """What else counts of a training, as the compiled model and the example's module hold it."""
    found = framework.settings_of_training(model, spec["ordered_updates"])
    asked = {name: getattr(example, name.upper(), None) for name in ("class_weight", "loss_weights")}
    if spec["augment"]:
        asked["augmentation"] = example.AUGMENTATION
    found.update((name, json.dumps(_by_text(value), sort_keys=True)) for name, value in asked.items())
    events.write("training", **found)
    for text in framework.unusual(model, spec):
        events.write("note", text=text)


def _by_text(settings: Any) -> Any:
    """Settings with the names that JSON has; nothing for none."""
    if isinstance(settings, dict):
        return {str(name): plain(value) for name, value in settings.items()}
    return plain(settings or {})


def write_first(events: "Events", clock: StepClock, start: float, seconds: float) -> None:
    """The phases of the first epoch or pass: its first step, which compiles, and the whole of it."""
    if clock.first_end is not None:
        events.write("phase", name="first_step", seconds=clock.first_end - start)
    events.write("phase", name="first_epoch", seconds=seconds)


def validating(
    framework: "Framework", model: Any, example: Any, spec: Dict[str, Any], part: Optional["Part"]
) -> Optional[Callable[[], Dict[str, Any]]]:
    """What scores the validation samples, if any: kbench for a cross-entropy of class numbers alone, else Keras.

    It returns {"evaluation_seconds", "val_loss", "val_accuracy"} and, by Keras, the other "metrics"; an accuracy that
    is not measured is None.
    """
    if not part:
        return None
    measured = getattr(example, "METRICS", ["accuracy"])
    plain = isinstance(example.LOSS, str) and example.LOSS in scores.LOSSES and set(measured) <= {"accuracy", "acc"}
    if plain and arrays.class_numbers(part, example.LOSS) is not None and part.weights is None:
        return _by_kbench(model, example, part, spec["batch_size"])
    return _by_keras(framework, model, example, spec, part)


def _by_kbench(model: Any, example: Any, part: "Part", size: int) -> Callable[[], Dict[str, Any]]:
    """Scores all validation samples; the last batch is padded, and the padding's outputs are dropped."""
    labels, loss = arrays.class_numbers(part, example.LOSS)[:], scores.LOSSES[example.LOSS]
    padded = -(-part.samples // size) * size
    buffer = arrays.Buffer(part, padded)
    buffer.fill([number % part.samples for number in range(padded)])

    def score() -> Dict[str, Any]:
        start = time.perf_counter()
        predicted = model.predict(buffer.model_inputs(), batch_size=size, verbose=0)
        seconds = time.perf_counter() - start
        predicted = predicted[: len(labels)]
        return {
            "evaluation_seconds": seconds,
            "val_loss": loss(predicted, labels),
            "val_accuracy": scores.accuracy(predicted, labels),
        }

    return score


def _by_keras(
    framework: Any, model: Any, example: Any, spec: Dict[str, Any], part: "Part"
) -> Callable[[], Dict[str, Any]]:
    """Scores the validation samples that fill whole batches by the model's own loss and metrics."""
    size = min(spec["batch_size"], part.samples)
    used = part.samples // size * size
    buffer = arrays.Buffer(part, used, example_file.training_targets(example, part, spec["data"]["num_classes"]))
    buffer.fill(range(used))

    def score() -> Dict[str, Any]:
        x, y = buffer.model_inputs(), buffer.model_targets()
        start = time.perf_counter()
        found = framework.evaluate(model, x, y, batch_size=size, **buffer.weighted())
        seconds = time.perf_counter() - start
        loss, accuracy = scores.training_scores(found)
        others = {"val_" + name: value for name, value in scores.others(found, example).items()}
        return {"evaluation_seconds": seconds, "val_loss": loss, "val_accuracy": accuracy, "metrics": others}

    return score


def infer(
    framework: "Framework", model: Any, example: Any, spec: Dict[str, Any], part: "Part", events: "Events"
) -> None:
    """Run the model over all samples, spec['epochs'] times; the first pass is the cold one.

    Like an epoch, a pass lasts until its last batch is done; what predict does after that is reported apart. With
    GENERATE, the model writes so many tokens behind each sample, a step for each token of a batch.
    """
    tokens = getattr(example, "GENERATE", 0)
    size = spec["batch_size"]
    used = part.samples // spec["batch_size"] * spec["batch_size"]
    buffer = arrays.Buffer(part, used)
    buffer.fill(range(used))
    steps = used // size * (tokens or 1)
    turns = TurnClient(steps * spec["epochs"])
    clock = StepClock(framework, model, "predict", steps, turns)
    turns.ready()
    on_cpu = framework.device(model) == "cpu"
    for epoch in range(1, spec["epochs"] + 1):
        generated: Dict[str, Any] = {}
        with contextlib.ExitStack() as watching:
            if epoch == 1 and framework.kernels_at_first:
                watching.enter_context(recurrent_kernel.reported(framework, model, events))
            start, call, ready = time.perf_counter(), Call(), process.ready_seconds()
            if tokens:
                outputs, first = generation.write(model, buffer.model_inputs(), tokens, size)
                generated = {"tokens": tokens * used, "first_token_seconds": first}
            else:
                outputs = model.predict(buffer.model_inputs(), batch_size=size, verbose=0)
            returned, ready = time.perf_counter(), _since(ready)
        # On a GPU the last batch's function may return before its work is done; predict returns after that.
        seen = clock.last_end() if on_cpu else None
        end = returned if seen is None else min(seen, returned)  # on a busy machine the clock may come late
        late = returned - end
        late -= call.added(late)
        calls = clock.begun
        timed = clock.lap(start, end)
        sampled = first_outputs.sampled(model, example, dict(spec, batch_size=used), outputs)
        if epoch == 1:
            first_pass = sampled
            write_first(events, clock, start, timed["seconds"])
            events.write("probe", **sampled)
        samples = min(used, calls // (tokens or 1) * size) if calls else used
        if clock.hooked:
            off = sketches.apart(first_pass, sampled)
            counted = {"steps": min(steps, calls), "samples": samples}
            events.write("received", epoch=epoch, ready_seconds=ready, outputs_off=off, **counted)
        elif epoch == 1:
            events.write("note", text=framework.unseen_steps("predict"))
        after = dict(timed, resident_mib=process.resident_mib(), **generated)
        events.write("epoch", epoch=epoch, samples=samples, teardown_seconds=late, **after)
    if not framework.kernels_at_first:  # they would have cost the cold pass time
        clock.active = False
        with recurrent_kernel.reported(framework, model, events):
            first_batch = arrays.mapped(lambda one: one[:size], buffer.model_inputs())
            model.predict(first_batch, batch_size=size, verbose=0)
