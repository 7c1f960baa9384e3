"""Inside a backend's Python: a bare program of an example, as a script has it, for observer.py.

    BACKEND_PYTHON benchmarks/observer_pairs.py SPEC GUEST_FOLDER EPOCHS     started by observer.py

Of kbench it takes the model and the arrays of the cell with this spec, and nothing that measures.
Prints a JSON line: the mean step of each epoch, in seconds, or of each pass of an inference. The first one compiles.
"""

import json
import os
import sys
import time
from typing import Any


class NoEvents:
    """What the model's builder writes goes nowhere."""

    def write(self, *args: object, **fields: object) -> None:
        pass


def main(path: str, guest: str, epochs: int) -> None:
    """Build the model, train or run it, print the mean steps."""
    sys.path.insert(0, guest)
    with open(path, encoding="utf-8") as file:
        spec = json.load(file)
    data = dict(spec["data"], folder=os.path.expanduser(spec["data"]["folder"]))
    import keras

    from kbench_guest import arrays, frameworks
    from kbench_guest.training import example_file, example_model

    framework = frameworks.load()
    framework.prepare()
    example = example_file.load(os.path.expanduser(spec["example"]))
    part = arrays.open_part(data, "train", spec["samples"])
    size = spec["batch_size"]
    steps = spec["samples"] // size
    buffer = arrays.Buffer(part, steps * size, example_file.training_targets(example, part, data["num_classes"]))
    buffer.fill(range(steps * size))
    first = arrays.Buffer(part, size)
    first.fill(range(size))
    events: Any = NoEvents()
    model = example_model.build(framework, example, spec, first.model_inputs(), events)
    started, ended = [], []

    def begin(epoch: int, logs: object = None) -> None:
        started.append(time.perf_counter())

    def end(epoch: int, logs: object = None) -> None:
        framework.wait(model)
        ended.append(time.perf_counter())

    if spec["task"] == "infer":
        for epoch in range(epochs):
            begin(epoch)
            model.predict(buffer.model_inputs(), batch_size=size, verbose=0)
            end(epoch)
    else:
        model.fit(
            buffer.model_inputs(),
            buffer.model_targets(),
            batch_size=size,
            epochs=epochs,
            shuffle=False,
            verbose=0,
            callbacks=[keras.callbacks.LambdaCallback(on_epoch_begin=begin, on_epoch_end=end)],
        )
    print("steps " + json.dumps([(after - before) / steps for before, after in zip(started, ended)]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
