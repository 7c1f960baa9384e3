"""What evaluate says of a model whose best weights EarlyStopping has restored, on the data that fit validated with:
the loss of that epoch, if the weights are back.
"""

import weakref
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set, Tuple

import keras
import numpy as np

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_script.watching.recorder import Recorder

BATCH = 32  # rows, if the program does not say how many
RESTORES_ALWAYS = hasattr(keras, "ops")  # Keras 2 does so only where it stops early


class Restored:
    """Keeps the end of fits that restored weights."""

    def __init__(self, framework: "KerasModels", recorder: "Recorder") -> None:
        self._framework = framework
        self._recorder = recorder
        self._fits: Any = weakref.WeakKeyDictionary()  # model: what is known of its last fit
        self._told: Set[str] = set()  # sites

    def fit_ended(self, site: str, model: Any, given: Dict[str, Any], history: Any) -> None:
        """A fit has returned. given: its arguments by their names."""
        self._fits.pop(model, None)
        losses = list(getattr(history, "history", {}).get("val_loss", ()))
        epoch = _restored(given.get("callbacks"), history) if losses else None
        data = _validated(given)
        if epoch is not None and epoch < len(losses) and data is not None:
            size = int(given.get("validation_batch_size") or given.get("batch_size") or BATCH)
            self._fits[model] = site, epoch, float(losses[epoch]), data, size, self._framework.own_weights(model)

    def evaluate_ended(self, site: str, model: Any, given: Dict[str, Any], scores: Dict[str, float]) -> None:
        """An evaluate has returned: write its loss beside that of the fit, if it is of the same data and weights."""
        fit = self._fits.get(model)
        if fit is None or site in self._told or "loss" not in scores:
            return
        its, epoch, loss, data, size, weights = fit
        other = any(given.get(name) is not None for name in ("steps", "sample_weight"))
        same = not other and same_data(data[0], given.get("x")) and same_data(data[1], given.get("y"))
        if same and same_weights(weights, self._framework.own_weights(model)):
            self._told.add(site)
            sizes = [size, int(given.get("batch_size") or BATCH)] if isinstance(data[0], np.ndarray) else []
            found = {"site": its, "epoch": epoch + 1, "fit": loss, "evaluate": scores["loss"], "sizes": sizes}
            self._recorder.returned(site, restored=found)


def _restored(callbacks: Any, history: Any) -> Optional[int]:
    """The index of the epoch whose weights the model has again; None if none were restored."""
    callbacks = getattr(callbacks, "callbacks", callbacks)
    for one in callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]:
        kept = getattr(one, "restore_best_weights", False) and getattr(one, "best_weights", None) is not None
        if kept and (RESTORES_ALWAYS or getattr(one, "stopped_epoch", 0) > 0):
            values = history.history.get(one.monitor)
            if not values:
                return None
            number = getattr(one, "best_epoch", None)
            known = number is not None and number in history.epoch
            return history.epoch.index(number) if known else int(np.argmin(np.abs(np.subtract(values, one.best))))
    return None


def _validated(given: Dict[str, Any]) -> Optional[Tuple[Any, Any]]:
    """(x, y) that fit validated with; None if that is not known, or with weights of samples."""
    if given.get("validation_steps") is not None or given.get("validation_freq", 1) != 1:
        return None
    held_out, split = given.get("validation_data"), float(given.get("validation_split") or 0.0)
    if isinstance(held_out, (list, tuple)):
        return (held_out[0], held_out[1]) if len(held_out) == 2 else None
    x, y = given.get("x"), given.get("y")
    if held_out is None and split and isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        first = int(len(x) * (1 - split))  # as Keras rounds it
        return None if given.get("sample_weight") is not None else (x[first:], y[first:])
    return None if held_out is None else (held_out, None)


def same_data(one: Any, other: Any) -> bool:
    """Whether two arrays are the same, as far as their first rows tell."""
    if one is other:
        return True
    both = isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
    return both and one.shape == other.shape and np.array_equal(one[:64], other[:64])


def same_weights(before: List[Tuple[Any, List[Any]]], now: List[Tuple[Any, List[Any]]]) -> bool:
    """Whether a model still has the weights that it had before."""
    pairs = zip([one for _, values in before for one in values], [one for _, values in now for one in values])
    return all(np.array_equal(one, other) for one, other in pairs)
