"""What happens to a model around its epochs: its learning rate, whether its weights change without training, and how
many steps its optimizer counts.
"""

import time
import zlib
from typing import TYPE_CHECKING, Any, Dict, List, Optional

import numpy as np

from kbench_guest.clock import EpochClock
from kbench_guest.sketches import norm, plain_numbers
from kbench_guest.training.received import guarded

if TYPE_CHECKING:
    from kbench_guest.frameworks.interface import Framework

BY_SCORES = "ReduceLROnPlateau"
NUMBERS = 4096  # of each weight, evenly spread


class WeightsAndRateWatch:
    """Looks when an epoch begins and when it has ended, outside its time.

    callbacks: the example's. Where one of Keras's own sets the rate by the scores, which backends round differently,
    only the first epoch's rate is told.
    """

    def __init__(self, framework: "Framework", model: Any, callbacks: List[Any]) -> None:
        self._framework, self._model = framework, model
        self._by_scores = any(type(one).__name__ == BY_SCORES for one in callbacks)
        self._epochs = 0
        self._lost = 0
        self._trained: List[np.ndarray] = []  # numbers of the weights that training changes, when last looked at
        self._ended = guarded(self._weights)
        self._updates: Optional[int] = None
        self._found: Dict[str, Any] = {}

    def begins(self) -> None:
        self._epochs += 1
        weights = guarded(self._weights)
        comparable = weights is not None and self._ended is not None
        self._found = {"weights_changed": int(weights != self._ended)} if comparable else {}
        self._found["learning_rate"] = self._rate()
        self._updates = guarded(self._framework.updates, self._model)
        self._began = self._trained

    def ends(self) -> None:
        self._lost = 0
        self._ended = guarded(self._weights)
        self._found["not_finite"] = self._lost or None
        self._found["moved"] = guarded(self._moved)
        self._found["learning_rate_at_end"] = self._rate()
        counted = guarded(self._framework.updates, self._model)
        if counted is not None and self._updates is not None:
            self._found["updates"] = counted - self._updates

    def found(self) -> Dict[str, Any]:
        """{"weights_changed", "learning_rate", "learning_rate_at_end", "updates", "not_finite", "moved"} of the epoch
        that is over, as far as they are known. not_finite: the number of weights with what is no number, if there are
        any; moved: how far it moved each weight that training changes.
        """
        return {name: value for name, value in self._found.items() if value is not None}

    def _weights(self) -> int:
        digest, trained, self._trained = 0, self._are_trained(), []
        for place, value in enumerate(self._framework.all_weights(self._model)):
            flat = np.asarray(value).reshape(-1)
            is_float = flat.dtype.kind == "f"
            self._lost += is_float and not np.isfinite(flat).all()
            some = flat[:: max(1, flat.size // NUMBERS)]
            digest = zlib.crc32(some.tobytes(), digest)
            if is_float and (trained is None or trained[place]):
                self._trained.append(some.astype("float64"))
        return digest

    def _are_trained(self) -> Optional[List[bool]]:
        """Of each weight, whether training changes it; None where all are such."""
        trained = getattr(self._model, "trainable_weights", None)
        known = {id(one) for one in trained or ()}
        return None if trained is None else [id(one) in known for one in self._model.weights]

    def _moved(self) -> List[Optional[float]]:
        moved = [norm(after - before) for before, after in zip(self._began, self._trained)]
        found: List[Optional[float]] = plain_numbers(moved)
        return found

    def _rate(self) -> Optional[float]:
        if self._by_scores and self._epochs > 1:
            return None
        rate = guarded(self._framework.learning_rate, self._model)
        return float(rate) if isinstance(rate, (int, float)) else None  # a schedule does not change


class ClockBetween(EpochClock):
    """An EpochClock that lets a WeightsAndRateWatch look; `before` and `after` the epoch are the seconds for it."""

    def __init__(self, framework: "Framework", model: Any, between: WeightsAndRateWatch) -> None:
        super().__init__(framework, model)
        self._between = between

    def begin(self, epoch: int, logs: Any = None) -> None:
        began = time.perf_counter()
        self._between.begins()
        super().begin(epoch)
        self.before = self.start - began

    def finish(self, epoch: int, logs: Any = None) -> None:
        super().finish(epoch)
        self._between.ends()
        self.after = time.perf_counter() - self.end
