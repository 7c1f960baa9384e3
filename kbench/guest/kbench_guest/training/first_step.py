"""The first optimizer step of a training, taken on trial before it: its loss, and how it changes each weight.

It is taken near the model's weights and data, where gradients have no ties (generic_point.py). Random numbers of
layers are fixed ones. Taken again from weights moved by one unit in the last place, it shows how
far rounding takes it; a step that then differs much draws random numbers that kbench cannot fix.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Tuple

import numpy as np

from kbench_guest import arrays
from kbench_guest.proof import generic_point
from kbench_guest.proof.parity_files import perturb_by_one_ulp
from kbench_guest.protocol import in_a_line
from kbench_guest.sketches import changes, norm, plain_numbers, sums
from kbench_guest.training import example_file
from kbench_guest.training.twin import weight_names

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events
    from kbench_guest.training.twin import Twin

Step = Tuple[float, List[np.ndarray]]  # its loss, and the change of each weight

MOST_SAMPLES = 8  # of the first batch


def of_model(
    framework: "KerasModels", model: Any, example: Any, spec: Dict[str, Any], feed: Any, events: "Events"
) -> Optional[Callable[[], Dict[str, Any]]]:
    """Write the event of a Keras model's first step; afterwards the model is as it was before.

    Returns what takes the step again later, from the same state: the event's fields. None if it cannot be taken.
    """
    weights = example_file.class_weights(example)

    def step(level: float, variables: List[Any], first: List[Any]) -> Step:
        trial.restart(level)
        framework.set_values(variables, first)
        before = of_layers(framework.weights(model))
        reported = train_on(trial.model, weights, batch)
        loss = framework.workers.mean_of_step(float(np.ravel(reported)[0]))
        return loss, changes(before, of_layers(framework.weights(model)))

    def taken(with_rounding: bool) -> Dict[str, Any]:
        asked[:] = []
        with trial.steps(batch.samples):
            trial.restart(0.0)
            names, variables, start, point = _near(framework, model, spec["seed"])
            plain = step(0.0, variables, start)
            rounded = step(0.0, variables, [perturb_by_one_ulp(value) for value in start]) if with_rounding else plain
            noisy = step(1.0, variables, start) if asked else None
        return dict(described(names, as_numbers(point), plain, rounded, noisy), draws=sorted(set(asked)))

    try:
        fixed = getattr(model, "inputs", None) and framework.shape_of(model.inputs[0])[0] is not None
        found, masked = generic_point.vocabularies(model), generic_point.masks(model)
        inputs = generic_point.GenericInputs(spec["seed"], found, masked, arrays.images_first(spec))
        of_each = spec["batch_size"] // framework.workers.here  # of each device, as the graph has it
        batch = first_samples(feed.batch(0), of_each, bool(fixed), inputs, framework.workers.here)
        trial = framework.trial(model, example, spec["device"])
        asked = trial.asked
        told = taken(True)
    except Exception as error:  # the training itself may still work
        events.write("step", changes=[], unchecked=in_a_line(error))
        return None
    events.write("step", repeats=int(batch.repeats), **told)
    for text in trial.notes():
        events.write("note", text=text)
    return (lambda: taken(False)) if trial.put_away() else None


Near = Tuple[List[List[Any]], List[Any], List[np.ndarray], List[np.ndarray]]


def _near(framework: "KerasModels", model: Any, seed: int) -> Near:
    """(names, variables, their values near the present ones, these in the layout that all backends share)."""
    from kbench_guest.frameworks.layers import class_name, find

    names: List[List[Any]] = []
    variables: List[Any] = []
    start: List[np.ndarray] = []
    point: List[np.ndarray] = []
    seen: Dict[str, int] = {}
    for number, (layer, values) in enumerate(framework.own_weights(model)):
        kind = class_name(layer.__class__.__name__)
        seen[kind] = seen.get(kind, 0) + 1
        for position, (weight, value) in enumerate(zip(layer.weights, values)):
            name, _, owner = find(layer, weight)
            moving = (name or "").startswith("moving") and hasattr(owner, "momentum") and hasattr(owner, "epsilon")
            average = (float(owner.momentum), float(owner.epsilon)) if moving else None
            names.append([kind, seen[kind], name or str(position), average])
            shared = np.asarray(framework.to_shared(owner, name, value))
            point.append(generic_point.weight(shared, seed, number, position))
            variables.append(weight)
            start.append(framework.from_shared(owner, name, point[-1]))
    return names, variables, start, point


def write_again(again: Callable[[], Dict[str, Any]], events: "Events") -> None:
    """Write the event of the step that is taken once more, after the last epoch, from the state before the first."""
    try:
        with events.phase("probe"):
            found = again()
    except Exception as error:  # everything is measured by then
        text = f"its training step after the last epoch could not be taken again: {in_a_line(error)}"
        events.write("note", text=text)
        return
    events.write("step_again", **found)


def of_twin(
    twin: "Twin", initial: List[np.ndarray], example: Any, spec: Dict[str, Any], feed: Any, events: "Events"
) -> None:
    """The same of a twin without dropout, which is not the one that is measured."""

    def step(first: List[np.ndarray]) -> Step:
        twin.build(first)
        twin.compile(example.OPTIMIZER, example.LOSS)
        reported = twin.train_function(batch.model_inputs(), batch.model_targets())
        return float(np.ravel(reported[0])[0]), changes(as_numbers(first), as_numbers(twin.weights()))

    values = iter(initial)
    point: List[np.ndarray] = []
    for number, (_, *shapes) in enumerate(twin.layers):
        point.extend(generic_point.weight(next(values), spec["seed"], number, at) for at in range(len(shapes)))
    kind, *shapes = twin.layers[0]
    found = {0: ([shape[0] for shape in shapes], False)} if kind.endswith("Embedding") else {}
    try:
        inputs = generic_point.GenericInputs(spec["seed"], found, (), arrays.images_first(spec))
        batch = first_samples(feed.batch(0), spec["batch_size"], False, inputs)
        plain, rounded = step(point), step([perturb_by_one_ulp(value) for value in point])
    except Exception as error:  # as above
        events.write("step", changes=[], unchecked=in_a_line(error))
        return
    names: List[List[Any]] = []
    seen: Dict[str, int] = {}
    for kind, *weights in twin.layers:
        seen[kind] = seen.get(kind, 0) + 1
        names.extend([kind, seen[kind], name, None] for name in weight_names(kind, len(weights)))
    events.write("step", repeats=int(batch.repeats), **described(names, as_numbers(point), plain, rounded))


def train_on(model: Any, class_weights: Dict[str, Any], batch: Any) -> Any:
    """Train on one batch; returns what Keras reports. class_weights: {"class_weight": ...} or {}."""
    more = dict(class_weights, **batch.weighted())
    return model.train_on_batch(batch.model_inputs(), batch.model_targets(), **more)


def described(
    names: List[List[Any]], before: List[Any], plain: Step, rounded: Step, noisy: Optional[Step] = None
) -> Dict[str, Any]:
    """The fields of the event. names: [class of layer, its number, weight, (momentum, epsilon) of a moving
    average or None].

    Each of plain, rounded and noisy: (loss, the changes of all weights).
    """
    found = []
    for number, (name, weight, change) in enumerate(zip(names, before, plain[1])):
        one = {"class": name[0], "number": name[1], "weight": name[2], "norm": norm(weight), "change": norm(change)}
        one.update(sums=sums(change), rounding=norm(rounded[1][number] - change))
        if name[3] is not None:
            one.update(average=[name[3][0], sums(weight), sums(np.full(weight.shape, name[3][1]))])
        if noisy:
            one.update(noisy=norm(noisy[1][number]), noisy_sums=sums(noisy[1][number]))
        found.append(one)
    more = {"noisy_loss": noisy[0]} if noisy else {}
    told = dict(more, changes=found, loss=plain[0], loss_rounding=abs(plain[0] - rounded[0]))
    return {name: plain_numbers(value) for name, value in told.items()}


def of_layers(weights: Any) -> List[np.ndarray]:
    """The arrays of [(layer, its arrays)]."""
    return as_numbers(value for _, values in weights for value in values)


def as_numbers(arrays_of_weights: Iterable[Any]) -> List[np.ndarray]:
    return [np.asarray(value, "float64") for value in arrays_of_weights]


def first_samples(
    batch: Any, size: int, fixed_batch: bool, inputs: "generic_point.GenericInputs", devices: int = 1
) -> "FirstSamples":
    """A batch of its first samples; so often as to fill one of that size, where the model takes no other, or as to be
    divided among devices.

    A step on the same samples several times is the step on them once.
    """
    most = min(size, inputs.most_samples(batch.model_inputs(), MOST_SAMPLES))
    number = max(part for part in range(1, most + 1) if size % part == 0)
    number = number if 2 * number >= most else size
    return FirstSamples(batch, number, size // number if fixed_batch else devices if number % devices else 1, inputs)


class FirstSamples:
    """The first samples of a batch, so many times; their inputs are moved. repeats: as of Inputs."""

    def __init__(self, batch: Any, number: int, times: int, inputs: "generic_point.GenericInputs") -> None:
        self._batch, self._number, self._times = batch, number, times
        self.samples = number * times
        moved_inputs = inputs.with_noise(arrays.mapped(self._first, batch.model_inputs()))
        self.repeats = inputs.repeat(moved_inputs)
        self._inputs = arrays.mapped(self._filled, moved_inputs)

    def _first(self, array: Any) -> np.ndarray:
        return np.asarray(array)[: self._number]

    def _filled(self, array: Any) -> np.ndarray:
        return np.concatenate([self._first(array)] * self._times)

    def model_inputs(self) -> Any:
        return self._inputs

    def model_targets(self) -> Any:
        return arrays.mapped(self._filled, self._batch.model_targets())

    def weighted(self) -> Dict[str, Any]:
        return arrays.mapped(self._filled, self._batch.weighted())
