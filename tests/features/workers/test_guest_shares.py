"""What several workers read: each sample of an epoch once, in the step in which one worker reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from guest_modules import alone, guest

from kbench.base import paths

SEVERAL = alone("several", paths.PACKAGE / "features" / "workers" / "guest" / "kbench_workers")


@pytest.fixture
def modules(tmp_path: Path) -> Iterator[list[ModuleType]]:
    with guest(tmp_path, "kbench_workers.shares", "training.feeding", "arrays") as loaded:
        yield loaded


def batches(count: int = 3, size: int = 4) -> list[Any]:
    drawn = np.random.RandomState(0)
    return [
        (drawn.rand(size, 5, 5, 2).astype("float32"), drawn.randint(0, 9, size=size).astype("int32"))
        for _ in range(count)
    ]


def part(batch: Any, rows: slice) -> Any:
    return [one[rows] for one in batch]


def in_all(shares: ModuleType, read: list[Any]) -> int:
    """Of (step, batch)."""
    return int(sum(shares.number_of(step, batch, False) for step, batch in read) % shares.MODULUS)


def test_what_workers_read_adds_up_to_what_one_reads(modules: list[ModuleType]) -> None:
    shares, made = modules[0], batches()
    whole = in_all(shares, list(enumerate(made)))
    parts = [
        in_all(shares, [(step, part(one, rows)) for step, one in enumerate(made)]) for rows in (slice(1), slice(1, 4))
    ]
    assert sum(parts) % shares.MODULUS == whole
    assert parts[0] != parts[1]


def test_the_order_within_a_batch_does_not_matter_and_the_layout_of_images_neither(modules: list[ModuleType]) -> None:
    shares, (one, *_) = modules[0], batches()
    number = shares.number_of(1, one, False)
    assert shares.number_of(1, part(one, slice(None, None, -1)), False) == number
    assert shares.number_of(1, [np.moveaxis(one[0], -1, 1), one[1][:, None]], True) == number


def test_the_order_of_inputs_does_not_matter_but_what_is_input_and_what_target(modules: list[ModuleType]) -> None:
    shares, ((images, classes), *_) = modules[0], batches()
    number = shares.number_of(1, [{"last": images, "first": classes}, classes], False)
    assert shares.number_of(1, [[images, classes], classes], False) == number
    assert shares.number_of(1, [[images], [classes, classes]], False) != number


@pytest.mark.parametrize("wrong", ["twice", "left out", "in another step", "with another target"])
def test_a_sample_that_is_not_read_once_in_its_step_shows(modules: list[ModuleType], wrong: str) -> None:
    shares, made = modules[0], batches()
    whole = in_all(shares, list(enumerate(made)))
    first, second, third = ([one.copy() for one in batch] for batch in made)
    if wrong == "twice":
        first[0][0], first[1][0] = first[0][1], first[1][1]
    elif wrong == "left out":
        first = part(first, slice(1, None))
    elif wrong == "in another step":
        for a, b in zip(first, second, strict=True):
            a[0], b[0] = b[0].copy(), a[0].copy()
    else:
        first[1][[0, 1]] = first[1][0] + 1, first[1][1]
    assert in_all(shares, list(enumerate([first, second, third]))) != whole


@pytest.mark.parametrize("augment", [False, True])
def test_processes_are_fed_their_parts_of_the_batches_of_one(modules: list[ModuleType], augment: bool) -> None:
    _, feeding, arrays = modules
    images = np.arange(10 * 4 * 4, dtype="float32").reshape(10, 4, 4, 1)
    targets = np.arange(10)
    loaded = arrays.Part([images], [targets], None, 10, 1, [], [])
    example = SimpleNamespace(AUGMENTATION={"width_shift": 0.25, "height_shift": 0.25, "horizontal_flip": True})

    def fed(workers: dict[str, int] | None) -> Any:
        spec = {
            "batch_size": 4, "seed": 3, "epochs": 2, "augment": augment, "image_data_format": "channels_last",
            **({"workers": workers} if workers else {}),
        }  # fmt: skip
        return feeding.feed(example, spec, loaded, [targets])

    one, two = fed(None), [fed({"count": 2, "processes": 2, "rank": rank}) for rank in range(2)]
    whole, parts = one.of_epoch(2), [each.of_epoch(2) for each in two]
    assert [given["batch_size"] for given in (whole, *parts)] == [4, 2, 2]
    for name in "xy":
        together = np.concatenate([given[name].reshape(2, 2, *given[name].shape[1:]) for given in parts], axis=1)
        np.testing.assert_array_equal(together.reshape(whole[name].shape), whole[name])
    assert [each.samples for each in two] == [8, 8]
    assert two[1].order_sha256 == one.order_sha256
    np.testing.assert_array_equal(np.concatenate([x.copy() for x, _ in two[1].whole(2)]), whole["x"])


def test_processes_take_their_parts_of_what_an_example_makes(modules: list[ModuleType]) -> None:
    feeding, arrays = modules[1:]
    numbers = np.arange(8, dtype="float32").reshape(8, 1)
    loaded = arrays.Part([numbers], [numbers], None, 8, 1, [], [])
    example = SimpleNamespace(
        batches=lambda x, y, size, seed: ((x[at : at + size], y[at : at + size]) for at in (0, 4))
    )
    spec = {"batch_size": 4, "seed": 3, "input": "vector", "workers": {"count": 2, "processes": 2, "rank": 1}}
    fed = feeding.feed(example, spec, loaded, [numbers])
    given = fed.of_epoch(1)
    assert [x.reshape(-1).tolist() for x, _ in given["generator"]] == [[2, 3], [6, 7]]
    assert given["steps_per_epoch"] == 2
    assert [x.reshape(-1).tolist() for x, _ in fed.whole(1)] == [[0, 1, 2, 3], [4, 5, 6, 7]]


class Counting(SEVERAL.Several):  # type: ignore[misc,name-defined]
    """Two workers in a process, of which one was seen to read what the other should, and to count it."""

    def parts_seen(self) -> Any:
        return {1: [self.batch, [one[:0] for one in self.batch]]}

    def counted(self) -> list[int]:
        return [8, 4]


def test_what_a_framework_shows_counts_more_than_what_it_was_given(modules: list[ModuleType]) -> None:
    shares, made = modules[0], batches(2)
    workers = Counting()
    workers.start({"count": 2, "rank": 0, "processes": 1}, "cpu")
    workers.batch = made[1]
    shared = shares.Shares(workers, False)
    shared.begin(frozenset({1}))
    for step, batch in enumerate(made):
        shared.look(step, batch)
    told = list(shared.found(3, made, loss=0.5))
    halves = [part(made[0], rows) for rows in (slice(2), slice(2, 4))]
    assert [one["samples"] for one in told] == [8, 4]
    assert [one["rank"] for one in told] == [0, 1]
    assert [int(one["read"], 16) for one in told] == [
        in_all(shares, [(0, halves[0]), (1, made[1])]),
        in_all(shares, [(0, halves[1])]),
    ]
    assert {int(one["read_of_all"], 16) for one in told} == {in_all(shares, list(enumerate(made)))}
    assert all("loss" not in one for one in told)  # it is not that of one worker
