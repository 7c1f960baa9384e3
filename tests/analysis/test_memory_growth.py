"""A process that holds more memory after each epoch is told from one that settles, jumps or wavers."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from fake_runs import cell, measured

from kbench.analysis.summaries import summarise
from kbench.analysis.times import memory_growth
from kbench.analysis.times.memory_growth import growth
from kbench.records.values import Measured
from kbench.tables.content import table


def ends(mib: list[float]) -> list[tuple[float, float]]:
    return [(float(number), one) for number, one in enumerate(mib, 1)]


def leaking(by: float, epochs: int, noise: float = 0.0, seed: int = 0) -> list[float]:
    """Memory at the ends of epochs of a process that settles at first, and leaks."""
    drawn = random.Random(seed)
    return [500 + 80 * (1 - 0.3**number) + by * number + drawn.gauss(0, noise) for number in range(1, epochs + 1)]


@pytest.mark.parametrize("epochs", [8, 20, 300, 3000])
def test_five_mib_with_each_epoch_are_found(epochs: int) -> None:
    for seed in range(20):
        found = growth(ends(leaking(5.0, epochs, noise=0.5, seed=seed)))
        assert found is not None and 4.0 < found.mib < 6.0
        assert found.last - found.first == pytest.approx(found.mib * found.count, rel=0.2)


def test_a_small_leak_is_found_when_there_are_many_epochs_and_not_before() -> None:
    assert growth(ends(leaking(0.1, 50))) is None, "7 MiB at most, which allocators take at once"
    found = growth(ends(leaking(0.1, 400)))
    assert found is not None and found.mib == pytest.approx(0.1, rel=0.2)


def settled(epochs: int, draw: random.Random) -> list[float]:
    return [500 + 200 * (1 - 0.6**number) + draw.gauss(0, 2) for number in range(epochs)]


def slow_start(epochs: int, draw: random.Random) -> list[float]:
    return [500 + 30 * math.log(number + 1) + draw.gauss(0, 0.3) for number in range(epochs)]


def jumps(epochs: int, draw: random.Random) -> list[float]:
    at = draw.randrange(epochs)
    return [500 + 128 * (number >= at) + draw.gauss(0, 0.5) for number in range(epochs)]


def wavers(epochs: int, draw: random.Random) -> list[float]:
    return [500 + draw.choice([0, 8, 16, 24]) for _ in range(epochs)]


def saws(epochs: int, draw: random.Random) -> list[float]:
    """Garbage that is collected now and then."""
    return [500 + 6 * (number % 7) for number in range(epochs)]


@pytest.mark.parametrize("epochs", [8, 12, 40, 200])
@pytest.mark.parametrize("program", [settled, slow_start, jumps, wavers, saws])
def test_programs_without_a_leak_are_not_accused(program, epochs: int) -> None:  # type: ignore[no-untyped-def]
    accused = [seed for seed in range(50) if growth(ends(program(epochs, random.Random(seed))))]
    assert not accused


def test_nothing_is_said_of_few_epochs() -> None:
    assert growth(ends(leaking(50.0, 6))) is None and growth([]) is None


@pytest.mark.parametrize(
    ("mib", "grows"),
    [
        ([383.3, 433.8, 468.1, 525.1, 546.6, 566.7], True),
        ([539.2, 559.9, 579.6, 572.4, 590.9, 610.5], True),
        ([435.0, 470.0, 490.0, 509.0], True),
        ([400.0, 500.0, 560.0, 600.0, 620.0, 622.0], False),  # settles
        ([400.0, 500.0, 501.0, 502.0, 600.0, 601.0], False),  # one jump
        ([400.0, 500.0, 470.0, 520.0, 480.0, 530.0], False),  # wavers
    ],
)
def test_of_six_calls_that_each_compile_growth_is_said_as_of_four(mib: list[float], grows: bool) -> None:
    assert (growth(ends(mib), each_compiles=True) is not None) == grows
    assert growth(ends(mib)) is None, "so few tell nothing otherwise"


def row(*mib: float, backend: str = "keras3/jax", **changes: Any) -> Measured:
    return measured(cell(backend=backend, epochs=len(mib), **changes), *([1.0] * len(mib)), resident_mib=[*mib])


def test_the_row_its_note_and_the_answer_say_it_and_others_have_no_such_column() -> None:
    rows = summarise([row(*leaking(5.0, 12)), row(*leaking(0.0, 12), backend="keras3/torch")])
    made = table(rows)
    assert "MiB more each epoch" in made.columns
    by_backend = {one.backend: one for one in rows}
    assert by_backend["keras3/torch"].memory_growth_mib is None
    (note,) = [one for one in by_backend["keras3/jax"].notes if "memory" in one]
    assert note.startswith("its memory grows by 5.0 MiB with each epoch: from 5")
    assert "Memory grows with each epoch on keras3/jax by 5.0 MiB." in made.answer
    without = table(summarise([row(*leaking(0.0, 12)), row(*leaking(0.0, 12), backend="keras3/torch")]))
    assert "MiB more each epoch" not in without.columns and "emory" not in without.answer


@pytest.mark.parametrize(("compilations", "said"), [(1, True), ([1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0], False)])
def test_compiling_again_and_again_is_said_to_be_behind_it(compilations: Any, said: bool) -> None:
    one = measured(cell(epochs=12), *([1.0] * 12), resident_mib=leaking(5.0, 12), compilations=compilations)
    (note,) = [text for row in summarise([one]) for text in row.notes if "its memory grows" in text]
    assert note.endswith("; it compiles again in most of them and keeps what it compiled") == said


def test_most_processes_of_a_row_must_show_it() -> None:
    leak, none = leaking(5.0, 12), leaking(0.0, 12)
    assert memory_growth.of_row([row(*leak), row(*leak, repeat=2), row(*none, repeat=3)]) is not None
    assert memory_growth.of_row([row(*leak), row(*none, repeat=2)]) is None
