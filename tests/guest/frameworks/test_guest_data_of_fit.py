"""What Keras 3 makes the batches of a fit of is seen, and may be replaced."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from guest_modules import guest


class EpochIterator:
    """As Keras's: what its fit is given, by place or by name."""

    def __init__(self, x: Any, y: Any = None, batch_size: int | None = None) -> None:
        self.given = x, y, batch_size


@pytest.mark.parametrize("by_name", [False, True])
def test_what_fit_is_given_is_seen_and_may_be_replaced_however_it_is_given(tmp_path: Path, by_name: bool) -> None:
    module: Any = ModuleType("keras.src.trainers.epoch_iterator")
    module.EpochIterator = EpochIterator
    seen: list[Any] = []

    def see(given: dict[str, Any]) -> None:
        seen.append((given["x"], given["y"], given["batch_size"]))
        given["x"] = "replaced"

    with guest(tmp_path, "frameworks.keras3") as (keras3,), mock.patch.dict("sys.modules", {module.__name__: module}):
        with keras3.Keras3().data_of_fit(see):
            made = EpochIterator(x="own", y="labels") if by_name else EpochIterator("own", "labels")
        after = EpochIterator("own", "labels")
    assert seen == [("own", "labels", None)]
    assert made.given == ("replaced", "labels", None) and after.given == ("own", "labels", None)
