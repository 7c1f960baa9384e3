"""What training was given: hashed alike in both generations of Keras, whatever the batches come from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from guest_modules import guest

SPEC = {"seed": 3, "input": "image", "image_data_format": "channels_last"}
PICTURES = np.random.RandomState(0).uniform(size=(24, 4, 5, 3)).astype("float32")
NUMBERS = np.arange(24) % 3
ONE_HOT = np.eye(3, dtype="float32")[NUMBERS]


@pytest.fixture
def received(tmp_path: Path) -> Iterator[ModuleType]:
    with guest(tmp_path, "training.received") as (module,):
        yield module


def by_steps(module: ModuleType, x: Any, y: Any, weights: Any = None, **spec: Any) -> dict[str, Any]:
    """As Keras 2 and twins show it: each step's arrays."""
    framework = SimpleNamespace(
        data_of_fit=lambda see: contextlib.nullcontext(), data_of_step=lambda model, args: args, steps_of_a_call=int
    )
    looked = module.ReceivedData(framework, 1, {**SPEC, **spec}, 6)
    with looked.of_epoch(1):
        for number in range(6):
            at = slice(4 * number, 4 * number + 4)
            looked.step(number, ([x[at]], [y[at]], [] if weights is None else [weights[at]]))
    return looked.found(6)  # type: ignore[no-any-return]


def by_fit(module: ModuleType, calls: int | None = 6, **given: Any) -> dict[str, Any]:
    """As Keras 3 shows it: what it makes batches of."""

    @contextlib.contextmanager
    def data_of_fit(see: Any) -> Iterator[None]:
        see(given)
        yield

    framework = SimpleNamespace(data_of_fit=data_of_fit, steps_of_a_call=lambda model: 1)
    looked = module.ReceivedData(framework, None, SPEC, 6)
    with looked.of_epoch(1):
        x = given["x"]
        for number in range(len(x)) if hasattr(x, "__len__") else ():
            x[number]
        for _ in x if hasattr(x, "__next__") else ():
            pass
    return looked.found(calls)  # type: ignore[no-any-return]


def batches(x: Any, y: Any) -> list[Any]:
    return [(x[at : at + 4], y[at : at + 4]) for at in range(0, 24, 4)]


class Sequence:
    def __init__(self, made: list[Any]) -> None:
        self.made = made

    def __len__(self) -> int:
        return len(self.made)

    def __getitem__(self, number: int) -> Any:
        return self.made[number]


def test_without_a_step_that_was_seen_there_is_no_number_of_steps_and_still_a_hash(received: ModuleType) -> None:
    seen = by_fit(received, x=PICTURES, y=ONE_HOT, batch_size=4)
    assert by_fit(received, calls=None, x=PICTURES, y=ONE_HOT, batch_size=4) == {"sha256": seen["sha256"]}


def test_the_same_batches_have_one_hash_wherever_they_are_seen(received: ModuleType) -> None:
    usual = by_steps(received, PICTURES, ONE_HOT)
    assert (usual["steps"], usual["samples"], len(usual["sha256"])) == (6, 24, 64)
    assert by_steps(received, PICTURES, NUMBERS[:, None]) == usual, "a twin takes class numbers"
    assert by_steps(received, PICTURES.astype("float64"), ONE_HOT, np.ones(24)) == usual, "Keras 2 makes weights of 1"
    first = np.moveaxis(PICTURES, 3, 1)
    assert by_steps(received, first, ONE_HOT, image_data_format="channels_first") == usual
    assert by_fit(received, x=PICTURES, y=ONE_HOT, batch_size=4) == usual
    assert by_fit(received, x=iter(batches(PICTURES, ONE_HOT))) == usual
    assert by_fit(received, x=Sequence(batches(PICTURES, ONE_HOT))) == usual


def test_other_data_targets_weights_or_orders_have_another(received: ModuleType) -> None:
    found = [
        by_steps(received, PICTURES, NUMBERS),
        by_steps(received, PICTURES * 0, NUMBERS),
        by_steps(received, PICTURES, NUMBERS[::-1]),
        by_steps(received, PICTURES, NUMBERS, np.full(24, 0.5)),
        by_fit(received, x=PICTURES, y=NUMBERS, batch_size=4, class_weight={0: 2.0}),
        by_fit(received, x=PICTURES, y=NUMBERS, batch_size=4, shuffle=True),
        by_fit(received, x=iter(batches(PICTURES[::-1], NUMBERS))),
    ]
    assert len({one["sha256"] for one in found}) == len(found)
    assert all(one["samples"] == 24 for one in found)


def test_every_batch_counts_whatever_it_comes_from(received: ModuleType) -> None:
    def found(x: Any, y: Any) -> set[str]:
        made = batches(x, y)
        every = [by_steps(received, x, y), by_fit(received, x=x, y=y, batch_size=4), by_fit(received, x=iter(made))]
        return {one["sha256"] for one in every}

    usual = found(PICTURES, NUMBERS)
    for number in range(6):
        at = slice(4 * number, 4 * number + 4)
        pictures, numbers, mirrored = PICTURES.copy(), NUMBERS.copy(), PICTURES.copy()
        numbers[at] = numbers[at][::-1]
        pictures[at.start, 0, 0, 0] += 0.001
        mirrored[at] = mirrored[at][:, ::-1]
        others = found(pictures, NUMBERS), found(PICTURES, numbers), found(mirrored, NUMBERS)
        assert [len(one) for one in (usual, *others)] == [1] * 4
        assert len(usual.union(*others)) == 4


def test_steps_of_arrays_are_looked_at_where_no_program_expects_it(received: ModuleType) -> None:
    framework = SimpleNamespace(
        data_of_fit=lambda see: contextlib.nullcontext(), data_of_step=lambda model, args: args, steps_of_a_call=int
    )
    given = {"x": PICTURES, "y": NUMBERS, "batch_size": 4}
    hashes = set()
    for other in (0.0, 1.0):
        looked = received.ReceivedData(framework, 1, SPEC, 6)
        with looked.of_epoch(1, given):
            for number, (x, y) in enumerate(batches(PICTURES, NUMBERS)):
                looked.step(number, ([x + other], [y], []))
        hashes.add(looked.found(6)["sha256"])
    assert len(hashes) == 2


def test_batches_that_a_backend_asks_for_and_does_not_train_are_not_counted(received: ModuleType) -> None:
    more = [*batches(PICTURES, NUMBERS), *batches(PICTURES, NUMBERS)]
    assert by_fit(received, x=iter(more)) == by_steps(received, PICTURES, NUMBERS)
    few = {by_fit(received, calls=3, x=iter(made))["sha256"] for made in (more, more[:3], more[:5])}
    assert len(few) == 1


def test_a_partial_last_batch_is_counted_and_seen(received: ModuleType) -> None:
    whole = by_fit(received, x=PICTURES, y=ONE_HOT, batch_size=4)
    partial = by_fit(received, x=PICTURES[:22], y=ONE_HOT[:22], batch_size=4)
    assert (partial["steps"], partial["samples"]) == (6, 22)
    assert partial["sha256"] != whole["sha256"]
    assert partial == by_fit(received, x=iter([*batches(PICTURES, ONE_HOT)[:5], (PICTURES[20:22], ONE_HOT[20:22])]))


def test_weights_of_classes_are_those_of_their_samples(received: ModuleType) -> None:
    weighted = np.where(NUMBERS == 0, 2.0, 1.0)
    by_class = by_fit(received, x=PICTURES, y=ONE_HOT, batch_size=4, class_weight={0: 2.0, 1: 1.0, 2: 1.0})
    assert by_class == by_steps(received, PICTURES, ONE_HOT, weighted)
    assert by_class == by_fit(received, x=PICTURES, y=ONE_HOT, batch_size=4, class_weight={0: 2.0}), (
        "the others' is 1"
    )


def test_a_generator_may_fill_the_same_arrays_again(received: ModuleType) -> None:
    def again() -> Iterator[Any]:
        buffer = np.empty((4, 4, 5, 3), "float32")
        for x, y in batches(PICTURES, ONE_HOT):
            buffer[...] = x
            yield buffer, y

    assert by_fit(received, x=again()) == by_steps(received, PICTURES, ONE_HOT)


def test_steps_are_counted_as_they_were(received: ModuleType) -> None:
    assert by_fit(received, calls=2, x=PICTURES, y=ONE_HOT, batch_size=4)["samples"] == 8
    nothing = by_fit(received, calls=0, x=PICTURES, y=ONE_HOT, batch_size=4)
    assert (nothing["steps"], nothing["samples"]) == (0, 0)


def test_what_cannot_be_looked_at_fails_nothing(received: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert by_fit(received, x=object()) == {"steps": 6}
    assert by_fit(received, x=PICTURES, y="targets", batch_size=4)["steps"] == 6
    assert by_fit(received, y=NUMBERS, x=iter([])) == {"steps": 6}
