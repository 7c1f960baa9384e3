"""Inside a backend's Python: one bare fit of several epochs, as a script has it, for overhead.py's pairs.

    BACKEND_PYTHON benchmarks/overhead_pairs.py SPEC GUEST_FOLDER     started by overhead.py

Of kbench it takes the arrays of the cell with this spec and the way its model is compiled, and nothing that measures.
Prints a JSON line: the seconds of each epoch, the first of which compiles.
"""

import json
import os
import sys
import time


def main(path: str, guest: str) -> None:
    """Build the model, train it, print the epochs' seconds."""
    sys.path.insert(0, guest)
    with open(path, encoding="utf-8") as file:
        spec = json.load(file)
    data = spec["data"]
    import keras

    from kbench_guest import arrays, frameworks
    from kbench_guest.training import example_file

    framework = frameworks.load()
    example = example_file.load(os.path.expanduser(spec["example"]))
    part = arrays.open_part(dict(data, folder=os.path.expanduser(data["folder"])), "train", spec["samples"])
    used = spec["samples"] // spec["batch_size"] * spec["batch_size"]
    buffer = arrays.Buffer(part, used, example_file.training_targets(example, part, data["num_classes"]))
    buffer.fill(range(used))
    shapes = [tuple(shape) for shape in data["input_shapes"]]
    model = example.build_model(shapes[0] if len(shapes) == 1 else shapes, data["num_classes"])
    framework.compile(model, example, spec["device"], spec["ordered_updates"])
    started, ended = [], []

    def begin(epoch: int, logs: object = None) -> None:
        started.append(time.perf_counter())

    def end(epoch: int, logs: object = None) -> None:
        framework.wait(model)
        ended.append(time.perf_counter())

    model.fit(
        buffer.model_inputs(),
        buffer.model_targets(),
        batch_size=spec["batch_size"],
        epochs=spec["epochs"],
        shuffle=False,
        verbose=0,
        callbacks=[keras.callbacks.LambdaCallback(on_epoch_begin=begin, on_epoch_end=end)],
    )
    print("epochs " + json.dumps([after - before for before, after in zip(started, ended)]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
