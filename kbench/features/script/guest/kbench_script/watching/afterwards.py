"""What is tried out when the program has ended: whether the mode is why fit and evaluate disagree, what a loop of
small predictions takes by predict_on_batch, and what a fit's batches take to make: the program's own code makes them
again. Models may change by it.
"""

import contextlib
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

import keras
import numpy as np

from kbench_guest.arrays import each
from kbench_guest.frameworks.layers import every_layer
from kbench_script.watching.about import rows
from kbench_script.watching.restored import Restored, same_data, same_weights

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_script.watching.recorder import Recorder

APART = 0.1  # of an accuracy: fit and evaluate disagree
MOST_BATCHES = 32
MODES = ("BatchNorm", "Dropout", "Noise")  # in the names of layers that compute something else in training
SMALL, MANY = 32, 20  # samples of a prediction, and calls, from which on predict_on_batch is tried
TRIES = 10
LONGEST = 2.0  # seconds of making batches


class Afterwards:
    """Keeps what it needs of calls, and tries when the program has ended."""

    def __init__(self, framework: "KerasModels", recorder: "Recorder") -> None:
        self._framework = framework
        self._recorder = recorder
        self._fits: Any = weakref.WeakKeyDictionary()  # model: (site, x, y, batch size, accuracy) of its last fit
        self._evaluated: Dict[str, Tuple[Any, ...]] = {}  # site: what disagrees there
        self._predicted: Dict[str, Tuple[Any, Any]] = {}  # site: (model, its first samples)
        self._shapes: Dict[str, Tuple[int, ...]] = {}  # site: of the last samples
        self._feeds: Dict[str, Any] = {}  # site: what gives its batches
        self._restored = Restored(framework, recorder)

    def fit_ended(self, site: str, model: Any, given: Dict[str, Any], history: Any, feeds: Any) -> None:
        """A fit has returned. given: its arguments by their names; feeds: what gives its batches, but for arrays."""
        self._restored.fit_ended(site, model, given, history)
        self._fits.pop(model, None)
        if feeds is not None:
            self._feeds[site] = feeds
        accuracy = _accuracy_of(
            {name: values[-1] for name, values in getattr(history, "history", {}).items() if values}
        )
        x, y = given.get("x"), given.get("y")
        if accuracy is not None and isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
            self._fits[model] = site, x, y, int(given.get("batch_size") or 32), accuracy

    def evaluate_ended(self, site: str, model: Any, given: Dict[str, Any], scores: Dict[str, float]) -> None:
        """An evaluate has returned: keep it if a fit on the same data said something else."""
        self._restored.evaluate_ended(site, model, given, scores)
        fit, accuracy = self._fits.get(model), _accuracy_of(scores)
        if fit is None or accuracy is None or site in self._evaluated:
            return
        if same_data(fit[1], given.get("x")) and same_data(fit[2], given.get("y")) and abs(fit[4] - accuracy) > APART:
            self._evaluated[site] = (weakref.ref(model), accuracy, self._framework.own_weights(model), *fit)

    def predict_ended(self, site: str, model: Any, x: Any) -> None:
        """A prediction has returned."""
        if not isinstance(x, np.ndarray):
            return
        if site in self._shapes and self._shapes[site] != x.shape:  # each may be compiled: another time says nothing
            self._predicted.pop(site, None)
        elif site not in self._shapes and 0 < rows(x) <= SMALL:
            self._predicted[site] = weakref.ref(model), np.array(x)
        self._shapes[site] = x.shape

    def finish(self, counts: Dict[str, int]) -> None:
        """The program has ended. counts: calls of each site."""
        for site, kept in self._evaluated.items():
            self._recorder.guarded(self._compare_modes, site, *kept)
        for site, (model, x) in self._predicted.items():
            if counts.get(site, 0) >= MANY and model() is not None:
                self._recorder.guarded(self._try_on_batch, site, model(), x)
        for site, feeds in self._feeds.items():
            seconds: List[float] = []
            making = threading.Thread(target=_make_batches, args=(feeds, seconds))
            making.daemon = True  # a generator may wait for ever
            making.start()
            making.join(2 * LONGEST)
            taken = seconds[1:]  # the first may begin more than one
            if taken:
                self._recorder.returned(site, batch_seconds=float(np.median(taken)))

    def _try_on_batch(self, site: str, model: Any, x: Any) -> None:
        seconds = []
        for _ in range(TRIES + 2):
            start = time.perf_counter()
            np.asarray(model.predict_on_batch(x))
            seconds.append(time.perf_counter() - start)
        self._recorder.returned(site, on_batch_seconds=float(np.median(seconds[2:])))

    def _compare_modes(
        self, site: str, model: Any, evaluated: float, before: Any, fit: str, x: Any, y: Any, size: int, fitted: float
    ) -> None:
        model = model()
        if model is None or not same_weights(before, self._framework.own_weights(model)):
            return
        order = np.random.RandomState(0).permutation(len(x))  # as fit shuffles: a batch of one class is none of its
        starts = range(0, len(x) - size + 1, size) or [0]
        batches = [order[start : start + size] for start in starts[:MOST_BATCHES]]
        labels = np.concatenate([y[one] for one in batches])
        inference = _accuracy(np.concatenate([np.asarray(model.predict_on_batch(x[one])) for one in batches]), labels)
        in_training = self._training_mode(model)
        training = _accuracy(np.concatenate([in_training(x[one]) for one in batches]), labels)
        if inference is None or training is None:
            return
        kinds = {type(layer).__name__ for layer in every_layer(model)}
        modes = sorted(kind for kind in kinds if any(part in kind for part in MODES))
        found = {"site": fit, "fit": fitted, "evaluate": evaluated, "training": training, "inference": inference}
        self._recorder.returned(site, beside_fit=dict(found, layers=modes))

    def _training_mode(self, model: Any) -> Callable[[Any], Any]:
        """What computes the model's outputs as in training."""
        if self._framework.eager:
            return lambda x: self._framework.values([model(x, training=True)])[0]
        phase = keras.backend.learning_phase()
        compute = keras.backend.function([*model.inputs, phase], model.outputs)
        return lambda x: compute([x, 1])[0]


def _make_batches(feeds: Any, seconds: List[float]) -> None:
    """Add what each batch takes to make."""
    with contextlib.suppress(Exception):  # of the user's: it may be used up
        batches = iter(each(feeds))
        while len(seconds) < TRIES and sum(seconds) < LONGEST:
            start = time.perf_counter()
            if next(batches, None) is None:
                return
            seconds.append(time.perf_counter() - start)


def _accuracy_of(scores: Dict[str, Any]) -> Optional[float]:
    for name in ("accuracy", "acc"):
        if scores.get(name) is not None:
            return float(scores[name])
    return None


def _accuracy(outputs: Any, y: Any) -> Optional[float]:
    """Of a classification; None if it is none."""
    if outputs.ndim != 2:
        return None
    labels = y.reshape(len(y), -1)
    if outputs.shape[1] == 1:
        chosen, wanted = outputs[:, 0] > 0.5, labels[:, 0] > 0.5
    else:
        chosen = np.argmax(outputs, axis=1)
        wanted = np.argmax(labels, axis=1) if labels.shape[1] == outputs.shape[1] else labels[:, 0]
    return float(np.mean(chosen == wanted))
