"""The first optimizer step of a training, taken on trial before it: its loss, and how it changes each weight.

Random numbers of layers are fixed ones. Taken again from weights moved by one unit in the last place, it shows how
far rounding takes it; a step that then differs much draws random numbers that kbench cannot fix.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Tuple

import numpy as np

from kbench_guest import arrays
from kbench_guest.drivers import example_file
from kbench_guest.drivers.parity_files import moved
from kbench_guest.drivers.twin import weight_names
from kbench_guest.protocol import in_a_line

if TYPE_CHECKING:
    from kbench_guest.drivers.twin import Twin
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events

Step = Tuple[float, List[np.ndarray]]  # its loss, and the change of each weight

MOST_SAMPLES = 8  # of the first batch
SUMS = 16  # of a weight's change


def of_model(
    framework: "KerasModels", model: Any, example: Any, spec: Dict[str, Any], feed: Any, events: "Events"
) -> Optional[Callable[[], Dict[str, Any]]]:
    """Write the event of a Keras model's first step; afterwards the model is as it was before.

    Returns what takes the step once more from the same state, at any time before the process ends, and returns the
    fields of its event (of the state, nothing is put back then); None if it cannot be taken.
    """
    from kbench_guest.frameworks.layers import class_name, find

    fixed = getattr(model, "inputs", None) and framework.shape_of(model.inputs[0])[0] is not None
    batch = few(feed.batch(0), spec["batch_size"], bool(fixed))
    weights = example_file.class_weights(example)
    names: List[List[Any]] = []
    seen: Dict[str, int] = {}
    for layer, _ in framework.weights(model):
        kind = class_name(layer.__class__.__name__)
        seen[kind] = seen.get(kind, 0) + 1
        for position, weight in enumerate(layer.weights):
            names.append([kind, seen[kind], find(layer, weight)[0] or str(position)])

    def step(level: float, rounded: bool = False) -> Step:
        trial.restart(level)
        if rounded:
            framework.set_values(model.weights, [moved(value) for value in framework.values(model.weights)])
        origin = of_layers(framework.weights(model))
        reported = train_on(trial.model, weights, batch)
        return float(np.ravel(reported)[0]), changes(origin, of_layers(framework.weights(model)))

    def again() -> Dict[str, Any]:
        asked[:] = []
        with trial.steps(batch.samples):
            plain = step(0.0)
            noisy = step(1.0) if asked else None
            trial.restart(0.0)
            before = of_layers(framework.weights(model))
        return dict(described(names, before, plain, plain, noisy), draws=sorted(set(asked)))

    try:
        trial = framework.trial(model, example, spec["device"])
        asked = trial.asked
        with trial.steps(batch.samples):
            before = of_layers(framework.weights(model))
            plain = step(0.0)
            rounded = step(0.0, rounded=True)
            noisy = step(1.0) if asked else None
    except Exception as error:  # the training itself may still work
        events.write("step", changes=[], unchecked=in_a_line(error))
        return None
    events.write("step", draws=sorted(set(asked)), **described(names, before, plain, rounded, noisy))
    for text in trial.notes():
        events.write("note", text=text)
    return again if trial.put_away() else None


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

    try:
        batch = few(feed.batch(0), spec["batch_size"], False)
        plain, rounded = step(initial), step([moved(value) for value in initial])
    except Exception as error:  # as above
        events.write("step", changes=[], unchecked=in_a_line(error))
        return
    names: List[List[Any]] = []
    seen: Dict[str, int] = {}
    for kind, *weights in twin.layers:
        seen[kind] = seen.get(kind, 0) + 1
        names.extend([kind, seen[kind], name] for name in weight_names(kind, len(weights)))
    events.write("step", **described(names, as_numbers(initial), plain, rounded))


def train_on(model: Any, class_weights: Dict[str, Any], batch: Any) -> Any:
    """Train on one batch; returns what Keras reports. class_weights: {"class_weight": ...} or {}."""
    more = dict(class_weights, **batch.weighted())
    return model.train_on_batch(batch.model_inputs(), batch.model_targets(), **more)


def described(
    names: List[List[Any]], before: List[Any], plain: Step, rounded: Step, noisy: Optional[Step] = None
) -> Dict[str, Any]:
    """The fields of the event. Each of plain, rounded and noisy: (loss, the changes of all weights)."""
    found = []
    for number, (name, weight, change) in enumerate(zip(names, before, plain[1])):
        one = {"class": name[0], "number": name[1], "weight": name[2], "norm": norm(weight), "change": norm(change)}
        one.update(sums=sums(change), rounding=norm(rounded[1][number] - change))
        if noisy:
            one.update(noisy=norm(noisy[1][number]), noisy_sums=sums(noisy[1][number]))
        found.append(one)
    more = {"noisy_loss": noisy[0]} if noisy else {}
    told = dict(more, changes=found, loss=plain[0], loss_rounding=abs(plain[0] - rounded[0]))
    return {name: plain_numbers(value) for name, value in told.items()}


def plain_numbers(value: Any) -> Any:
    """JSON has no infinite numbers, and NaN: what is no number is None."""
    if isinstance(value, float):
        return float(f"{value:.7g}") if np.isfinite(value) else None
    if isinstance(value, dict):
        return {name: plain_numbers(one) for name, one in value.items()}
    return [plain_numbers(one) for one in value] if isinstance(value, list) else value


def of_layers(weights: Any) -> List[np.ndarray]:
    """The arrays of [(layer, its arrays)]."""
    return as_numbers(value for _, values in weights for value in values)


def as_numbers(arrays_of_weights: Iterable[Any]) -> List[np.ndarray]:
    return [np.asarray(value, "float64") for value in arrays_of_weights]


def changes(before: List[np.ndarray], after: List[np.ndarray]) -> List[np.ndarray]:
    return [new - old for old, new in zip(before, after)]


def norm(value: Any) -> float:
    return float(np.sqrt(np.sum(np.square(value, dtype="float64"))))


def sums(change: np.ndarray) -> List[float]:
    """Sums of its numbers with signs drawn alike on every backend: two changes are about as far apart as their sums.

    A count sketch (Charikar, Chen and Farach-Colton 2002): every number is in one of them.
    """
    flat = np.ravel(change)
    signs = np.where(np.random.RandomState(0).rand(flat.size) < 0.5, 1.0, -1.0)
    padded = np.zeros(-(-flat.size // SUMS) * SUMS)
    padded[: flat.size] = flat * signs
    return padded.reshape(-1, SUMS).sum(axis=0).tolist()


def few(batch: Any, size: int, fixed_batch: bool) -> "Few":
    """A batch of its first samples; so often as to fill one of that size, where the model takes no other.

    A step on the same samples several times is the step on them once.
    """
    number = max(part for part in range(1, min(size, MOST_SAMPLES) + 1) if size % part == 0)
    number = number if 2 * number >= min(size, MOST_SAMPLES) else size
    return Few(batch, number, size // number if fixed_batch else 1)


class Few:
    """The first samples of a batch, so many times."""

    def __init__(self, batch: Any, number: int, times: int) -> None:
        self._batch, self._number, self._times = batch, number, times
        self.samples = number * times

    def _few(self, array: Any) -> np.ndarray:
        return np.concatenate([np.asarray(array)[: self._number]] * self._times)

    def model_inputs(self) -> Any:
        return arrays.mapped(self._few, self._batch.model_inputs())

    def model_targets(self) -> Any:
        return arrays.mapped(self._few, self._batch.model_targets())

    def weighted(self) -> Dict[str, Any]:
        return arrays.mapped(self._few, self._batch.weighted())
