"""What the first call of a line returns, of which inputs and from which weights: so that backends can be compared.

Scores are of every call. Outputs are of the first rows of a call, and nothing of the program is changed for them:
what has to be computed, such as the outputs of `evaluate`, is computed when the program has ended.
"""

import contextlib
import functools
import hashlib
import os
import time
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Set, Tuple

import keras
import numpy as np

from kbench_guest.arrays import leaves, mapped
from kbench_guest.frameworks.layers import find, layers
from kbench_guest.proof.weights import by_layer
from kbench_guest.sketches import drawn, norm, plain_numbers, sums
from kbench_script.watching import overhead
from kbench_script.watching.about import rows
from kbench_script.watching.wrapping import SCORES, by_name, wrap_methods

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_script.watching.recorder import Recorder

MOST_ROWS = 32
MOST_NUMBERS = 1 << 22  # of a weight that are hashed, from the front
MOST_WEIGHTS = 1000
CLOSE = 1e-4  # of the largest number: outputs of one model for one batch are no farther apart, unless they are random


def scores(model: Any, found: Any) -> Dict[str, float]:
    """{name: number} of what evaluate returned; {} if that is not known."""
    if isinstance(found, dict):
        values = found
    else:
        each = list(found) if isinstance(found, (list, tuple)) else [found]
        names = _names(model)
        values = dict(zip(names, each)) if len(names) == len(each) else {}
    return numbers(values)


def _names(model: Any) -> List[str]:
    """The names of evaluate's scores in their order."""
    if not hasattr(model, "get_metrics_result"):  # Keras 2
        return list(getattr(model, "metrics_names", None) or ["loss"])
    results = dict(model.get_metrics_result())
    ordered = [one.name for one in model.metrics if one.name in results]  # as Keras 3 orders what it returns
    return ordered + sorted(set(results) - set(ordered))


def numbers(values: Dict[str, Any]) -> Dict[str, float]:
    """{name: score as a float} without what is no single number."""
    found = {}
    for name, value in values.items():
        with contextlib.suppress(TypeError, ValueError, RuntimeError):
            one = np.asarray(value, dtype="float64")
            if one.ndim == 0:
                found[name] = float(one)
    return found


class ReturnedValues:
    """Keeps them. They are written as they come; `finish` adds what the program's end allows to compute.

    recorder: none if nothing is written.
    """

    def __init__(self, framework: "KerasModels", recorder: Optional["Recorder"]) -> None:
        self._framework = framework
        self._recorder = recorder
        self._began = time.time()
        self._trained: Any = weakref.WeakSet()  # layers
        self._loaded: Any = weakref.WeakKeyDictionary()  # layer: places of its weights that a file gave it
        self._seen: Set[str] = set()  # sites
        self._kept: List[Tuple[Any, ...]] = []

    def watch(self, model_class: Any) -> None:
        """See which weights the program gives its models."""
        wrap_methods(model_class, ("load_weights",), self._loads)
        wrap_methods(model_class, ("set_weights",), self._sets)

    def trains(self, model: Any) -> None:
        """The model is trained from now on."""
        for layer, _ in layers(model):
            self._trained.add(layer)
            self._loaded.pop(layer, None)

    def is_trained(self, model: Any) -> bool:
        return any(layer in self._trained for layer, _ in layers(model))

    def keep(self, site: str, method: str, model: Any, given: Callable[[], Dict[str, Any]], found: Any) -> None:
        """The first call of a site has returned. given: makes its arguments by their names."""
        if site in self._seen:
            return
        self._seen.add(site)
        named = given()
        if named.get("training") or not self._is_plain(model):
            return
        told = {"trained": int(self.is_trained(model)), "weights": self.weights(model)}
        told["scores"] = scores(model, found) if method in SCORES else {}
        x, most = named["x"], _most(named.get("batch_size"))
        batch = self._first(x, most) if rows(x) else None
        # The outputs of evaluate are those of a batch, computed later.
        shown = most if method in SCORES else MOST_ROWS
        outputs = None if method in SCORES else self._arrays(mapped(lambda one: one[:shown], found))
        if batch is not None:
            told["inputs"] = _sampled(self._arrays(self._first(x, shown)))
        if outputs is not None:
            told.update(_sampled(outputs))
            outputs = [one[:most] for one in outputs]
        self._recorder.returned(site, **plain_numbers(told))
        if batch is None and hasattr(x, "__getitem__") and hasattr(x, "__len__"):
            batch = x  # a Sequence, of which the first batch is asked for later
        if batch is not None and not told["trained"]:
            self._kept.append((site, weakref.ref(model), batch, most, told["weights"], outputs))

    def finish(self) -> None:
        """The program has ended: compute what its calls did not return, and whether they return it again."""
        for kept in self._kept:
            self._recorder.guarded(self._again, *kept)
        self._kept = []

    def _again(
        self, site: str, model: Any, batch: Any, most: int, its_weights: List[Dict[str, Any]], outputs: Any
    ) -> None:
        more: Dict[str, Any] = {}
        model = model()
        if model is None or self.is_trained(model):
            return
        if self.weights(model) != its_weights:  # changed by the program itself
            return
        if not rows(batch):
            batch = self.first_rows(batch, most)
            more["inputs"] = _sampled(self._arrays(batch))
        again = self._arrays(mapped(lambda one: one[:most], model.predict_on_batch(batch)))
        if outputs is None:
            outputs, again = again, self._arrays(mapped(lambda one: one[:most], model.predict_on_batch(batch)))
            more.update(_sampled(outputs))
        more["random"] = int(not _close(outputs, again))
        self._recorder.returned(site, **plain_numbers(more))

    # weights

    def weights(self, model: Any) -> List[Dict[str, Any]]:
        """[{layer, weight, sha256, shared, norm, sums, trains, loaded}] of the model's weights, as they are now.

        sha256: of the numbers as this backend keeps them; shared: as all would keep those that compute the same.
        """
        found = []
        for name, (layer, values) in by_layer([(one[0], one) for one in self._framework.own_weights(model)]):
            trained = list(getattr(layer, "trainable_weights", layer.weights))
            for position, (weight, value) in enumerate(zip(layer.weights, values)):
                kind, _, owner = find(layer, weight)
                own = np.asarray(value, "float32")
                shared = np.asarray(self._framework.to_shared(owner, kind, value), "float32")
                found.append({
                    "layer": name, "weight": kind or str(position), "sha256": _sha256(own),
                    "shared": _sha256(shared), "norm": norm(shared),
                    "sums": sums(np.ravel(shared)[:MOST_NUMBERS]),
                    "trains": int(any(weight is one for one in trained)),
                    "loaded": int(position in self._loaded.get(layer, ())),
                })  # fmt: skip
        return plain_numbers(found[:MOST_WEIGHTS])

    def _sets(self, method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def given(model: Any, *args: Any, **kwargs: Any) -> Any:
            self._recorder.guarded(self._is_new, model)
            return original(model, *args, **kwargs)

        return given

    def _is_new(self, model: Any) -> None:
        for layer, _ in layers(model):
            self._trained.discard(layer)
            self._loaded.pop(layer, None)

    def _loads(self, method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def loaded(model: Any, *args: Any, **kwargs: Any) -> Any:
            with overhead.excluded_from_time():
                before = self._recorder.guarded(self._hashes, model)
            found = original(model, *args, **kwargs)
            with overhead.excluded_from_time():
                named = by_name(original, args, kwargs) or {}
                self._recorder.guarded(self._mark, model, before, named)
            return found

        return loaded

    def _mark(self, model: Any, before: Any, named: Dict[str, Any]) -> None:
        path = next((one for one in named.values() if isinstance(one, (str, os.PathLike))), "")
        path = os.fspath(path)
        if not os.path.isfile(path) or os.path.getmtime(path) > self._began:  # the program itself has written it
            return
        before = before or {}
        for layer, hashes in self._hashes(model).items():
            earlier = before.get(layer, {})
            self._loaded[layer] = {position for position, one in hashes.items() if earlier.get(position) != one}
            self._trained.discard(layer)

    def _hashes(self, model: Any) -> Dict[Any, Dict[int, str]]:
        """{layer: {place of a weight: its hash}}; {} of a model that is not built."""
        return {layer: dict(enumerate(map(_sha256, values))) for layer, values in self._framework.own_weights(model)}

    # outputs

    def first_rows(self, x: Any, size: Any = None) -> Any:
        """A copy of the first rows of what a call is given; None if they cannot be had."""
        if not rows(x):
            if not (hasattr(x, "__getitem__") and hasattr(x, "__len__") and len(x)):
                return None
            x = x[0]  # a Sequence
            x = x[0] if isinstance(x, (list, tuple)) else x
        return self._first(x, _most(size))

    def _is_plain(self, model: Any) -> bool:
        """Whether it computes in the precision in which numbers are compared, and has no state of its own."""
        usual = keras.backend.floatx()
        kinds = {getattr(layer, "compute_dtype", usual) for layer, _ in layers(model)}
        stateful = any(getattr(layer, "stateful", False) is True for layer, _ in layers(model))
        return not stateful and all(kind == usual or "float" not in str(kind) for kind in kinds)

    def _first(self, x: Any, most: int) -> Any:
        """A copy of the first rows, as the model takes them."""
        if isinstance(x, dict):
            return {name: self._first(one, most) for name, one in x.items()}
        if isinstance(x, (list, tuple)) and x and hasattr(x[0], "shape") and len(x[0].shape):
            return [self._first(one, most) for one in x]
        return self._array((x.iloc if hasattr(x, "iloc") else x)[:most])

    def _arrays(self, value: Any) -> List[np.ndarray]:
        return [self._array(one) for one in leaves(value)]

    def _array(self, value: Any) -> np.ndarray:
        if hasattr(value, "iloc"):
            value = value.values
        if self._framework.eager and not isinstance(value, np.ndarray) and hasattr(value, "shape"):
            value = self._framework.values([value])[0]
        return np.array(value)


def _most(size: Any) -> int:
    """Of how many rows the outputs are, for a batch of this size."""
    return min(MOST_ROWS, int(size)) if isinstance(size, (int, np.integer)) else MOST_ROWS


def _sampled(outputs: Optional[List[np.ndarray]]) -> Dict[str, Any]:
    """{outputs, scales, norms, shapes}: some numbers of each array, its largest one, its norm and the shape of a row;
    {} of no numbers.
    """
    if not outputs or any(one.dtype.kind not in "biuf" for one in outputs):
        return {}
    numbers, scales = zip(*[drawn(one) for one in outputs])
    shapes = [list(one.shape[1:]) for one in outputs]
    return {
        "outputs": list(numbers), "scales": list(scales), "norms": [norm(one) for one in outputs], "shapes": shapes,
    }  # fmt: skip


def _close(own: List[np.ndarray], other: List[np.ndarray]) -> bool:
    """Whether outputs of the same model for the same inputs are alike."""
    if [one.shape for one in own] != [one.shape for one in other]:
        return True  # nothing is shown
    return all(
        np.allclose(one, two, rtol=CLOSE, atol=CLOSE * float(np.max(np.abs(two), initial=0.0)), equal_nan=True)
        if np.size(two) else True
        for one, two in zip(own, other)
    )  # fmt: skip


def _sha256(value: Any) -> str:
    flat = np.ascontiguousarray(value, "float32").reshape(-1)[:MOST_NUMBERS]
    return hashlib.sha256(f"{np.shape(value)} ".encode("ascii") + flat.tobytes()).hexdigest()[:16]
