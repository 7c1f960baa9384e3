"""What a validation was really given: all of its batches, as a fingerprint."""

import contextlib
import hashlib
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional

from kbench_guest.arrays import images_first
from kbench_guest.training.received import cut, fingerprint, guarded

if TYPE_CHECKING:
    from kbench_guest.frameworks.interface import Framework


def watched(
    framework: "Framework", model: Any, spec: Dict[str, Any], score: Optional[Callable[[], Dict[str, Any]]]
) -> Optional[Callable[[], Dict[str, Any]]]:
    """score, of `validating`, which then also returns "sha256" of what it scored; None if that cannot be seen."""
    if score is None:
        return None
    ask, validated = score, ValidatedData(framework, model, spec)

    def look() -> Dict[str, Any]:
        with validated.of_epoch():
            found = ask()
        found["evaluation_seconds"] -= validated.seconds
        return dict(found, sha256=validated.sha256())

    return look


class ValidatedData:
    """While a model's own functions score samples, it sees these."""

    def __init__(self, framework: "Framework", model: Any, spec: Dict[str, Any]) -> None:
        self._framework, self._model, self._images = framework, model, images_first(spec)
        self._open = False
        self._given: Optional[Dict[str, Any]] = None  # what batches are made of
        self._each: List[Optional[int]] = []  # of each batch, where they are seen one by one
        self.seconds = 0.0  # that this took within the epoch
        framework.validation_hook(model, self._seen)

    @contextlib.contextmanager
    def of_epoch(self) -> Iterator[None]:
        """While it is open, the samples of the epoch are scored."""
        self._given, self._each, self.seconds, self._open = None, [], 0.0, True
        try:
            with self._framework.data_of_fit(self._keep):
                yield
        finally:
            self._open = False

    def _keep(self, given: Dict[str, Any]) -> None:
        self._given = dict(given)

    def _seen(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any) -> Any:
            if self._open:
                began = time.perf_counter()
                found = guarded(self._framework.data_of_step, self._model, args)
                self._each += [] if found is None else [guarded(fingerprint, found, self._images)]
                self.seconds += time.perf_counter() - began
            return function(*args)

        return step

    def sha256(self) -> Optional[str]:
        """Of the epoch that is over; None if its data cannot be seen."""
        found = guarded(self._hash)
        self._given = None
        return found

    def _hash(self) -> Optional[str]:
        given = self._given
        arrays = given is not None and (isinstance(given["x"], (list, tuple, dict)) or hasattr(given["x"], "shape"))
        if given is not None and arrays:
            self._each = [fingerprint(batch, self._images) for batch in cut(given)]
        each = self._each
        return hashlib.sha256(repr(each).encode("ascii")).hexdigest() if each and None not in each else None
