"""Trains or runs a model through Keras's own fit and predict, and times it epoch by epoch."""

import collections
import threading
import time
import traceback

import arrays
import generations
import hardware
import keras
import scores


class StepClock(object):
    """Notes when each step ends, around the model's compiled function and without a hook in Keras's loop.

    steps: the batches of each epoch. Batch hooks would make Keras 3 wait for the device and read the logs in every
    step. Where a framework returns before the work is done, the training looks at every step which ones are done by
    then, and goes on; when the last has begun, a thread waits for those that are left. (A thread that waits for every
    step is woken at each, and takes 2 % from short steps on two cores.)
    """

    def __init__(self, model, kind, steps):
        self._model = model
        self._steps = steps
        self._ends = []
        self._running = collections.deque()  # (is_done, wait) of the steps that have not been seen to end
        self._thread = None  # notes the ends of an epoch's last steps
        self.first_end = None  # when the very first step was done on the device; None where no step can be seen
        generations.wrap_step(model, kind, self._timed)

    def _timed(self, function):
        def step(*args):
            self._look()
            outputs = function(*args)
            if self.first_end is None:
                hardware.synchronise(self._model, outputs)
                self.first_end = time.perf_counter()
            running = hardware.running(outputs)
            if running is None:
                self._ends.append(time.perf_counter())
                return outputs
            self._look()  # the function may have waited for an earlier step
            self._running.append(running)
            if len(self._ends) + len(self._running) == self._steps:
                rest, self._running = self._running, collections.deque()
                self._thread = threading.Thread(target=self._wait, args=(rest,))
                self._thread.daemon = True
                self._thread.start()
            return outputs

        return step

    def _look(self):
        try:
            while self._running and self._running[0][0]():
                self._ends.append(time.perf_counter())
                self._running.popleft()
        except Exception:  # then steps are missing, and `lap` gives none
            traceback.print_exc()
            self._running.clear()

    def _wait(self, rest):
        try:
            for _, wait in rest:
                wait()
                self._ends.append(time.perf_counter())
        except Exception:  # as above
            traceback.print_exc()

    def last_end(self):
        """When the epoch's last step was done on the device; None where not just as many were seen as it has."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        return self._ends[-1] if len(self._ends) == self._steps and not self._running else None

    def lap(self, start, end):
        """Seconds from each step's end to the next one's; the first counts from `start`, the last up to `end`.

        {'step_seconds': list}, or nothing where not just as many steps were seen as there were batches.
        """
        seen = self.last_end() is not None
        ends, self._ends = self._ends, []
        self._running.clear()
        if not seen:
            return {}
        between = [min(one, end) for one in ends[:-1]]  # on a busy machine the clock may come late
        return {"step_seconds": [round(b - a, 7) for a, b in zip([start] + between, between + [end])]}


class EpochTimer(keras.callbacks.Callback):
    """Seconds from the start of an epoch to the end of its last batch on the device."""

    def on_epoch_begin(self, epoch, logs=None):
        self.start = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        hardware.synchronise(self.model)
        self.end = time.perf_counter()


def probe(model, part, batch_size):
    """Outputs for the first batch of the data, dropout off, before any training: what the model computes."""
    buffer = arrays.Buffer(part, batch_size)
    buffer.fill(range(batch_size))
    return excerpt(model.predict(buffer.model_inputs(), batch_size=batch_size, verbose=0))


def excerpt(outputs):
    """A nested list of shape (4, up to 16): the first samples and the first numbers of each one's output."""
    return outputs[:4].reshape(len(outputs[:4]), -1)[:, :16].tolist()


def train(model, example, spec, train_part, validation_part, targets, events):
    """Train for spec['epochs'] epochs and write an event for each.

    Every backend sees the same batches in the same order, and the last, partial batch is left out on all.
    """
    batch_size, seed = spec["batch_size"], spec["seed"]
    used = train_part.samples // batch_size * batch_size
    buffer = arrays.Buffer(train_part, used, targets)
    validation = Validation(model, example, validation_part, batch_size) if validation_part else None
    clock = StepClock(model, "train", used // batch_size)
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
        timer = EpochTimer()
        called = time.perf_counter()
        history = model.fit(
            buffer.model_inputs(),
            buffer.targets,
            batch_size=batch_size,
            epochs=epoch,
            initial_epoch=epoch - 1,
            shuffle=False,
            verbose=0,
            callbacks=[timer],
        )
        returned = time.perf_counter()
        # Some backends compile in fit before the epoch begins: the first epoch counts from the call.
        start = called if epoch == 1 else timer.start
        seconds = timer.end - start
        if epoch == 1:
            write_first(events, clock, start, seconds)
        loss, accuracy = generations.training_scores({name: values[-1] for name, values in history.history.items()})
        result = {"epoch": epoch, "seconds": seconds, "samples": used, "loss": loss, "accuracy": accuracy}
        result["teardown_seconds"] = returned - timer.end
        result.update(clock.lap(start, timer.end))
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
        """val_loss, val_accuracy and how long the prediction took."""
        start = time.perf_counter()
        predicted = self._model.predict(self._buffer.model_inputs(), batch_size=self._batch_size, verbose=0)
        seconds = time.perf_counter() - start
        predicted = predicted[: len(self._labels)]
        return {
            "val_loss": self._loss(predicted, self._labels) if self._loss else None,
            "val_accuracy": scores.accuracy(predicted, self._labels),
            "evaluation_seconds": seconds,
        }


def infer(model, spec, part, events):
    """Run the model over all samples, spec['epochs'] times; the first pass is the cold one.

    Like an epoch, a pass lasts until its last batch is done: what predict does after that is told apart.
    """
    used = part.samples // spec["batch_size"] * spec["batch_size"]
    buffer = arrays.Buffer(part, used)
    buffer.fill(range(used))
    clock = StepClock(model, "predict", used // spec["batch_size"])
    for epoch in range(1, spec["epochs"] + 1):
        start = time.perf_counter()
        outputs = model.predict(buffer.model_inputs(), batch_size=spec["batch_size"], verbose=0)
        returned = time.perf_counter()
        # On a GPU the last batch's function may return before its work is done; what predict returned is there.
        seen = clock.last_end() if spec["device"] == "cpu" else None
        end = returned if seen is None else min(seen, returned)  # on a busy machine the clock may come late
        seconds = end - start
        if epoch == 1:
            write_first(events, clock, start, seconds)
            events.write("probe", outputs=excerpt(outputs))
        steps = clock.lap(start, end)
        events.write("epoch", epoch=epoch, seconds=seconds, samples=used, teardown_seconds=returned - end, **steps)
