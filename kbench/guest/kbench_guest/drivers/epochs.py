"""Trains or runs a model through Keras's own fit and predict, and times it epoch by epoch."""

import time

import keras

from kbench_guest import arrays, scores
from kbench_guest.clock import EpochClock, StepClock
from kbench_guest.frameworks.keras_models import training_scores
from kbench_guest.turns import Turns


def probe(model, part, batch_size):
    """Outputs for the first batch of the data, dropout off, before any training: what the model computes."""
    buffer = arrays.Buffer(part, batch_size)
    buffer.fill(range(batch_size))
    return excerpt(model.predict(buffer.model_inputs(), batch_size=batch_size, verbose=0))


def excerpt(outputs):
    """A nested list of shape (4, up to 16): the first samples and the first numbers of each one's output."""
    return outputs[:4].reshape(len(outputs[:4]), -1)[:, :16].tolist()


def train(framework, model, example, spec, train_part, validation_part, targets, events):
    """Train for spec['epochs'] epochs and write an event for each.

    Every backend sees the same batches in the same order, and the last, partial batch is left out on all.
    """
    batch_size, seed = spec["batch_size"], spec["seed"]
    used = train_part.samples // batch_size * batch_size
    buffer = arrays.Buffer(train_part, used, targets)
    validation = Validation(model, example, validation_part, batch_size) if validation_part else None
    steps = used // batch_size
    clock = StepClock(framework, model, "train", steps, Turns(steps * spec["epochs"]))
    for epoch in range(1, spec["epochs"] + 1):
        buffer.fill(arrays.epoch_order(train_part.samples, used, seed, epoch))
        if spec["augment"]:
            arrays.augment(
                buffer.inputs[0],
                example.AUGMENTATION,
                spec["image_data_format"] == "channels_first",
                seed,
                epoch,
            )
        timer = EpochClock(framework, model)
        called = time.perf_counter()
        history = model.fit(
            buffer.model_inputs(),
            buffer.targets,
            batch_size=batch_size,
            epochs=epoch,
            initial_epoch=epoch - 1,
            shuffle=False,
            verbose=0,
            callbacks=[keras.callbacks.LambdaCallback(on_epoch_begin=timer.begin, on_epoch_end=timer.finish)],
        )
        returned = time.perf_counter()
        # Some backends compile in fit before the epoch begins: the first epoch counts from the call.
        start = called if epoch == 1 else timer.start
        timed = clock.lap(start, timer.end)
        if epoch == 1:
            write_first(events, clock, start, timed["seconds"])
        loss, accuracy = training_scores({name: values[-1] for name, values in history.history.items()})
        result = {"epoch": epoch, "samples": used, "loss": loss, "accuracy": accuracy}
        result["teardown_seconds"] = returned - timer.end
        result.update(timed)
        if validation:
            result.update(validation.scores())
        events.write("epoch", **result)


def write_first(events, clock, start, seconds):
    """The phases of the first epoch or pass: its first step, which holds the compilation, and the whole of it."""
    if clock.first_end is not None:
        events.write("phase", name="first_step", seconds=clock.first_end - start)
    events.write("phase", name="first_epoch", seconds=seconds)


class Validation(object):
    """Scores of all validation samples; the last batch is filled up and the surplus cut off."""

    def __init__(self, model, example, part, batch_size):
        self._model = model
        self._batch_size = batch_size
        self._labels = part.labels[:]
        self._loss = scores.LOSSES.get(example.LOSS)
        padded = -(-part.samples // batch_size) * batch_size
        self._buffer = arrays.Buffer(part, padded)
        self._buffer.fill([number % part.samples for number in range(padded)])

    def scores(self):
        """How long the prediction took; val_loss and val_accuracy if the loss is a cross-entropy."""
        start = time.perf_counter()
        predicted = self._model.predict(self._buffer.model_inputs(), batch_size=self._batch_size, verbose=0)
        seconds = time.perf_counter() - start
        found = {"evaluation_seconds": seconds}
        if self._loss:  # of other losses kbench knows neither the value nor whether an accuracy means something
            predicted = predicted[: len(self._labels)]
            found["val_loss"] = self._loss(predicted, self._labels)
            found["val_accuracy"] = scores.accuracy(predicted, self._labels)
        return found


def infer(framework, model, spec, part, events):
    """Run the model over all samples, spec['epochs'] times; the first pass is the cold one.

    Like an epoch, a pass lasts until its last batch is done: what predict does after that is written apart.
    """
    used = part.samples // spec["batch_size"] * spec["batch_size"]
    buffer = arrays.Buffer(part, used)
    buffer.fill(range(used))
    steps = used // spec["batch_size"]
    clock = StepClock(framework, model, "predict", steps, Turns(steps * spec["epochs"]))
    on_cpu = framework.device(model) == "cpu"
    for epoch in range(1, spec["epochs"] + 1):
        start = time.perf_counter()
        outputs = model.predict(buffer.model_inputs(), batch_size=spec["batch_size"], verbose=0)
        returned = time.perf_counter()
        # Elsewhere the last batch's function may return before its work is done; what predict returned is there.
        seen = clock.last_end() if on_cpu else None
        end = returned if seen is None else min(seen, returned)  # on a busy machine the clock may come late
        timed = clock.lap(start, end)
        if epoch == 1:
            write_first(events, clock, start, timed["seconds"])
            events.write("probe", outputs=excerpt(outputs))
        events.write("epoch", epoch=epoch, samples=used, teardown_seconds=returned - end, **timed)
