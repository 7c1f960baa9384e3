"""Runs many cases of Keras's public names, each on a few small arrays, and tells what came of each.

The last case that was begun is the one that ended the process: by its time limit, its memory or a fault of its own.
"""

import base64
import functools
import importlib
import signal
import time
import traceback
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Sequence

import numpy as np

from kbench_guest import arrays
from kbench_guest.drivers.probe_inputs import applied, called, computed_from, drawn, in_floatx, perturbed, settings_of
from kbench_guest.proof.as_asked import check_loaded
from kbench_guest.protocol import in_a_line

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events

MOST = 300  # characters of an error
KEPT = 256  # numbers of an output that are kept, from the first on
MASKED = 0.0
SEEDS_APART = 1000  # as in the host's programs
RANDOM = 1e-4  # if two steps from the same weights differ by more, the layer draws numbers
STEPS = 3  # of an optimizer

Arrays = List[np.ndarray]


def run(spec: Dict[str, Any], events: "Events") -> None:
    """List the public names, or run the cases of the spec."""
    with events.phase("import"):
        from kbench_guest import frameworks
        from kbench_guest.drivers import public_names

        framework = frameworks.load()
    framework.prepare()
    framework.compile_quickly()
    check_loaded(spec, framework.versions(), events)
    if spec["policy"]:
        framework.set_policy(spec["policy"])
    if spec["ordered_updates"]:  # else a gradient may be that of a weight that has just changed
        framework.order_all_updates()
    asked = spec["probes"]
    if not asked["cases"]:
        public_names.tell(events)
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process even where C code does not return
    for case in asked["cases"]:
        events.write("begun", case=case["id"])
        started = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, asked["seconds"])
        found = outcome(framework, case, asked, spec["floatx"])
        signal.setitimer(signal.ITIMER_REAL, 0)
        events.write("case", case=case["id"], seconds=time.perf_counter() - started, **found)


def outcome(framework: "KerasModels", case: Dict[str, Any], asked: Dict[str, Any], floatx: str) -> Dict[str, Any]:
    """The fields of its event, from the first of the case's inputs that it takes."""
    floatx = case["dtype"] if case["dtype"] and floatx == "float32" else floatx
    refused: Dict[str, str] = {}
    for name in case["inputs"]:
        given = drawn(asked["inputs"][name], case["dtype"])
        framework.forget_all()
        framework.seed(case["seed"])
        try:
            compute = computed(framework, case, [in_floatx(one, floatx) for one in given], floatx)
            outputs = compute([in_floatx(one, floatx) for one in given])
            again = compute([in_floatx(one, floatx) for one in given]) if case["draws"] else outputs
            if not case["random"] and max([distance(*pair) for pair in zip(again, outputs)] + [0.0]) > RANDOM:
                outputs = []  # it draws numbers, of which little can be said
            found = {"inputs": name, "outputs": [encoded(one) for one in outputs], "refused": refused}
        except Exception as error:
            refused[name] = in_a_line(error)[:MOST]
            continue
        except SystemExit as error:
            refused[name] = f"SystemExit: {error}"[:MOST]
            continue
        try:
            moved = compute([in_floatx(perturbed(one), floatx) for one in given])
            found["moved"] = max([distance(*pair) for pair in zip(moved, outputs)] + [0.0])
        except Exception:
            traceback.print_exc()
        if asked["trains"] and outputs and isinstance(compute, Forward) and not case["outputs_only"]:
            try:
                found["gradients"] = [encoded(one) for one in gradients(framework, compute, given, outputs)]
            except Exception as error:
                found["untrained"] = in_a_line(error)[:MOST]
        return found
    return {"refused": refused}


def computed(
    framework: "KerasModels", case: Dict[str, Any], given: Arrays, floatx: str
) -> Callable[[Arrays], Arrays]:
    """What computes the outputs of a case for arrays like the given ones."""
    module, _, name = case["name"].partition(".")
    value = attribute(module, name)
    settings = settings_of(case, floatx)
    if module == "layers":
        return Forward(framework, computed_from(case["code"], ()) if case["code"] else value(**settings), case, given)
    if module == "optimizers":
        return functools.partial(after_steps, framework, lambda: value(**settings_of(case, floatx)), case)
    if case["code"]:
        function = functools.partial(of_function, framework, lambda *xs: computed_from(case["code"], xs))
    elif not isinstance(value, type):
        function = functools.partial(of_function, framework, lambda *xs: applied(case, value, settings, xs))
    elif module == "initializers":
        function = functools.partial(of_function, framework, lambda *xs: value(**settings)((200, 150)))
    elif module == "metrics" and framework.eager:
        function = functools.partial(of_metric, framework, lambda: value(**settings))
    else:
        function = functools.partial(of_function, framework, lambda *xs: value(**settings)(*xs))
    return (lambda xs: [statistics(one) for one in function(xs)]) if case["random"] else function


def attribute(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"keras.{module}"), name)


class Forward:
    """A layer with weights that are the same everywhere: called with arrays, it gives its outputs."""

    def __init__(self, framework: "KerasModels", layer: Any, case: Dict[str, Any], given: Arrays) -> None:
        import keras

        self._framework, self._layer, self._case, self._model = framework, layer, case, None
        if framework.eager:
            self(given)
        else:
            tensors = [keras.layers.Input(one.shape[1:], dtype=str(one.dtype)) for one in given]
            self._model = keras.models.Model(tensors, self.of(tensors))
        give_weights(framework, layer, case)

    def of(self, tensors: Sequence[Any]) -> Any:
        """The layer's outputs for these tensors, or arrays where it computes eagerly."""
        import keras

        if self._case["masked"]:
            tensors = [keras.layers.Masking(MASKED)(one) for one in tensors]
        return called(self._case, self._layer, tensors)

    def __call__(self, values: Arrays) -> Arrays:
        if self._model is None:
            return [self._framework.evaluated(one) for one in arrays.leaves(self.of(values))]
        return arrays.leaves(self._model.predict(values[0] if len(values) == 1 else values, len(values[0])))


def gradients(framework: "KerasModels", forward: Forward, given: Arrays, outputs: Arrays) -> Arrays:
    """How one step of plain SGD changes the layer's weights, and those of a layer before each input that leaves it as
    it is: the gradients of weights and inputs. None of them if they are random.
    """
    import keras

    tensors = [keras.layers.Input(one.shape[1:], dtype=str(one.dtype)) for one in given]
    before = [keras.layers.Dense(one.shape[-1], use_bias=False) if one.dtype.kind == "f" else None for one in given]
    fed = [tensor if dense is None else dense(tensor) for dense, tensor in zip(before, tensors)]
    model = keras.models.Model(tensors, forward.of(fed))
    eagerly = {"run_eagerly": True} if framework.supports_run_eagerly else {}
    model.compile(loss="mse", optimizer=keras.optimizers.SGD(1.0), **eagerly)
    initial = framework.all_weights(model)
    for dense in before:
        for number, weight in enumerate(model.weights):
            if dense is not None and any(weight is one for one in dense.weights):
                initial[number] = np.eye(len(initial[number]), dtype="float32")
    targets = [np.full(one.shape, 0.3, "float32") for one in outputs]
    x, y = (one[0] if len(one) == 1 else one for one in (given, targets))
    found = []
    for _ in range(2):
        framework.set_values(model.weights, initial)
        start = [value for _, values in framework.weights(model) for value in values]
        model.train_on_batch(x, y)
        end = [value for _, values in framework.weights(model) for value in values]
        found.append([one - other for one, other in zip(start, end)])
    return [] if max(distance(*pair) for pair in zip(*found)) > RANDOM else found[0]


def give_weights(framework: "KerasModels", layer: Any, case: Dict[str, Any]) -> None:
    """Weights drawn between two numbers, in the layout that all backends share; whole numbers are left."""
    from kbench_guest.frameworks.layers import find

    weights, values = [], []
    for number, weight in enumerate(layer.weights):
        if "float" not in framework.dtype_of(weight):
            continue
        name, _, owner = find(layer, weight)
        shape = framework.shared_shape(owner, name, framework.shape_of(weight))
        random = np.random.RandomState(case["seed"] * SEEDS_APART + number)
        value = random.uniform(case["weights"][0], case["weights"][1], shape).astype(case["dtype"] or "float32")
        weights.append(weight)
        values.append(framework.from_shared(owner, name, value))
    framework.set_values(weights, values)


def of_function(framework: "KerasModels", function: Callable[..., Any], values: Arrays) -> Arrays:
    outputs = arrays.leaves(function(*[framework.constant(one) for one in values]))
    return [framework.evaluated(one) for one in outputs]


def of_metric(framework: "KerasModels", make: Callable[[], Any], values: Arrays) -> Arrays:
    """A metric after two updates."""
    metric = make()
    for _ in range(2):
        metric.update_state(*[framework.constant(one) for one in values])
    return [framework.evaluated(one) for one in arrays.leaves(metric.result())]


def after_steps(framework: "KerasModels", make: Callable[[], Any], case: Dict[str, Any], values: Arrays) -> Arrays:
    """The weights of a small model after some steps of a new optimizer."""
    import keras

    model = keras.models.Sequential([keras.layers.Dense(2, input_shape=values[0].shape[1:])])
    give_weights(framework, model, case)
    eagerly = {"run_eagerly": True} if framework.supports_run_eagerly else {}
    model.compile(loss="mse", optimizer=make(), **eagerly)
    for _ in range(STEPS):
        model.train_on_batch(values[0], values[1])
    return framework.values(model.weights)


def statistics(value: np.ndarray) -> np.ndarray:
    """Mean and standard deviation, where the numbers themselves are random."""
    value = np.asarray(value, "float64")
    return np.array([value.mean(), value.std()])


def encoded(value: Any) -> Dict[str, Any]:
    """An output: its shape, the kind of its numbers, and the first of them."""
    value = np.asarray(value)
    if value.dtype.kind in "OUS":
        raise TypeError(f"it gives {value.dtype}, which is no number")
    kind = "i" if value.dtype.kind == "u" else "f" if value.dtype.kind == "V" else value.dtype.kind
    numbers = np.ascontiguousarray(value).reshape(-1)[:KEPT]
    if kind == "c":
        numbers = np.stack([numbers.real, numbers.imag], -1).reshape(-1)
    text = base64.b64encode(numbers.astype("<f4").tobytes()).decode("ascii")
    return {"shape": list(value.shape), "kind": kind, "numbers": text}


def distance(value: Any, other: Any) -> float:
    """The largest deviation, of the largest number where that is above 1; of finite numbers alone."""
    value, other = np.asarray(value, "complex128"), np.asarray(other, "complex128")
    if value.shape != other.shape:
        return 0.0
    finite = np.isfinite(value) & np.isfinite(other)
    if not finite.any():
        return 0.0
    return float(np.abs(value - other)[finite].max() / max(1.0, np.abs(other[finite]).max()))
