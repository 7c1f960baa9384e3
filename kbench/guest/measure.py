"""Trains or runs a model through Keras's own fit and predict, and times it epoch by epoch."""

import time

import arrays
import generations
import hardware
import keras
import scores


class FirstStep(keras.callbacks.Callback):
    """Notes when the first batch is done. Used in the first epoch alone: batch hooks cost time in Keras 3."""

    def __init__(self):
        super(FirstStep, self).__init__()
        self.end = None

    def on_batch_end(self, batch, logs=None):
        if self.end is None:
            hardware.synchronise(self.model)
            self.end = time.perf_counter()

    on_train_batch_end = on_batch_end


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
        first_step = FirstStep() if epoch == 1 else None
        called = time.perf_counter()
        history = model.fit(
            buffer.model_inputs(),
            buffer.targets,
            batch_size=batch_size,
            epochs=epoch,
            initial_epoch=epoch - 1,
            shuffle=False,
            verbose=0,
            callbacks=[timer] if first_step is None else [timer, first_step],
        )
        # Some backends compile in fit before the epoch begins: the first epoch counts from the call.
        seconds = timer.end - (called if epoch == 1 else timer.start)
        if epoch == 1:
            events.write("phase", name="first_step", seconds=first_step.end - called)
            events.write("phase", name="first_epoch", seconds=seconds)
        loss, accuracy = generations.training_scores({name: values[-1] for name, values in history.history.items()})
        result = {"epoch": epoch, "seconds": seconds, "samples": used, "loss": loss, "accuracy": accuracy}
        if validation:
            result.update(validation.scores())
        events.write("epoch", **result)


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
    """Run the model over all samples, spec['epochs'] times; the first pass is the cold one."""
    used = part.samples // spec["batch_size"] * spec["batch_size"]
    buffer = arrays.Buffer(part, used)
    buffer.fill(range(used))
    for epoch in range(1, spec["epochs"] + 1):
        start = time.perf_counter()
        outputs = model.predict(buffer.model_inputs(), batch_size=spec["batch_size"], verbose=0)
        seconds = time.perf_counter() - start
        if epoch == 1:
            events.write("phase", name="first_epoch", seconds=seconds)
            events.write("probe", outputs=excerpt(outputs))
        events.write("epoch", epoch=epoch, seconds=seconds, samples=used)
