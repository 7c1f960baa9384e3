"""The first optimizer step of a twin, taken on trial before its training, as that of a Keras model."""

from typing import TYPE_CHECKING, Any, Dict, List

import numpy as np

from kbench_guest import arrays
from kbench_guest.arrays import perturb_by_one_ulp
from kbench_guest.proof import generic_point
from kbench_guest.protocol import in_a_line
from kbench_guest.sketches import changes
from kbench_guest.training import first_step
from kbench_native.twin import weight_names

if TYPE_CHECKING:
    from kbench_guest.protocol import Events
    from kbench_native.twin import Twin


def of_twin(
    twin: "Twin", initial: List[np.ndarray], example: Any, spec: Dict[str, Any], feed: Any, events: "Events"
) -> None:
    """Write its event at each point. The twin is without dropout, and not the one that is measured."""

    def step(batch: "first_step.FirstSamples", first: List[np.ndarray]) -> first_step.Step:
        twin.build(first)
        twin.compile(example.OPTIMIZER, example.LOSS)
        reported = twin.train_function(batch.model_inputs(), batch.model_targets())
        before, after = first_step.as_numbers(first), first_step.as_numbers(twin.weights())
        return float(np.ravel(reported[0])[0]), changes(before, after)

    def taken(at: int) -> Dict[str, Any]:
        values = iter(initial)
        point: List[np.ndarray] = []
        for number, (_, *shapes) in enumerate(twin.layers):
            for position in range(len(shapes)):
                point.append(generic_point.weight(next(values), spec["seed"], number, position, at))
        inputs = generic_point.GenericInputs(spec["seed"], found, (), arrays.images_first(spec), at)
        batch = first_step.first_samples(feed.batch(0), spec["batch_size"], False, inputs)
        plain, rounded = step(batch, point), step(batch, [perturb_by_one_ulp(value) for value in point])
        told = first_step.described(names, first_step.as_numbers(point), plain, rounded)
        return dict(told, point=at, repeats=int(batch.repeats))

    kind, *shapes = twin.layers[0]
    found = {0: ([shape[0] for shape in shapes], False)} if kind.endswith("Embedding") else {}
    names: List[List[Any]] = []
    seen: Dict[str, int] = {}
    for kind, *weights in twin.layers:
        seen[kind] = seen.get(kind, 0) + 1
        names.extend([kind, seen[kind], name, None] for name in weight_names(kind, len(weights)))
    try:
        steps = [taken(at) for at in first_step.POINTS]
    except Exception as error:  # the training itself may still work
        events.write("step", changes=[], unchecked=in_a_line(error))
        return
    for values in steps:
        events.write("step", **values)
