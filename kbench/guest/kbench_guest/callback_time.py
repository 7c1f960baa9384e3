"""What callbacks take around the batches of an epoch."""

import functools
import time
from typing import Any, Callable, Iterable, List, Tuple, Type

HOOKS_OF_BATCHES = ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end")


class BatchHooks:
    """The hooks of these callbacks around batches, timed until they are put back. Keras calls no others."""

    def __init__(self, callbacks: Iterable[Any]) -> None:
        self.seconds = 0.0
        self._own: List[Tuple[Any, str, bool, Any]] = []  # callback, hook, whether it is its own, and that
        for callback in callbacks:
            for name in HOOKS_OF_BATCHES:
                inherited = getattr(type(callback), name, None)
                if name in vars(callback) or inherited not in (None, getattr(_base(type(callback)), name, None)):
                    hook = getattr(callback, name)
                    self._own.append((callback, name, name in vars(callback), hook))
                    setattr(callback, name, self._timed(hook))

    def _timed(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(hook)
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return hook(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start

        return timed

    def taken(self) -> float:
        """Seconds since the last call of this."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds

    def put_back(self) -> None:
        """The callbacks are as they were."""
        for callback, name, own, hook in self._own:
            if own:
                setattr(callback, name, hook)
            else:
                vars(callback).pop(name, None)
        self._own = []


def _base(kind: Type[Any]) -> Type[Any]:
    """The class of callbacks that all others are made of."""
    return next((base for base in kind.__mro__ if base.__name__ == "Callback"), object)
