"""Runs many cases of Keras's public names, each on a few small arrays, and tells what came of each.

The last case that was begun is the one that ended the process: by its time limit, its memory or a fault of its own.
"""

import base64
import functools
import importlib
import operator
import os
import signal
import time
import traceback
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence

import numpy as np

from kbench_coverage import masks, of_frameworks, refusals
from kbench_coverage.checks import Checks
from kbench_coverage.fitted import Fitted
from kbench_coverage.inputs import applied, called, computed_from, drawn, in_floatx, perturbed, settings_of
from kbench_coverage.of_frameworks import constant, evaluated
from kbench_coverage.roundtrips import of_configuration
from kbench_coverage.steps import Steps
from kbench_coverage.training import RANDOM, Arrays, Subject, distance
from kbench_guest import arrays
from kbench_guest.proof.as_asked import check_loaded
from kbench_guest.protocol import in_a_line

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events

MOST = 300  # characters of an error
UNMOVED = 1e-5  # what a layer that draws leaves as it is
AGAIN = 12  # times that what may draw numbers is computed
LEAST_DEVIATION = 0.05  # of a share
SAMPLES = 8  # of which it is seen what a seed does
KEPT = 256  # numbers of an output that are kept, from the first on
SEEDS_APART = 1000  # as in the host's programs


def run(spec: Dict[str, Any], events: "Events") -> None:
    """List the public names, or run the cases of the spec."""
    with events.phase("import"):
        from kbench_coverage import public_names
        from kbench_guest import frameworks

        framework = frameworks.load()
    framework.prepare()
    of_frameworks.compile_quickly(framework)
    check_loaded(spec, framework.versions(), events)
    if spec["policy"]:
        framework.set_policy(spec["policy"])
    if spec["ordered_updates"]:  # else a gradient may be that of a weight that has just changed
        of_frameworks.order_all_updates(framework)
    generation = framework.versions()[0].partition(".")[0]
    saved = os.path.join(os.path.expanduser(spec["part"]["saved"]), "keras" + generation)
    asked = dict(spec["part"], backend=spec["backend"], saved=saved)
    if not asked["cases"]:
        public_names.tell(events)
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process even where C code does not return
    forget = functools.partial(of_frameworks.Forgetting().forget, framework)
    for case in asked["cases"]:
        events.write("begun", case=case["id"])
        started = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, asked["seconds"])
        begin = functools.partial(_begin, events, case["id"])
        found = outcome(framework, case, asked, spec["floatx"], begin, forget)
        signal.setitimer(signal.ITIMER_REAL, 0)
        events.write("case", case=case["id"], seconds=time.perf_counter() - started, **found)


def _begin(events: "Events", case: int, check: str) -> None:
    events.write("begun", case=case, check=check)


def outcome(
    framework: "KerasModels",
    case: Dict[str, Any],
    asked: Dict[str, Any],
    floatx: str,
    begin: Callable[[str], None],
    forget: Callable[[], None],
) -> Dict[str, Any]:
    """The fields of its event, from the first of the case's inputs that it takes."""
    floatx = case["dtype"] if case["dtype"] and floatx == "float32" else floatx
    if case["wrong"]:

        def call(name: str) -> None:
            given = [in_floatx(one, floatx) for one in drawn(asked["inputs"][name])]
            forget()
            subject_of(framework, case, given, floatx, asked["trains"])([one.copy() for one in given])

        return refusals.outcome(case["inputs"], call)
    refused: Dict[str, str] = {}
    for name in case["inputs"]:
        given = drawn(asked["inputs"][name], case["dtype"])
        exact = [in_floatx(one, floatx) for one in given]
        forget()
        framework.seed(case["seed"])
        try:
            subject = subject_of(framework, case, [one.copy() for one in exact], floatx, asked["trains"])
            outputs = subject([one.copy() for one in exact])
            if case["draws"] and not case["random"] and draws_numbers(subject, exact, outputs):
                outputs = []  # of which little can be said
            found = {"inputs": name, "outputs": [encoded(one) for one in outputs], "refused": refused}
        except Exception as error:
            refused[name] = in_a_line(error)[:MOST]
            continue
        except SystemExit as error:
            refused[name] = f"SystemExit: {error}"[:MOST]
            continue
        try:
            moved = subject([in_floatx(perturbed(one), floatx) for one in given])
            found["moved"] = max([distance(*pair) for pair in zip(moved, outputs)] + [0.0])
        except Exception:
            traceback.print_exc()
        if outputs or case["draws"]:
            checks = Checks(framework, subject, exact, outputs, asked, begin)
            found.update(checks.fields(case, floatx == "float64"))
            if asked["checks"] and case["training"] and case["random"] and floatx != "float64":
                begin("seed")
                found["checks"]["seed"] = seeded(framework, case, exact, floatx)
            if "gradients" in found:
                found["gradients"] = [encoded(one) for one in found["gradients"]]
        return found
    return {"refused": refused}


def draws_numbers(subject: Subject, given: List[np.ndarray], outputs: List[np.ndarray]) -> bool:
    """Whether it gives others if it is called again. One that does something or does not may do so several times."""
    again = (subject([one.copy() for one in given]) for _ in range(AGAIN))
    return any(max([distance(*pair) for pair in zip(one, outputs)] + [0.0]) > RANDOM for one in again)


def subject_of(framework: "KerasModels", case: Dict[str, Any], given: Arrays, floatx: str, trains: bool) -> Subject:
    """What computes the outputs of a case for arrays like the given ones."""
    module, _, name = case["name"].partition(".")
    value, code = attribute(module, name), case["code"]
    settings = settings_of(case, floatx)
    of_module = importlib.import_module("keras." + module)

    def make() -> Any:
        return computed_from(code, ()) if code else value(**settings_of(case, floatx))

    if module == "layers":
        return Forward(framework, make, case, given, of_module)
    if case["fitted"]:
        return Fitted(framework, make, case, trains)
    if module == "optimizers":
        give = functools.partial(give_weights, framework, case=case)
        return Steps(framework, make, give, of_module, trains)
    is_class = isinstance(value, type) and not code

    def call(held: Any, tensors: Sequence[Any]) -> Any:
        if code:
            return computed_from(code, tensors)
        if not is_class:
            return applied(case, held, settings, tensors)
        if module == "metrics" and framework.eager:
            return updated(held, tensors)
        return held((200, 150)) if module == "initializers" else held(*tensors)

    def hold() -> Any:
        return value(**settings) if is_class else value

    function = Function(framework, case, hold, call)
    if hasattr(of_module, "deserialize") and not code:
        function.kept = lambda: Function(framework, case, lambda: of_configuration(of_module, hold()), call)
        function.made = (of_module, make) if is_class else None
    return function


def seeded(framework: "KerasModels", case: Dict[str, Any], given: Arrays, floatx: str) -> Dict[str, Any]:
    """Whether layers with the same seed draw the same numbers, and others with another."""
    few = [one[:SAMPLES] for one in given]
    drawn = []
    for seed in (3, 3, 4):
        with_seed = dict(case, settings=dict(case["settings"], seed=seed))
        layer = subject_of(framework, with_seed, [one.copy() for one in few], floatx, False)
        drawn.append([layer.drawn([one.copy() for one in few])[0] for _ in range(2)])  # type: ignore[attr-defined]
    if not np.array_equal(drawn[0], drawn[1]):
        return {"how": "with the same seed it draws other numbers"}
    if np.array_equal(drawn[0], drawn[2]) and not np.array_equal(*drawn[0]):  # which draws
        return {"how": "with another seed it draws the same numbers"}
    return {"off": 0.0}


def updated(metric: Any, tensors: Sequence[Any]) -> Any:
    """A metric's result after two updates."""
    for _ in range(2):
        metric.update_state(*tensors)
    return metric.result()


def attribute(module: str, name: str) -> Any:
    return operator.attrgetter(name)(importlib.import_module(f"keras.{module}"))


class Forward(Subject):
    """A layer with weights that are the same everywhere: called with arrays, it gives its outputs."""

    in_graph = True
    is_layer = True
    is_symbolic = True

    def __init__(
        self,
        framework: "KerasModels",
        make: Callable[[], Any],
        case: Dict[str, Any],
        given: Arrays,
        module: Any,
    ) -> None:
        self._framework, self._case, self.made = framework, case, (module, make)
        self.is_masked, self.is_cell = case["masked"], "Cell" in case["name"]
        self.layer = layer = make()
        self._model = None if framework.eager else self.model(given)
        if framework.eager:
            self(given)
        if case["weights"]:
            give_weights(framework, layer, case)

    def of(self, tensors: Sequence[Any]) -> Any:
        """The layer's outputs for these tensors, or arrays where it computes eagerly."""
        if not self._case["masked"]:
            return called(self._case, self.layer, tensors)
        large, mask = (masks.classes()[name]() for name in ("Large", "Mask"))
        outputs = arrays.leaves(called(self._case, self.layer, [large(one) for one in tensors]))
        return outputs + [mask(one) for one in outputs] if self._framework.eager else outputs

    def __call__(self, values: Arrays) -> Arrays:
        found = self.drawn(values)
        if not (self._case["training"] and self._framework.eager):
            return found
        state = [one for one in self.layer.non_trainable_weights if "float" in self._framework.dtype_of(one)]
        if not self._case["random"]:
            return found + self._framework.values(state)
        moved = [one - values[0] for one in found if one.shape == values[0].shape]
        # A share cannot deviate by more than a half.
        shares = [np.array([np.mean(np.abs(one) < UNMOVED), 0.5]) for one in moved]
        ends = [one for of in found + moved for one in unmoved_at_ends(of)]
        return [statistics(one) for one in found + moved] + shares + ends

    def shape(self, of: Sequence[int]) -> Optional[Sequence[int]]:
        try:
            said = self.layer.compute_output_shape(of)
        except Exception:
            return None
        is_shape = isinstance(said, (tuple, list)) and all(isinstance(one, int) for one in said)
        return tuple(said) if is_shape and not self._case["masked"] else None

    def drawn(self, values: Arrays) -> Arrays:
        """Its outputs themselves."""
        if self._model is None:
            return [evaluated(self._framework, one) for one in arrays.leaves(self.of(values))]
        return arrays.leaves(self._model.predict(values[0] if len(values) == 1 else values, len(values[0])))


class Function(Subject):
    """A function, or an object that is called like one: hold() makes it, call(it, tensors) calls it. In a model its
    arrays are one sample.
    """

    def __init__(
        self,
        framework: "KerasModels",
        case: Dict[str, Any],
        hold: Callable[[], Any],
        call: Callable[[Any, Sequence[Any]], Any],
    ) -> None:
        self._framework, self._hold, self._call, self._random = framework, hold, call, case["random"]
        self._masked, self._axis = case["masked"], case["settings"].get("axis")
        alone = case["name"].startswith(("metrics.", "initializers."))  # it has a state, or takes no arrays
        self.in_graph = framework.eager and not case["random"] and not alone
        self.is_symbolic = case["name"].startswith(("ops.", "activations.")) and "lambda" not in case["code"]

    def __call__(self, values: Arrays) -> Arrays:
        tensors = [constant(self._framework, one) for one in values]
        if self._masked:
            tensors[1] = masks.classes()["Large"]()(tensors[1])
        outputs = arrays.leaves(self._call(self._hold(), tensors))
        found = [evaluated(self._framework, one) for one in outputs]
        return [statistics(one) for one in found] if self._random else found

    def is_batched(self, given: Arrays) -> bool:
        return self._axis != 0 and all(one.ndim > 1 for one in given)

    def symbolic(self, tensors: Sequence[Any]) -> List[Any]:
        return arrays.leaves(self._call(self._hold(), tensors))

    def of(self, tensors: Sequence[Any]) -> Any:
        import keras

        def of_a_sample(given: Any) -> Any:
            found = self._call(self._hold(), [one[0] for one in arrays.leaves(given)])
            return arrays.mapped(lambda one: one[None], found)

        return keras.layers.Lambda(of_a_sample)(tensors[0] if len(tensors) == 1 else list(tensors))

    def fed(self, values: Arrays) -> Arrays:
        return [np.asarray(one)[None] for one in values]

    def unfed(self, values: Arrays) -> Arrays:
        return [one[0] for one in values]


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
        value = in_floatx(random.uniform(case["weights"][0], case["weights"][1], shape), case["dtype"] or "float32")
        weights.append(weight)
        values.append(framework.from_shared(owner, name, value))
    framework.set_values(weights, values)


def statistics(value: np.ndarray) -> np.ndarray:
    """Mean and standard deviation, where the numbers themselves are random."""
    value = np.asarray(value, "float64")
    return np.array([value.mean(), value.std()])


def unmoved_at_ends(value: np.ndarray) -> Iterator[np.ndarray]:
    """Mean and deviation, of samples, of the share of zeros in what is first and last along each axis: by which axes
    and places a layer draws. A deviation that is small says nothing.
    """
    for axis in range(1, value.ndim):
        for end in (0, -1):
            share = np.mean(np.abs(value.take([end], axis)).reshape(len(value), -1) < UNMOVED, axis=1)
            yield np.array([share.mean(), np.hypot(share.std(), LEAST_DEVIATION)])


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
