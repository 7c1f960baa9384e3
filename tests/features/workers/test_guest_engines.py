"""Which engine lets several workers train together: that of the framework's interface."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from framework_answers import classes
from guest_modules import guest

from kbench import hooks

FRAMEWORKS = ("keras2_mxnet", "keras2_tensorflow2", "keras3_jax", "keras3_tensorflow", "keras3_torch")
MODULES = (*(f"kbench_guest.frameworks.{name}" for name in FRAMEWORKS), "kbench_native.framework")


def of(count: int, batch_size: int) -> dict[str, Any]:
    """The spec of the first of so many workers, as a cell's."""
    workers = {
        "count": count, "rank": 0, "processes": 1, "addresses": [],
        "driver": "kbench_workers.engines", "folders": [str(hooks.guest_folder("workers"))],
    }  # fmt: skip
    return {"workers": workers, "batch_size": batch_size, "device": "cpu"}


def test_several_workers_cannot_divide_every_batch(tmp_path: Path) -> None:
    with guest(tmp_path, "frameworks.interface", "protocol") as (interface, protocol):
        framework = interface.Framework()
        with pytest.raises(protocol.Refused, match="a batch of 128 cannot be divided among 3 workers"):
            framework.start_workers(of(3, 128))
        with pytest.raises(protocol.Refused, match="kbench does not train with several workers on it"):
            framework.start_workers(of(3, 129))


def test_an_engine_is_of_an_interface_that_there_is(tmp_path: Path) -> None:
    known = {f"{made.__module__}.{made.__qualname__}" for made in classes(tmp_path, MODULES).values()}
    with guest(tmp_path, "kbench_workers.engines") as (engines,):
        assert {*engines.ENGINES} <= known and len(engines.ENGINES) == 8


def test_what_stands_on_a_framework_has_its_engine(tmp_path: Path) -> None:
    with guest(tmp_path, "kbench_workers.engines", "frameworks.keras3_jax") as (engines, keras3_jax):
        started: list[Any] = []
        engines.ENGINES["kbench_guest.frameworks.keras3_jax.JAX"] = lambda module, count: SimpleNamespace(
            start=lambda *given: started.append((module, count, *given))
        )
        kind: Any = type("OnJAX", (keras3_jax.JAX,), {"module": "a module", "__init__": lambda self: None})
        spec = of(2, 128)
        kind().start_workers(spec)
        assert started == [("a module", 1, spec["workers"], "cpu")]


def test_keras_2_and_3_on_tensorflow_divide_a_single_step_otherwise(tmp_path: Path) -> None:
    """Keras 3's `train_on_batch` gives each worker the whole batch."""
    with guest(tmp_path, "kbench_workers.engines") as (engines,):
        for name, copied in (("keras3_tensorflow", True), ("keras2_tensorflow2", False)):
            made = engines.ENGINES[f"kbench_guest.frameworks.{name}.TensorFlow2"]
            assert [made(None, count).copy_steps for count in (1, 2)] == [copied, copied]
