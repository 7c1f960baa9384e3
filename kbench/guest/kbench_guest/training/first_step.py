"""The first optimizer step of a training, taken on trial before it: its loss, and how it changes each weight.

It is taken near the model's weights and data, where gradients have no ties (generic_point.py), at two points, because
one may happen to have one. Random numbers of layers are fixed ones. Taken again from weights moved by one unit in the
last place, it shows how far rounding takes it; a step that then differs much draws random numbers that kbench cannot
fix.

Several workers take it together, by their engine: each on its part of the samples, or on all of them where a layer
takes statistics of a batch.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Tuple

import numpy as np

from kbench_guest import arrays
from kbench_guest.arrays import perturb_by_one_ulp
from kbench_guest.proof import generic_point
from kbench_guest.protocol import in_a_line
from kbench_guest.sketches import changes, norm, plain_numbers, sums
from kbench_guest.training import example_file
from kbench_guest.training.feeding import own_samples

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events

Step = Tuple[float, List[np.ndarray]]  # its loss, and the change of each weight

MOST_SAMPLES = 8  # of the first batch
POINTS = range(2)


def of_model(
    framework: "KerasModels", model: Any, example: Any, spec: Dict[str, Any], feed: Any, events: "Events"
) -> Optional[Callable[[], List[Dict[str, Any]]]]:
    """Write the event of a Keras model's first step at each point; afterwards the model is as it was before.

    Returns what takes the steps again later, from the same state: the events' fields. None if they cannot be taken.
    """
    try:
        on_trial = ModelOnTrial(framework, model, example, spec, feed)
        found = on_trial.first()
    except Exception as error:  # the training itself may still work
        events.write("step", changes=[], unchecked=in_a_line(error))
        return None
    for values in found:
        events.write("step", **values)
    for text in on_trial.trial.notes():
        events.write("note", text=text)
    return on_trial.again if on_trial.trial.put_away() else None


class ModelOnTrial:
    """A Keras model that takes a step at each of POINTS, by the same compiled function. trial: of its framework."""

    def __init__(self, framework: "KerasModels", model: Any, example: Any, spec: Dict[str, Any], feed: Any) -> None:
        self._framework, self._model, self._seed = framework, model, spec["seed"]
        self._class_weights = example_file.class_weights(example)
        from kbench_guest.frameworks.layers import layers

        fixed = getattr(model, "inputs", None) and framework.shape_of(model.inputs[0])[0] is not None
        found, masked = generic_point.vocabularies(model), generic_point.masks(model)
        workers = framework.workers
        whole = any("BatchNormalization" in layer.__class__.__name__ for layer, _ in layers(model))
        size = spec["batch_size"] // (workers.count if fixed else 1)  # of each worker, as the graph has it
        parts = 1 if workers.copy_steps else workers.count
        self._batches = []  # of each point
        self._first: List[Dict[str, Any]] = []
        for point in POINTS:
            inputs = generic_point.GenericInputs(spec["seed"], found, masked, arrays.images_first(spec), point)
            batch = first_samples(feed.batch(0), size, bool(fixed), inputs, parts, whole)
            batch.take(own_samples(dict(spec, batch_size=batch.samples), batch.samples))
            self._batches.append(batch)
        self.trial = framework.trial(model, example, spec["device"])

    def first(self) -> List[Dict[str, Any]]:
        """The fields of each point's event."""
        self._first = self._steps(True)
        copied = self._framework.workers.copy_steps
        return [dict(one, repeats=int(batch.repeats or copied)) for one, batch in zip(self._first, self._batches)]

    def again(self) -> List[Dict[str, Any]]:
        """The same once more, up to a point where nothing has changed: what differs has to do so at all."""
        return self._steps(False)

    def _steps(self, first: bool) -> List[Dict[str, Any]]:
        asked = self.trial.asked
        asked[:] = []
        found: List[Dict[str, Any]] = []
        with self.trial.steps(self._batches[0].samples // self._framework.workers.here):
            for number, (point, batch) in enumerate(zip(POINTS, self._batches)):
                values = self._at(point, batch, with_rounding=first)
                found.append(dict(values, point=point, draws=sorted(set(asked))))
                if not first and _numbers(found[-1]) == _numbers(self._first[number]):
                    break
        return found

    def _at(self, point: int, batch: "FirstSamples", with_rounding: bool) -> Dict[str, Any]:
        self.trial.restart(0.0)
        names, variables, start, weights = _near(self._framework, self._model, self._seed, point)
        plain = self._step(batch, 0.0, variables, start)
        rounded = plain
        if with_rounding:
            rounded = self._step(batch, 0.0, variables, [perturb_by_one_ulp(value) for value in start])
        # What its layers ask for is known by now: they may do so only when the first step is compiled.
        noisy = self._step(batch, 1.0, variables, start) if self.trial.asked else None
        return described(names, as_numbers(weights), plain, rounded, noisy)

    def _step(self, batch: "FirstSamples", level: float, variables: List[Any], first: List[Any]) -> Step:
        self.trial.restart(level)
        self._framework.set_values(variables, first)
        before = of_layers(self._framework.weights(self._model))
        reported = train_on(self.trial.model, self._class_weights, batch)
        loss = self._framework.workers.mean_of_step(float(np.ravel(reported)[0]))
        return loss, changes(before, of_layers(self._framework.weights(self._model)))


def _numbers(values: Dict[str, Any]) -> Any:
    """All of an event but the effect of rounding, which is looked at once."""
    changed = [dict(change, rounding=None) for change in values["changes"]]
    return dict(values, changes=changed, loss_rounding=None)


Near = Tuple[List[List[Any]], List[Any], List[np.ndarray], List[np.ndarray]]


def _near(framework: "KerasModels", model: Any, seed: int, at: int) -> Near:
    """(names, variables, their values near the present ones, these in the layout that all backends share).

    at: the number of the generic point.
    """
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
            point.append(generic_point.weight(shared, seed, number, position, at))
            variables.append(weight)
            start.append(framework.from_shared(owner, name, point[-1]))
    return names, variables, start, point


def write_again(again: Callable[[], List[Dict[str, Any]]], events: "Events") -> None:
    """Write the events of the steps that are taken again, after the last epoch, from the state before the first."""
    try:
        with events.phase("probe"):
            found = again()
    except Exception as error:  # everything is measured by then
        text = f"its training step after the last epoch could not be taken again: {in_a_line(error)}"
        events.write("note", text=text)
        return
    for values in found:
        events.write("step_again", **values)


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
    batch: Any,
    size: int,
    fixed_batch: bool,
    inputs: "generic_point.GenericInputs",
    parts: int = 1,
    whole: bool = False,
) -> "FirstSamples":
    """A batch of its first samples, or at a further point of the next ones; so often as to fill one of that size,
    where the model takes no other, or as to be divided into so many parts. whole: each part has all of them.

    A step on the same samples several times is the step on them once.
    """
    most = min(size, inputs.most_samples(batch.model_inputs(), MOST_SAMPLES))
    number = max(part for part in range(1, most + 1) if size % part == 0)
    number = number if 2 * number >= most else size
    times = parts if whole or fixed_batch or number % parts else 1
    times *= size // number if fixed_batch else 1
    return FirstSamples(batch, inputs.point * number % size, number, times, inputs)


class FirstSamples:
    """So many samples of a batch from `start` on, so many times; their inputs are moved. repeats: as of Inputs."""

    def __init__(
        self, batch: Any, start: int, number: int, times: int, inputs: "generic_point.GenericInputs"
    ) -> None:
        self._batch, self._taken, self._times = batch, slice(start, start + number), times
        self.samples = number * times
        self._own: Any = slice(None)
        self._moved_inputs = inputs.with_noise(arrays.mapped(self._some, batch.model_inputs()))
        self.repeats = times > 1 or inputs.repeat(self._moved_inputs)

    def take(self, own: np.ndarray) -> None:
        """Leave those at other places to other processes."""
        self._own = own

    def _some(self, array: Any) -> np.ndarray:
        return np.asarray(array)[self._taken]

    def _repeated(self, samples: Any) -> np.ndarray:
        return np.concatenate([np.asarray(samples)] * self._times)[self._own]

    def _filled(self, array: Any) -> np.ndarray:
        return self._repeated(self._some(array))

    def model_inputs(self) -> Any:
        return arrays.mapped(self._repeated, self._moved_inputs)

    def model_targets(self) -> Any:
        return arrays.mapped(self._filled, self._batch.model_targets())

    def weighted(self) -> Dict[str, Any]:
        return arrays.mapped(self._filled, self._batch.weighted())
