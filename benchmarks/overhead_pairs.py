"""Inside a backend's Python: epochs as kbench measures them, each followed by epochs of a bare fit of the same model.

    BACKEND_PYTHON benchmarks/overhead_pairs.py SPEC GUEST_FOLDER ORDERED BARE_FIRST     started by overhead.py

ORDERED, 1 or 0, is whether the bare fit orders its updates as the guest does where a backend's file asks for it;
BARE_FIRST whether its model is built first.

Both models live in one process and take turns, so that what differs between processes, or drifts, hits both alike.
Prints a JSON line: {"kbench": seconds of its steady epochs, "bare": for each, those of the bare fit after it}. Since
kbench's epochs are fits of one epoch each, a bare fit's first epoch is what compares with them; its second is what a
script has that fits many epochs at once.
"""

import json
import os
import sys
import time

BARE_EPOCHS = 2  # of each fit


def main(path, guest, ordered, bare_first):
    """Build both models, train them in turns, print the pairs."""
    sys.path.insert(0, guest)
    with open(path, encoding="utf-8") as file:
        spec = json.load(file)
    for holder, name in ((spec, "example"), (spec["data"], "folder")):
        holder[name] = os.path.expanduser(holder[name])
    import keras

    from kbench_guest import arrays, frameworks
    from kbench_guest.drivers import epochs, example_file, example_model, feeding

    framework = frameworks.load()
    example = example_file.load(spec["example"])
    framework.seed(spec["seed"])
    data = spec["data"]
    train = arrays.open_part(data, "train", spec["samples"])
    targets = example_file.training_targets(example, train, data["num_classes"])
    feed = feeding.feed(example, spec, train, targets)

    class Events:
        """Stands in for the guest's: where an epoch is written, a bare fit takes its turn."""

        kbench, bare = [], []

        def write(self, event, **values):
            if event == "epoch":
                self.kbench.append(values["seconds"])
                self.bare.append(bare_epochs())

        def phase(self, name):
            raise AssertionError("train writes phases as events")

    events = Events()
    model = None if bare_first else example_model.build(framework, example, spec, feed.first_inputs(), events)

    class Timer(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.seconds = []

        def on_epoch_begin(self, epoch, logs=None):
            self.start = time.perf_counter()

        def on_epoch_end(self, epoch, logs=None):
            self.seconds.append(time.perf_counter() - self.start)

    shapes = [tuple(shape) for shape in data["input_shapes"]]
    plain = example.build_model(shapes[0] if len(shapes) == 1 else shapes, data["num_classes"])
    framework.compile(plain, example, spec["device"], ordered)
    used = spec["samples"] // spec["batch_size"] * spec["batch_size"]
    buffer = arrays.Buffer(train, used, targets)
    buffer.fill(range(used))
    if model is None:
        model = example_model.build(framework, example, spec, feed.first_inputs(), events)

    def bare_epochs():
        timer = Timer()
        plain.fit(
            buffer.model_inputs(),
            buffer.model_targets(),
            batch_size=spec["batch_size"],
            epochs=BARE_EPOCHS,
            shuffle=False,
            verbose=0,
            callbacks=[timer],
        )
        return timer.seconds

    epochs.train(framework, model, example, spec, feed, None, events)
    # The first of both holds compilation.
    print("pairs " + json.dumps({"kbench": events.kbench[1:], "bare": events.bare[1:]}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3] == "1", sys.argv[4] == "1")
