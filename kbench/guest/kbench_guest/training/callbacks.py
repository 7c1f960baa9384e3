"""The callbacks of an example, to which a training of epoch after epoch is one training."""

from typing import Any, Dict, Iterable, Optional

from kbench_guest.callback_time import BatchHooks

HOOKS = ("on_train_begin", "on_train_end", "on_epoch_begin", "on_epoch_end")


class Callbacks:
    """The callbacks of an example. kbench trains epoch by epoch; to them it is one training with validation.

    The time that they take between epochs is not in any epoch's time; what they take around batches is, and `taken`.
    """

    def __init__(self, made: Iterable[Any], model: Any) -> None:
        self.made = list(made)
        self._model = model
        self._hooks = [{name: getattr(callback, name) for name in HOOKS} for callback in self.made]
        for callback in self.made:
            for name in HOOKS:
                setattr(callback, name, _nothing)
        self._around_batches = BatchHooks(self.made)

    def taken(self) -> Optional[float]:
        """Seconds that they took around the batches of the epoch that is over; None if they do nothing there."""
        return self._around_batches.taken() or None

    def _call(self, name: str, *args: Any) -> None:
        for callback, hooks in zip(self.made, self._hooks):
            callback.set_model(self._model)
            hooks[name](*args)

    def begin(self, epoch: int) -> None:
        """The epoch begins; the first one is 1."""
        if epoch == 1:
            self._model.stop_training = False
            self._call("on_train_begin", {})
        self._call("on_epoch_begin", epoch - 1, {})

    def end(self, epoch: int, logs: Dict[str, Any], last: bool) -> bool:
        """The epoch is over, and the training too if it is the last; returns whether they stop it."""
        if not self.made:
            return False
        self._call("on_epoch_end", epoch - 1, logs)
        stops = bool(self._model.stop_training)
        if stops or last:
            self._call("on_train_end", logs)
        return stops


def _nothing(*args: Any, **kwargs: Any) -> None:
    pass
