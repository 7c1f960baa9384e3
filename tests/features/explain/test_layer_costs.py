"""What the parts of a step cost, and which of them make one backend slower than another."""

from __future__ import annotations

import math
import random
from statistics import median

import pytest

from kbench.features.explain import layer_costs
from kbench.features.explain.events import Inside, PartOfStep
from kbench.features.explain.layer_costs import BETWEEN, INPUT, LOOP, OPTIMIZER, Costs

ROUNDS = 9


def looked_into(
    layers: dict[str, float], *, whole: float, optimizer: float, fit: float, seed: int = 0, noise: float = 0.02
) -> Inside:
    """Parts of so many milliseconds, give or take the noise; a layer's class is its name without digits."""
    drawn = random.Random(seed)

    def part(kind: str, name: str, milliseconds: float) -> PartOfStep:
        seconds = tuple(math.exp(drawn.gauss(0, noise)) * milliseconds / 1000 for _ in range(ROUNDS))
        return PartOfStep(kind, name, name.rstrip("0123456789").title(), seconds)  # type: ignore[arg-type]

    parts = [part("layer", name, value) for name, value in layers.items()]
    rest = {"whole": whole, "optimizer": optimizer, "nothing": 0.1, "fit": fit}
    return Inside("", (*parts, *(part(kind, "", value) for kind, value in rest.items())))


def costs(layers: dict[str, float], step: float = 0.0, seed: int = 0, **changes: float) -> Costs:
    whole = changes.get("whole", sum(layers.values()) + 1)
    rest = {"whole": whole, "optimizer": changes.get("optimizer", 1.0)}
    fit = changes.get("fit", whole + rest["optimizer"] + 1)
    found = layer_costs.of(looked_into(layers, **rest, fit=fit, seed=seed), [step / 1000] * 3 if step else [])
    assert found is not None
    return found


def test_the_parts_add_up_to_a_step() -> None:
    found = costs({"dense1": 2.0, "dense2": 3.0, "norm": 4.0}, step=15.0)
    assert found.step == pytest.approx(0.015, rel=0.02)
    assert list(found.layers) == [("Dense", 1), ("Dense", 2), ("Norm", 1)]
    assert {name: 1000 * median(rounds) for name, rounds in found.rest.items()} == pytest.approx(
        {BETWEEN: 1.2, OPTIMIZER: 0.9, LOOP: 1.1, INPUT: 3.0}, abs=0.4
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("whole", [4.0, 8.0, 12.0])  # fused or not
def test_the_parts_add_up_to_a_step_on_a_busy_machine(whole: float, seed: int) -> None:
    layers = {"dense1": 2.0, "dense2": 3.0, "norm": 4.0}
    inside = looked_into(layers, whole=whole, optimizer=2.0, fit=whole + 3, seed=seed, noise=1.0)
    found = layer_costs.of(inside, [0.02, 0.021, 0.022])
    assert found is not None and found.step == pytest.approx(0.021, rel=1e-6)


def test_an_optimizer_that_takes_longer_alone_than_in_a_step_leaves_nothing() -> None:
    inside = looked_into({"dense": 2.0}, whole=4.0, optimizer=3.0, fit=5.0)
    found = layer_costs.of(inside, [])
    assert found is not None and median(found.rest[LOOP]) == pytest.approx(0, abs=1e-12)
    assert 1000 * median(found.rest[OPTIMIZER]) == pytest.approx(1.1, abs=0.2)


def test_what_a_call_costs_by_itself_is_no_part_of_a_layer() -> None:
    assert 1000 * median(costs({"dense": 2.0}).layers["Dense", 1]) == pytest.approx(1.9, rel=0.03)


def test_layers_that_a_compiler_fuses_share_what_they_take_together() -> None:
    found = costs({"conv": 6.0, "norm": 3.0, "relu": 3.0}, whole=6.1)
    assert 1000 * median(found.layers["Conv", 1]) == pytest.approx(3.0, rel=0.05)
    assert median(found.rest[BETWEEN]) == 0


def test_a_layer_that_is_called_twice_is_one_layer() -> None:
    once = looked_into({"dense": 2.0}, whole=5, optimizer=1, fit=7)
    both = Inside("", (once.parts[0], *once.parts))
    found = layer_costs.of(both, [])
    assert found is not None and 1000 * median(found.layers["Dense", 1]) == pytest.approx(3.8, rel=0.03)


@pytest.mark.parametrize("place", range(10))
def test_a_slow_layer_is_named_wherever_it_is(place: int) -> None:
    layers = {f"dense{number}": 1.0 + number for number in range(8)} | {"norm": 2.0, "slow": 0.5}
    planted = list(layers)[place]
    fast, slow = costs(layers, seed=1), costs({**layers, planted: layers[planted] + 20}, seed=2)
    between = slow.step - fast.step
    first, *others = layer_costs.more(slow, fast, between)
    assert first.part.startswith(f"{planted} (") and not others
    assert first.seconds == pytest.approx(between, rel=0.1)
    assert first.interval.low < 0.020 < first.interval.high + 0.001


def test_layers_of_a_class_are_one_part_if_none_of_them_stands_out() -> None:
    fast, slow = (
        costs(dict.fromkeys(("norm1", "norm2", "norm3"), 1.0)),
        costs(dict.fromkeys(("norm1", "norm2", "norm3"), 3.0), seed=1),
    )
    (found,) = layer_costs.more(slow, fast, 0.006)
    assert found.part == "3 Norm layers" and found.seconds == pytest.approx(0.006, rel=0.05)


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_named_between_equals(seed: int) -> None:
    layers = {f"dense{number}": 1.0 + number for number in range(6)}
    one, other = costs(layers, seed=2 * seed), costs(layers, seed=2 * seed + 1)
    assert layer_costs.more(one, other, abs(one.step - other.step)) == []


def test_what_is_outside_the_layers_is_named_too() -> None:
    fast, slow = costs({"dense": 2.0}, step=6.0), costs({"dense": 2.0}, optimizer=9.0, step=30.0, seed=1)
    assert [one.part for one in layer_costs.more(slow, fast, 0.024)] == [INPUT, OPTIMIZER]


def test_without_layers_there_are_no_costs() -> None:
    assert layer_costs.of(Inside("", (), ("its layers cannot be run alone",)), [0.1]) is None


def test_parts_of_a_step_that_was_far_slower_than_in_the_run_explain_nothing() -> None:
    busy, usual = costs({"dense1": 20.0}, step=10.0), costs({"dense1": 5.0}, step=10.0)
    assert not busy.fits_into(0.010) and usual.fits_into(0.010)
    assert busy.fits_into(0.010, between=20 * busy.timed), "what is little beside the difference counts for nothing"
    waits = costs({"dense1": 5.0}, step=50.0)  # for its data, which were in memory when its parts were timed
    assert waits.fits_into(0.050) and 1000 * median(waits.rest[INPUT]) > 40
