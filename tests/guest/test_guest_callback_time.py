"""The hooks of callbacks around batches are timed, and put back."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from guest_modules import guest


class Callback:
    def on_batch_end(self, batch: int, logs: Any = None) -> None: ...
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None: ...


class Slow(Callback):
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        time.sleep(0.01)


def test_overridden_hooks_are_timed_until_they_are_put_back(tmp_path: Path) -> None:
    slow, plain, given = Slow(), Callback(), Callback()
    own = lambda batch, logs=None: time.sleep(0.02)  # noqa: E731
    given.on_batch_end = own  # type: ignore[method-assign]
    with guest(tmp_path, "callback_time") as (callback_time,):
        hooks = callback_time.BatchHooks([slow, plain, given])
        assert not vars(plain), "Keras calls no hooks that nobody overrides"
        slow.on_train_batch_end(0)
        given.on_batch_end(0)
        assert hooks.taken() >= 0.03
        assert hooks.taken() == 0
        hooks.put_back()
    assert not vars(slow) and vars(given) == {"on_batch_end": own}
