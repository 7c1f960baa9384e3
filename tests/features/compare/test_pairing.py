"""Runs side by side: which rows belong together, what is refused, and the ratios, accuracies and losses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from fake_runs import PROVENANCE, analysis, cell, measured

from kbench.features.compare import pairing, tables
from kbench.features.compare.pairing import ComparedRun
from kbench.features.compare.values import EQUAL, FINGERPRINT, HIGHER, LOWER, MACHINE, WITHIN, About, Pair
from kbench.records.values import (
    FAILED,
    FASTER,
    INTERRUPTED,
    NO_DIFFERENCE,
    NOT_COMPARED,
    SLOWER,
    Cell,
    Interval,
    Measured,
)

LAYERS = {"layers": [["Dense", {"units": 10}, [[784, 10]]]], "parameters": 7850}


def repeats(*per_repeat: Sequence[float], backend: str = "keras3/jax", **more: Any) -> list[Measured]:
    """Cells, each with a slow first epoch and then these steady seconds."""
    facts = {**LAYERS, **more.pop("facts", {})}
    of_cell = {name: more.pop(name) for name in list(more) if name not in ("status", "reason") and "acc" not in name}
    of_cell.pop("loss", None)
    return [
        measured(cell(backend=backend, repeat=number, **of_cell), 9.0, *seconds, facts=facts, **more)
        for number, seconds in enumerate(per_repeat, 1)
    ]


def side(
    letter: str, cells: Sequence[Measured], backend: str = "", provenance: Mapping[str, Any] = PROVENANCE
) -> ComparedRun:
    return pairing.side(About(letter, letter.lower(), "", "", ""), analysis(cells, provenance=provenance), backend)


def beside(one: Sequence[Measured], two: Sequence[Measured], *allowed: str) -> Pair:
    (pair,) = pairing.pairs([side("A", one), side("B", two)], allowed)
    return pair


def test_a_ratio_is_the_other_to_the_first_and_its_interval_gives_the_verdict() -> None:
    pair = beside(repeats([1.0], [1.1], [1.2]), repeats([2.0], [2.2], [2.4]))
    assert (pair.ratio, pair.verdict) == (pytest.approx(2.0), SLOWER)
    assert pair.interval is not None and 1 < pair.interval.low < 2 < pair.interval.high
    assert beside(repeats([2.0], [2.1], [2.2]), repeats([1.0], [1.05], [1.1])).verdict == FASTER
    near = beside(repeats([1.0, 1.01]), repeats([1.1, 1.11]))
    assert near.verdict == NO_DIFFERENCE


def test_a_run_beside_itself_is_the_same_within_its_intervals_and_its_losses_are_identical() -> None:
    cells = [measured(cell(), 9.0, 1.0, 1.01, facts=LAYERS, loss=[3.0, 2.0, 1.0], val_accuracy=0.5)]
    pair = beside(cells, cells)
    assert (pair.ratio, pair.verdict, pair.accuracy) == (1.0, NO_DIFFERENCE, EQUAL)
    assert (pair.largest_loss_difference, pair.compared_epochs) == (0.0, 3)


def test_a_row_whose_losses_are_no_numbers_has_no_ratio_and_its_losses_are_still_compared() -> None:
    good, lost = (
        [measured(cell(), 9.0, 1.0, 1.01, facts=LAYERS, loss=[3.0, last, last])] for last in (2.0, math.nan)
    )
    both = beside(lost, lost)
    assert (both.ratio, both.verdict, both.refused) == (
        None,
        NOT_COMPARED,
        ("the loss is nan from epoch 2 in A and B",),
    )
    assert (both.largest_loss_difference, both.compared_epochs) == (0.0, 3)
    since = beside(good, lost)
    assert since.refused == ("the loss is nan from epoch 2 in B",) and since.largest_loss_difference == math.inf
    assert pairing.regressions([since], 10.0) == [since], "it learnt before"


def test_losses_are_compared_epoch_by_epoch_between_repeats_with_one_seed() -> None:
    def losing(*losses: float, seed: int = 0) -> list[Measured]:
        return [measured(cell(seed=seed), *[1.0] * len(losses), facts=LAYERS, loss=list(losses))]

    assert beside(losing(3.0, 2.0), losing(3.0, 2.25)).largest_loss_difference == 0.25
    assert beside(losing(3.0, 2.0), losing(3.0, math.nan)).largest_loss_difference == math.inf
    longer = beside(losing(3.0, 2.0), losing(3.0, 2.0, 1.0))
    assert (longer.largest_loss_difference, longer.compared_epochs) == (0.0, 2)
    other_seed = beside(losing(3.0, 2.0), losing(3.0, 2.0, seed=1))
    assert (other_seed.largest_loss_difference, other_seed.compared_epochs) == (None, 0)


def test_another_kernel_of_recurrent_layers_is_said_and_an_unknown_one_is_not() -> None:
    fused, looped, unknown = (repeats([1.0], facts={"recurrent_kernel": one}) for one in ("fused", "loop", ""))
    assert beside(looped, fused).remarks == ("recurrent kernel fused instead of loop",)
    assert beside(unknown, fused).remarks == beside(fused, fused).remarks == ()


def test_single_repeats_of_two_runs_differ_only_beyond_what_processes_do() -> None:
    before = repeats([1.0, 1.0])
    pair = beside(before, repeats([1.08, 1.08]))
    assert (pair.ratio, pair.verdict) == (1.08, NO_DIFFERENCE)
    assert beside(before, repeats([4.0, 4.0])).verdict == SLOWER
    assert beside(repeats(*[[1.0, 1.0]] * 3), repeats(*[[1.15, 1.15]] * 3)).verdict == SLOWER


def test_single_values_have_a_ratio_and_no_interval_so_they_are_not_compared() -> None:
    pair = beside(repeats([1.0]), repeats([3.0]))
    assert (pair.ratio, pair.interval, pair.verdict) == (3.0, None, NOT_COMPARED)
    assert pairing.regressions([pair], 1.1) == []


def test_another_machine_is_refused_with_what_differs_unless_it_is_allowed() -> None:
    other = {**PROVENANCE, "cpu": {"model": "Another processor", "visible": 2}}
    both = [side("A", repeats([1.0, 1.0])), side("B", repeats([2.0, 2.0]), provenance=other)]
    (pair,) = pairing.pairs(both)
    assert (pair.verdict, pair.ratio, pair.kinds) == (NOT_COMPARED, None, (MACHINE,))
    assert pair.refused == ("machine: processor Another processor instead of A processor",)
    (pair,) = pairing.pairs(both, [MACHINE])
    assert (pair.verdict, pair.ratio, pair.refused) == (SLOWER, 2.0, ())
    assert "machine: processor Another processor instead of A processor" in pair.remarks


def test_gpus_count_as_the_machine_where_a_row_ran_on_one() -> None:
    def on(device: str, name: str) -> ComparedRun:
        return side("A", repeats([1.0, 1.0], device=device), provenance={**PROVENANCE, "gpus": [{"name": name}]})

    (pair,) = pairing.pairs([on("gpu:0", "H100"), on("gpu:0", "H200")])
    assert pair.refused == ("machine: GPU H200 instead of H100",)
    (pair,) = pairing.pairs([on("cpu", "H100"), on("cpu", "H200")])
    assert pair.refused == ()
    (pair,) = pairing.pairs([on("cpu", "H100"), on("gpu:0", "H100")])
    assert pair.refused == ("machine: device gpu:0 instead of cpu",)


def test_another_fingerprint_is_refused_with_what_differs_unless_it_is_allowed() -> None:
    one = repeats([1.0, 1.0], facts={"optimizer": {"learning_rate": 0.1}})
    two = repeats([1.0, 1.0], facts={"optimizer": {"learning_rate": 0.2}})
    pair = beside(one, two)
    assert (pair.verdict, pair.kinds) == (NOT_COMPARED, (FINGERPRINT,))
    assert pair.refused == ("fingerprint: another optimizer: learning_rate 0.2 instead of 0.1",)
    assert beside(one, two, FINGERPRINT).ratio == 1.0


def test_what_an_older_run_did_not_tell_is_not_compared_but_one_without_a_fingerprint_is_refused() -> None:
    older, newer = repeats([1.0, 1.0]), repeats([1.0, 1.0], facts={"content_sha256": "ab"})
    assert beside(older, newer).ratio == 1.0
    bare = [measured(cell(backend="keras3/jax"), 9.0, 1.0, 1.0)]
    assert beside(newer, bare).refused == ("fingerprint: none in B",)
    assert beside(bare, newer, FINGERPRINT).ratio == 1.0


def test_where_other_sample_counts_are_allowed_the_time_of_a_sample_is_compared() -> None:
    pair = beside(repeats(*[[1.0, 1.0]] * 3, samples=1000), repeats(*[[4.0, 4.0]] * 3, samples=2000), FINGERPRINT)
    alike = beside(repeats(*[[1.0, 1.0]] * 3), repeats(*[[2.0, 2.0]] * 3))
    assert (pair.ratio, pair.interval) == (alike.ratio, alike.interval)
    assert pair.ratio == 2.0 and pair.interval.low > 1.8 and pair.interval.high < 2.2
    assert "fingerprint: 2,000 samples instead of 1,000" in pair.remarks


def test_a_row_that_failed_is_not_compared_and_says_where_and_why() -> None:
    failed = repeats([1.0, 1.0], status=FAILED, reason="out of memory")
    pair = beside(repeats([1.0, 1.0]), failed)
    assert pair.refused == ("failed in B: out of memory",)
    assert beside(failed, failed).refused == ("failed in A and B: out of memory",)


def test_versions_are_what_people_compare_so_they_are_said_and_not_refused() -> None:
    old, new = ({"keras_version": "3.1", "backend_version": number} for number in ("1.0", "2.0"))
    pair = beside(repeats([1.0, 1.0], facts=old), repeats([1.0, 1.0], facts=new))
    assert pair.remarks == ("version of keras3/jax 2.0 instead of 1.0",)


def test_a_row_that_never_ran_has_no_versions_that_differ() -> None:
    told = {"keras_version": "3.1", "backend_version": "1.0", "form": "unrolled"}
    stopped = [measured(cell(backend="keras3/jax"), status=INTERRUPTED, reason="not started")]
    pair = beside(repeats([1.0, 1.0], facts=told), stopped)
    assert (pair.refused, pair.remarks) == (("interrupted in B: not started",), ())


def test_rows_of_different_backends_are_compared_where_each_side_names_one() -> None:
    cells = [*repeats([1.0, 1.0], backend="keras3/jax"), *repeats([2.0, 2.0], backend="keras3/torch")]
    (pair,) = pairing.pairs([side("A", cells, "keras3/jax"), side("B", cells, "keras3/torch")])
    assert (pair.first and pair.first.backend, pair.other and pair.other.backend) == ("keras3/jax", "keras3/torch")
    assert (pair.ratio, pair.verdict) == (2.0, SLOWER)
    both = pairing.pairs([side("A", cells), side("B", cells, "keras3/torch")])
    assert [pair.other is not None for pair in both] == [False, True]


def test_each_side_is_compared_with_the_first_and_rows_of_one_side_alone_are_kept() -> None:
    found = pairing.pairs(
        [
            side("A", repeats([1.0, 1.0])),
            side("B", [*repeats([2.0, 2.0]), *repeats([1.0, 1.0], example="new")]),
            side("C", repeats([3.0, 3.0])),
        ]
    )
    assert [(pair.side, pair.row.example, pair.ratio) for pair in found] == [
        ("B", "mnist_cnn", 2.0),
        ("C", "mnist_cnn", 3.0),
        ("B", "new", None),
    ]


def test_of_two_layouts_the_like_one_is_taken() -> None:
    def both(first: float, last: float) -> list[Measured]:
        return [
            *repeats([first, first], image_data_format="channels_first"),
            *repeats([last, last], image_data_format="channels_last"),
        ]

    found = pairing.pairs([side("A", both(1.0, 2.0)), side("B", both(4.0, 2.0))])
    assert {pair.row.image_data_format: pair.ratio for pair in found} == {"channels_first": 4.0, "channels_last": 1.0}
    last = repeats([6.0, 6.0], image_data_format="channels_last")
    found = pairing.pairs([side("A", both(1.0, 2.0)), side("B", last)])
    assert [pair.ratio for pair in found] == [None, 3.0], "no row is compared twice"
    other = repeats([6.0, 6.0], image_data_format="channels_first")
    (pair,) = pairing.pairs([side("A", last), side("B", other)])
    assert pair.other is not None and (pair.other.image_data_format, pair.ratio) == ("channels_first", 1.0)


@pytest.mark.parametrize(
    ("values", "word"),
    [([0.8, 0.82], HIGHER), ([0.5, 0.52], LOWER), ([0.7, 0.74], WITHIN), ([0.7, 0.72], EQUAL)],
)
def test_accuracies_differ_where_they_lie_further_apart_than_both_spreads(values: list[float], word: str) -> None:
    def learnt(values: list[float]) -> list[Measured]:
        return [
            measured(cell(repeat=number), 1.0, 1.0, facts=LAYERS, val_accuracy=value)
            for number, value in enumerate(values, 1)
        ]

    assert beside(learnt([0.7, 0.72]), learnt(values)).accuracy == word
    assert beside(learnt([0.7]), learnt([0.9])).accuracy == ""


def test_time_to_accuracy_has_a_ratio_an_interval_and_a_verdict_of_its_own() -> None:
    def learning(seconds: float) -> list[Measured]:
        facts = {**LAYERS, "target": "val_accuracy >= 0.9"}
        return [
            measured(cell(repeat=number), *[seconds] * 3, facts=facts, val_accuracy=[0.1, 0.95, 0.96])
            for number in (1, 2)
        ]

    pair = beside(learning(1.0), learning(2.0))
    assert (pair.target_ratio, pair.target_interval, pair.target_verdict) == (2.0, Interval(2.0, 2.0), SLOWER)


def test_a_regression_is_an_interval_that_lies_above_the_limit_whole() -> None:
    shown = beside(repeats([1.0], [1.0], [1.0]), repeats([1.25], [1.26], [1.25]))
    unsure = beside(repeats([1.0], [1.0], [1.0]), repeats([1.05], [1.2], [1.5]))
    assert unsure.ratio is not None and unsure.ratio > 1.1
    assert pairing.regressions([shown, unsure], 1.1) == [shown]


def test_a_row_that_was_ok_and_failed_since_is_a_regression_and_one_that_was_left_out_is_none() -> None:
    failed = beside(repeats([1.0, 1.0]), repeats([1.0, 1.0], status=FAILED))
    never = beside(repeats([1.0, 1.0], status=FAILED), repeats([1.0, 1.0], status=FAILED))
    left_out = pairing.pairs([side("A", repeats([1.0, 1.0])), side("B", [])])
    assert pairing.regressions([failed, never, *left_out], 1.1) == [failed]


def test_runs_are_compared_at_the_same_point_also_where_only_one_of_them_varies() -> None:
    def swept(size: int) -> Cell:
        varying: dict[str, str | int] = {"batch_size": size, "threads": 2}
        return cell(backend="a/x", batch_size=size, threads=2, axes=varying)

    def side(letter: str, cells: list[Cell]) -> ComparedRun:
        told = [measured(one, 9.0, *[one.batch_size / 32.0] * 3) for one in cells]
        return pairing.side(About(letter, letter, "", "", ""), analysis(told))

    both = [swept(size) for size in (32, 128)]
    found = pairing.pairs([side("A", both), side("B", list(reversed(both)))], ("fingerprint",))
    assert [(pair.first and pair.first.batch_size, pair.ratio) for pair in found] == [(32, 1.0), (128, 1.0)]
    abouts = [About(letter, letter, "", "", "") for letter in "AB"]
    (shown,) = tables.tables(abouts, found)
    assert shown.columns[:2] == ("backend", "batch size") and [row[1] for row in shown.rows] == ["32", "128"]
    alone = cell(backend="a/x", batch_size=128, threads=2)
    first, second = pairing.pairs([side("A", both), side("B", [alone])], ("fingerprint",))
    assert (first.other, second.other and second.other.batch_size) == (None, 128)
