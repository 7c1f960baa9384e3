"""--max-steps: cuts each fit, validation, evaluation and prediction of a program to its first steps.

What a call is given is cut, not what it does: so its progress, its scores and its validation set are true.
"""

import copy
import functools
import itertools
import types
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional

import keras
import numpy as np

from kbench_script.watching.about import is_array, rows
from kbench_script.watching.wrapping import EVALUATES, FITS, PREDICTS, by_name, wrap_methods

if TYPE_CHECKING:
    from kbench_script.watching.recorder import Recorder

UTILS = getattr(keras, "utils", None)
SEQUENCE: Any = getattr(UTILS, "PyDataset", None) or getattr(UTILS, "Sequence", type("Sequence", (), {}))
OF_SEQUENCE = ("workers", "use_multiprocessing", "max_queue_size")  # settings of Keras 3's
BATCH = 32  # rows, if the program does not say how many


def watch(model_class: Any, most: int, recorder: "Recorder") -> None:
    """Let these methods take `most` steps. recorder: is told what was cut, and guards it."""

    def wrapped(method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def called(model: Any, *args: Any, **kwargs: Any) -> Any:
            given = by_name(original, args, kwargs)
            cut = recorder.guarded(Cut, method, model, given, most) if given is not None else None
            if cut is None:
                return original(model, *args, **kwargs)
            recorder.is_cut(cut.text)
            return cut.whole(original(model, **cut.given))

        return called

    wrap_methods(model_class, FITS + EVALUATES + PREDICTS, wrapped)


class Cut:
    """A call with fewer steps. given: its arguments; text: what was cut, "" if nothing was."""

    def __init__(self, method: str, model: Any, given: Dict[str, Any], most: int) -> None:
        self.given = dict(given)
        self._most = most
        self._predicts = method in PREDICTS
        self._lengthen: Optional[Callable[[Any], Any]] = None  # makes as many predictions of fewer
        feed = "generator" if "generator" in given else "x"
        size = self.given.get("batch_size") or getattr(self.given.get(feed), "batch_size", None)
        self._size = int(size) if isinstance(size, (int, np.integer)) else BATCH
        self._execute_fewer(model)
        texts = []
        if method in FITS:
            self._split()
            texts += ["each epoch"] * self._cut(feed, "steps_per_epoch", self._size)
            texts += ["each validation"] * self._cut_validation()
        elif self._cut(feed, "steps", self._size):
            texts.append("it")
        self.text = f"--max-steps cuts {' and '.join(texts)} to {most} steps" if texts else ""
        if self.text and self._predicts:
            self.text += "; the predictions of their rows stand for those of all others"

    def whole(self, found: Any) -> Any:
        """As many predictions as the program asked for; what other methods return as it is."""
        return self._lengthen(found) if self._lengthen is not None else found

    def _execute_fewer(self, model: Any) -> None:
        """Let the model not take more steps at once than there are."""
        at_once = getattr(model, "steps_per_execution", 1) or 1
        self._at_once = min(int(at_once), self._most)
        if at_once > self._most:
            model.steps_per_execution = self._most
            model.train_function = model.test_function = model.predict_function = None

    def _limit(self) -> int:
        """`most`, or a little less so that executions of several steps are whole."""
        return self._most // self._at_once * self._at_once

    def _split(self) -> None:
        """Take the validation set from the end of all data, as Keras does, before they are cut."""
        given, share = self.given, self.given.get("validation_split")
        if not share or given.get("validation_data") is not None or not rows(given.get("x")):
            return
        parts = [name for name in ("x", "y", "sample_weight") if given.get(name) is not None]
        at = int(rows(given["x"]) * (1.0 - share))
        behind = {name: _mapped(lambda one: _rows_of(one, at, None), given[name]) for name in parts}
        given.update({name: _mapped(lambda one: _rows_of(one, 0, at), given[name]) for name in parts})
        weights = [behind["sample_weight"]] if "sample_weight" in behind else []
        given["validation_data"] = tuple([behind["x"], behind.get("y")] + weights)
        given["validation_split"] = 0.0

    def _cut_validation(self) -> bool:
        found = self.given.get("validation_data")
        if not isinstance(found, (list, tuple)):
            return self._cut("validation_data", "validation_steps", self._size)
        if self.given.get("validation_steps"):
            return self._fewer_steps("validation_steps")
        most = self._most * int(self.given.get("validation_batch_size") or self._size)
        if rows(found[0]) <= most:
            return False
        self.given["validation_data"] = tuple(_mapped(lambda one: _rows_of(one, 0, most), part) for part in found)
        return True

    def _cut(self, feed: str, steps: str, size: int) -> bool:
        """Cut what feeds the call; returns whether there may be more."""
        given, fed = self.given, self.given.get(feed)
        if given.get(steps):
            asked, available = int(given[steps]), rows(fed)
            if self._predicts:
                self._lengthen = lambda found: _repeated(
                    found, min(available, asked * size) if available else rows(found) // self._limit() * asked
                )
            return self._fewer_steps(steps)
        if rows(fed):
            most = self._most * size
            if rows(fed) <= most:
                return False
            if self._predicts:
                self._lengthen = functools.partial(_repeated, count=rows(fed))
            for name in {feed, "y", "sample_weight"} & set(given):
                given[name] = _mapped(lambda one: _rows_of(one, 0, most), given[name])
            return True
        if fed is None or (self._predicts and hasattr(fed, "__next__")):  # nobody knows how many rows there are
            return False
        fewer = _fewer(fed, self._most)
        if fewer is None:
            if not hasattr(fed, "__iter__"):
                return False
            given[steps] = self._limit()
        elif fewer is not fed:
            if self._predicts:
                self._lengthen = lambda found: _repeated(found, _count(fed, rows(found) // self._most))
            given[feed] = fewer
        return fewer is not fed

    def _fewer_steps(self, name: str) -> bool:
        asked = int(self.given[name])
        self.given[name] = min(asked, self._limit())
        if asked <= self._limit():
            self._lengthen = None
        return asked > self._limit()


def _mapped(do: Callable[..., Any], x: Any) -> Any:
    """do(array) for each array in x, in containers of the same kind."""
    if x is None:
        return None
    if isinstance(x, dict):
        return type(x)((name, _mapped(do, one)) for name, one in x.items())
    if isinstance(x, (list, tuple)) and not is_array(x):
        made = [_mapped(do, one) for one in x]
        return type(x)(*made) if hasattr(x, "_fields") else type(x)(made)
    return do(x)


def _rows_of(one: Any, start: int, stop: Optional[int]) -> Any:
    return (one.iloc if hasattr(one, "iloc") else one)[start:stop]


def _repeated(found: Any, count: int) -> Any:
    """The arrays with `count` rows: theirs, again and again."""
    return _mapped(lambda one: one[np.arange(count) % len(one)] if len(one) else one, found)


def _count(fed: Any, size: int) -> int:
    """How many rows all batches have, of which each but the last one has `size`."""
    if isinstance(fed, SEQUENCE):
        return (_batches(fed) - 1) * size + rows(fed[_batches(fed) - 1])
    return sum(rows(batch) for batch in fed)


def _batches(sequence: Any) -> Optional[int]:
    """How many batches there are; None if they never end."""
    found = getattr(sequence, "num_batches", 0)
    return len(sequence) if found == 0 else found


def _fewer(fed: Any, most: int) -> Any:
    """The first `most` batches; the same object if there are no more; None if nothing is known about it."""
    if hasattr(fed, "take") and hasattr(fed, "cardinality"):  # a tf.data.Dataset
        return fed if 0 <= int(fed.cardinality()) <= most else fed.take(most)
    if isinstance(fed, types.GeneratorType):
        return (batch for batch in itertools.islice(fed, most))
    if isinstance(fed, SEQUENCE):
        batches = _batches(fed)
        return fed if batches is not None and batches <= most else Fewer(fed, most)
    if hasattr(fed, "batch_sampler") and hasattr(fed, "__len__"):  # a DataLoader of PyTorch
        return fed if len(fed) <= most else _fewer_loaded(fed, most)
    return None


class Fewer(SEQUENCE):
    """The first batches of a Sequence or PyDataset."""

    def __init__(self, whole: Any, most: int) -> None:
        if SEQUENCE.__name__ == "PyDataset":
            SEQUENCE.__init__(self, **{name: getattr(whole, name) for name in OF_SEQUENCE})
        self._whole = whole
        self._most = most
        if isinstance(getattr(whole, "batch_size", None), int):
            self.batch_size = whole.batch_size

    def __len__(self) -> int:
        return self._most

    def __getitem__(self, number: int) -> Any:
        return self._whole[number]

    def on_epoch_begin(self) -> None:
        getattr(self._whole, "on_epoch_begin", lambda: None)()

    def on_epoch_end(self) -> None:
        self._whole.on_epoch_end()


def _fewer_loaded(loader: Any, most: int) -> Any:
    kind: Any = type(loader)

    class Loader(kind):
        def __len__(self) -> int:
            return most

        def __iter__(self) -> Iterator[Any]:
            return itertools.islice(kind.__iter__(self), most)

    found = copy.copy(loader)
    found.__class__ = Loader
    return found
