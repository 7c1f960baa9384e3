"""What else a public name of Keras has to do where its outputs are to be had: train, give the same in a graph as
eagerly, and when it was saved and loaded.
"""

import contextlib
import glob
import os
import shutil
import tempfile
import urllib.parse
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Sequence

import numpy as np

from kbench_coverage import exports, masks
from kbench_coverage.of_frameworks import constant, evaluated, file_formats
from kbench_coverage.roundtrips import changed, copied, of_configuration
from kbench_coverage.steps import Steps, of_changes, product
from kbench_coverage.training import Arrays, Subject, Training, along, distance, dtype_of
from kbench_coverage.wrappers import Within
from kbench_guest import arrays
from kbench_guest.protocol import in_a_line

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels

MOST = 300  # characters of an error
LIKE = 1e-4  # a file that gives outputs so near is worth giving to others
# In how many cases of a name jit_compile is switched, and fit compiled: on PyTorch it takes seconds.
SWITCHED = {"jax": 4, "tensorflow": 4, "torch": 1}
OF_GRAPHS = 2  # the same for gradients and files on a backend that computes nothing without compiling it
AGAIN = 30  # times that what differs from itself is computed again
ANY_SIZE = ", of a first axis of any size"
VALUES = ("config", "copy")  # which look at values that are given, not drawn
UNMADE = ("could not be deserialized", "Error when deserializing")
NO_SHAPE = "automatically infer the shape of the Lambda"  # says Keras of a function, which is no fault of that

Check = Dict[str, Any]  # see Check in kbench/records/reported.py


class Checks:
    """The checks of a case, by their names. asked: {"trains", "checks", "saved": a folder}; begin(check) is called
    before each of them.
    """

    def __init__(
        self,
        framework: "KerasModels",
        subject: Subject,
        given: Arrays,
        outputs: Arrays,
        asked: Dict[str, Any],
        begin: Callable[[str], None],
    ) -> None:
        self._framework, self._subject, self._given, self._outputs = framework, subject, given, outputs
        self._asked, self._begin = asked, begin
        self._found: Dict[str, Check] = {}
        self._is_switched = self._is_quick = True

    def fields(self, case: Dict[str, Any], is_reference: bool) -> Dict[str, Any]:
        """Fields of the case's event, but its gradients as arrays."""
        if self._asked["checks"] and not is_reference and self._subject.made and not case["training"]:
            self._comes_back(*self._subject.made)
        if self._asked["checks"] and not is_reference and case["inference"] and case["draws"]:
            self._try("inference", self._leaves_inputs)
        of_few = case["outputs_only"] and self._subject.is_layer and not case["dtype"]
        is_symbolic = self._subject.is_symbolic and not of_few
        if self._asked["checks"] and not is_reference and is_symbolic and not case["random"]:
            self._without_numbers()
        if case["outputs_only"] or not self._outputs:
            return {"checks": self._found}
        number = self._number(case["name"])
        self._is_switched = number <= SWITCHED.get(self._framework.module.__name__, 0)
        self._is_quick = self._framework.eager or number <= OF_GRAPHS
        learns = self._subject.in_graph and all(one.dtype.kind in "fV" for one in self._outputs) and bool(self._given)
        found = {}
        if self._asked["checks"] and not is_reference:
            self._unlike_itself(case)
        if self._asked["checks"] and is_reference and learns and all(one.dtype == "float64" for one in self._outputs):
            with contextlib.suppress(Exception):
                found["slopes"] = Training(self._framework, self._subject, self._given, self._outputs).slopes()
        elif (
            self._asked["trains"] and learns and self._is_quick and (self._asked["checks"] or self._subject.is_layer)
        ):
            found = self._trained()  # at last: it changes the layer's weights
        return dict(found, checks=self._found)

    def _number(self, name: str) -> int:
        """Of the case among those of its name that have all checks, from 1."""
        numbers = self._asked.setdefault("numbers", {})
        numbers[name] = numbers.get(name, 0) + 1
        return int(numbers[name])

    def _comes_back(self, module: Any, make: Callable[[], Any]) -> None:
        """Whether each of its values is the one that went in."""
        if hasattr(module, "deserialize"):
            self._try("config", lambda: words(changed(make, lambda one: of_configuration(module, one))))
        if self._framework.eager:
            self._try("copy", lambda: words(changed(make, copied)))

    def _without_numbers(self) -> None:
        """Whether a symbolic call says the shapes and dtypes that come, also for batches of any size."""
        import keras

        if not self._outputs or not self._given or not hasattr(keras, "KerasTensor"):
            return
        for any_size in (False, True) if self._subject.is_batched(self._given) else (False,):
            shapes = [((None,) if any_size and one.ndim else one.shape[:1]) + one.shape[1:] for one in self._given]
            tensors = [keras.KerasTensor(shape, dtype_of(one)) for shape, one in zip(shapes, self._given)]
            self._try("symbolic", lambda tensors=tensors: self._says(tensors))  # type: ignore[misc]
            found = self._found.get("symbolic", {})
            if any_size and not self._subject.is_layer and "error" in found:
                self._found["symbolic"] = {"off": 0.0}  # the first axis of a function's array may be no batch
            elif found != {"off": 0.0}:
                if any_size and "how" in found:
                    found["how"] += ANY_SIZE
                return
        shape = self._subject.shape(tuple(self._given[0].shape)) if len(self._given) == 1 else None
        if shape is not None and len(self._outputs) == 1 and shape != self._outputs[0].shape:
            how = f"compute_output_shape gives {shape} instead of {self._outputs[0].shape}"
            self._found["symbolic"] = {"how": how}

    def _says(self, tensors: Sequence[Any]) -> Check:
        said = self._subject.symbolic(tensors)
        for one, came in zip(said, self._outputs):
            shape = getattr(one, "shape", came.shape)
            if len(shape) != came.ndim or any(size not in (None, right) for size, right in zip(shape, came.shape)):
                return {"how": f"shape {tuple(shape)} instead of {came.shape}"}
            dtype = getattr(one, "dtype", came.dtype)
            # Layers say their own, and nearly all hand whole numbers on as they are.
            if str(dtype) != str(came.dtype) and not (self._subject.is_layer and came.dtype.kind == "i"):
                return {"how": f"{dtype} instead of {came.dtype}"}
        return {"off": 0.0}

    def _leaves_inputs(self) -> Check:
        """Whether what only draws, as a dropout, draws nothing and gives what it gets, if that has its shape."""
        if not self._outputs:
            return {"how": "it draws numbers"}
        same = [one.shape for one in self._outputs] == [one.shape for one in self._given]
        return unlike(self._outputs, self._given) if same else {"off": 0.0}

    def _unlike_itself(self, case: Dict[str, Any]) -> None:
        subject, is_random = self._subject, case["random"]
        if subject.in_graph and self._framework.eager and self._given:
            self._try("graph", self._in_a_graph)
            if subject.is_layer and self._is_switched:
                self._try("jit", lambda: self._in_a_graph(otherwise=True))
        if subject.kept is not None and "how" not in self._found.get("config", {}):
            kept = subject.kept
            self._try("config", lambda: unlike(kept()(self._given), self._outputs, is_random))
        if not self._is_quick:
            return
        if isinstance(subject, Steps):
            self._of_steps(subject)
        if subject.is_layer and self._given:
            self._try("clone", self._cloned)
            sizes = {len(one) if one.ndim else 0 for one in self._given + self._outputs}
            if self._framework.eager and len(sizes) == 1 and not mixes_samples(case):
                self._try("batch", self._of_one_sample)
                self._within_others()
            self._in_files(case["id"])
            self._exported(case["name"])
        unlike_itself = [
            one
            for check, one in self._found.items()
            if check not in VALUES and (one.get("off", 0.0) > LIKE or "how" in one)
        ]
        if unlike_itself and not is_random and self._draws():
            self._found = {check: one for check, one in self._found.items() if check in VALUES}

    def _draws(self) -> bool:
        """Whether it draws numbers after all, such as one that is nearly always the same."""
        found = (unlike(self._subject(self._given), self._outputs) for _ in range(AGAIN))
        return any("how" in one or one["off"] > LIKE for one in found)

    def _try(self, name: str, check: Callable[[], Check]) -> None:
        self._begin(name)
        try:
            self._found[name] = check()
        except (Exception, SystemExit) as error:
            if NO_SHAPE not in str(error):
                self._found[name] = {"error": in_a_line(cause(error))[:MOST]}

    def _trained(self) -> Dict[str, Any]:
        self._begin("gradients")
        try:
            training = Training(self._framework, self._subject, self._given, self._outputs)
            gradients = training.gradients()
        except (Exception, SystemExit) as error:
            return {} if NO_SHAPE in str(error) else {"untrained": in_a_line(error)[:MOST]}
        compiles = self._framework.supports_run_eagerly and self._subject.is_layer
        if self._asked["checks"] and gradients and compiles and self._is_switched:
            self._try("fit", lambda: self._fitted(training, gradients))
        return {"gradients": gradients, "slopes": along(gradients)}

    def _fitted(self, training: Training, gradients: Arrays) -> Check:
        found = furthest(training.in_fit(), gradients)
        if found.get("off", np.inf) <= LIKE or all(training.gradients() for _ in range(AGAIN)):
            return found
        return {"off": 0.0}  # it draws numbers after all

    def _in_a_graph(self, otherwise: bool = False) -> Check:
        """In a prediction, which a backend compiles if it can; otherwise: with jit_compile off where that is on."""
        fed = self._subject.fed(self._given)
        model = self._subject.model(fed)
        if otherwise:
            self._framework.set_jit(model, not model.jit_compile)
        found = model.predict(fed[0] if len(fed) == 1 else fed, batch_size=len(fed[0]), verbose=0)
        # Called alone, a layer that augments images does so.
        outputs = self._eagerly(model, training=False) if self._subject.is_layer else self._outputs
        return unlike(self._subject.unfed(arrays.leaves(found)), outputs)

    def _of_one_sample(self) -> Check:
        """The last sample alone, and all once more: a layer may keep what it was built for, or called with."""
        alone = unlike(self._subject([one[-1:] for one in self._given]), [one[-1:] for one in self._outputs])
        again = unlike(self._subject(self._given), self._outputs)
        return max((alone, again), key=lambda one: one.get("off", np.inf))

    def _within_others(self) -> None:
        weights = self._subject.layer.weights  # type: ignore[attr-defined]
        values = self._framework.values(weights)
        within = Within(self._framework, self._subject, self._given, self._outputs)  # type: ignore[arg-type]
        for outer, give in within.ways().items():
            self._try(outer, lambda give=give: self._like_outputs(give()))  # type: ignore[misc]
            self._framework.set_values(weights, values)  # which it may have trained

    def _like_outputs(self, found: Arrays) -> Check:
        """Which it gave once or several times."""
        return unlike(found, self._outputs * max(1, len(found) // len(self._outputs)))

    def _eagerly(self, model: Any, **how: bool) -> Arrays:
        tensors = [constant(self._framework, one) for one in self._given]
        found = model(tensors[0] if len(tensors) == 1 else tensors, **how)
        return [evaluated(self._framework, one) for one in arrays.leaves(found)]

    def _of_steps(self, steps: Steps) -> None:
        if self._framework.supports_run_eagerly:
            self._try("graph", lambda: {"off": of_changes(steps(self._given, eagerly=False), self._outputs)})
        trained: List[Any] = []
        after = {}

        def load_and_step(form: str) -> Check:
            trained[:] = trained or [self._trained_steps(steps)]
            with in_a_file(trained[0], form) as path:
                loaded = load(path)
            if self._framework.supports_run_eagerly:
                loaded.run_eagerly = True
            after[form[1:]] = steps.steps(loaded, self._given)
            return {}

        for form in file_formats():
            self._try(form[1:], lambda form=form: load_and_step(form))  # type: ignore[misc]
        if after:
            itself = steps.steps(trained[0], self._given)
            self._found.update((name, {"off": of_changes(changes, itself)}) for name, changes in after.items())

    def _trained_steps(self, steps: Steps) -> Any:
        model = steps.model_of(self._given)
        steps.steps(model, self._given)
        return model

    def _in_files(self, case: int) -> None:
        """A layer in a model that was saved and loaded: here, and from a file of a backend that managed it before."""
        folder, own = self._asked["saved"], file_formats()[0]
        os.makedirs(folder, exist_ok=True)
        others = glob.glob(os.path.join(glob.escape(folder), f"{case} *{own}"))

        def here(form: str) -> Check:
            with in_a_file(self._subject.model(self._given), form) as path:
                found = self._loaded(path)
                if form == own and not others and found.get("off", LIKE) < LIKE:
                    backend = urllib.parse.quote(self._asked["backend"], safe="")[:200]
                    whole = os.path.join(folder, f"{case} {backend}{form}")
                    shutil.move(path, f"{whole}.new")  # maybe from another disk, which takes time
                    os.replace(f"{whole}.new", whole)
            return found

        for form in file_formats():
            self._try(form[1:], lambda form=form: here(form))  # type: ignore[misc]
        for other in others[:1]:
            backend = urllib.parse.unquote(os.path.basename(other).partition(" ")[2][: -len(own)])
            self._try("elsewhere", lambda other=other: self._loaded(other))  # type: ignore[misc]
            self._found["elsewhere"]["saved_on"] = backend

    def _exported(self, name: str) -> None:
        """Of a name its first case: it takes longer than all else."""
        tried = self._asked.setdefault("exported", set())
        if name not in tried and exports.can_export():
            tried.add(name)

            def export() -> Check:
                model = self._subject.model(self._given)
                with tempfile.TemporaryDirectory() as folder:
                    found = exports.outputs(model, self._given, folder)
                return unlike(found, self._eagerly(model, training=False))

            self._try("export", export)

    def _loaded(self, path: str) -> Check:
        """The outputs of the model in a file."""
        return self._like_this(load(path))

    def _cloned(self) -> Check:
        """The outputs of a model that was made again of this one's layers, and given its weights."""
        import keras

        model = self._subject.model(self._given)
        twin = keras.models.clone_model(model)
        twin.set_weights(model.get_weights())
        return self._like_this(twin)

    def _like_this(self, model: Any) -> Check:
        given = self._given
        if self._framework.eager:
            outputs = self._eagerly(model)
        else:
            outputs = arrays.leaves(model.predict(given[0] if len(given) == 1 else given, len(given[0])))
        return unlike(outputs, self._outputs)


@contextlib.contextmanager
def in_a_file(model: Any, form: str) -> Iterator[str]:
    """The path of a file that the model is saved in meanwhile."""
    folder = tempfile.mkdtemp()
    try:
        path = os.path.join(folder, "model" + form)
        model.save(path)
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def load(path: str) -> Any:
    """The model in a file."""
    import keras

    return keras.models.load_model(path, custom_objects=dict(masks.classes(), product=product))


def mixes_samples(case: Dict[str, Any]) -> bool:
    """Whether it computes along the axis of samples, as it is asked to."""
    return any(
        key.startswith("ax") and 0 in (one if isinstance(one, list) else [one])
        for key, one in case["settings"].items()
    )


def cause(error: BaseException) -> BaseException:
    """Why something could not be made of its configuration, which Keras says behind that."""
    while error.__context__ is not None and any(one in str(error) for one in UNMADE):
        error = error.__context__
    return error


def words(how: str) -> Check:
    return {"how": how[:MOST]} if how else {"off": 0.0}


def unlike(found: Arrays, outputs: Arrays, is_random: bool = False) -> Check:
    """How far they are from the outputs: of random ones mean and deviation, in deviations."""
    shapes: List[Any] = [[np.shape(one) for one in of] for of in (found, outputs)]
    if shapes[0] != shapes[1]:
        return {"how": f"shapes {shapes[0]} instead of {shapes[1]}"}
    if any(not np.array_equal(np.isnan(one), np.isnan(other)) for one, other in zip(found, outputs)):
        return {"how": "not a number in other places"}
    sizes = [distance(*pair) for pair in zip(found, outputs)]
    if is_random:
        sizes = [float(np.abs(one - other).max() / (other[1] or 1.0)) for one, other in zip(found, outputs)]
    return {"off": max(sizes + [0.0])}


def furthest(changes: Arrays, gradients: Arrays) -> Check:
    """How far two steps are apart, in the largest number."""
    sizes = [float(np.abs(one - other).max()) for one, other in zip(changes, gradients) if one.size]
    return {"off": max(sizes)} if np.isfinite(sizes).all() else {"how": "not a number"}
