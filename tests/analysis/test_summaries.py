"""Summaries against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from fake_runs import cell, measured
from hypothesis import given
from hypothesis import strategies as st

from kbench.analysis.summaries import summarise
from kbench.records.values import FAILED, FASTEST, INTERRUPTED, OK, STATUSES, TIMEOUT, UNSUPPORTED, Measured, Outcome
from kbench.summary import Summary
from kbench.tables.answers import answer, headline


def test_steady_time_is_that_of_all_but_the_first_epoch_of_a_process() -> None:
    (row,) = summarise([measured(cell(samples=500), 10.0, 2.0, 3.0, 4.0, 8.0)])
    assert (row.epoch_seconds, row.first_epoch_seconds, row.repeats) == (3.5, 10.0, 1)
    assert row.seconds_per_1000_samples == 7.0
    assert row.samples_per_second == pytest.approx((500 / 3 + 500 / 4) / 2)
    assert row.relative_to_fastest == 1.0


def test_steady_time_of_several_processes_is_their_level() -> None:
    (row,) = summarise([measured(cell(repeat=n), 10.0 * n, each, each, each) for n, each in ((1, 2.0), (2, 2.1))])
    assert row.epoch_seconds == pytest.approx(math.sqrt(2.0 * 2.1), rel=1e-6)
    assert (row.first_epoch_seconds, row.repeats) == (15.0, 2)
    (row,) = summarise(
        [measured(cell(repeat=n), 9.0, each, each) for n, each in enumerate((2.0, 2.02, 1.98, 2, 4), 1)]
    )
    assert row.epoch_seconds == pytest.approx(2.0, rel=0.02), "an odd one hardly counts"


def test_a_single_epoch_gives_no_steady_figure() -> None:
    (row,) = summarise([measured(cell(epochs=1), 5.0)])
    assert row.first_epoch_seconds == 5.0
    assert row.epoch_seconds is None
    assert row.samples_per_second is None
    assert row.relative_to_fastest is None


def test_the_first_epoch_is_known_by_its_number() -> None:
    lost_first = measured(cell(), 9.0, 2.0, 3.0).epochs[1:]
    (row,) = summarise([Measured(cell(), Outcome(OK), lost_first)])
    assert (row.first_epoch_seconds, row.epoch_seconds) == (None, 2.5)


def test_ratios_are_to_the_fastest_of_the_same_example_and_device() -> None:
    rows = summarise(
        [
            measured(cell(backend="keras3/torch"), 9.0, 3.0),
            measured(cell(backend="keras2/cntk"), 9.0, 2.0),
            measured(cell(backend="keras3/torch", device="gpu:0"), 9.0, 0.5),
            measured(cell(backend="keras3/torch", example="mnist_mlp"), 9.0, 1.0),
        ]
    )
    ratios = {(row.example, row.backend, row.device): row.relative_to_fastest for row in rows}
    assert ratios == {
        ("mnist_cnn", "keras3/torch", "cpu"): 1.5,
        ("mnist_cnn", "keras2/cntk", "cpu"): 1.0,
        ("mnist_cnn", "keras3/torch", "gpu:0"): 1.0,
        ("mnist_mlp", "keras3/torch", "cpu"): 1.0,
    }


def test_two_that_tie_are_both_fastest_and_stand_in_order_of_name() -> None:
    rows = summarise([measured(cell(backend=name), 9.0, 2.0) for name in ("keras3/jax", "keras2/cntk")])
    assert [(row.backend, row.relative_to_fastest, row.verdict) for row in rows] == [
        ("keras2/cntk", 1.0, FASTEST),
        ("keras3/jax", 1.0, FASTEST),
    ]


def test_every_place_that_names_the_fastest_names_all_that_tie() -> None:
    rows = summarise([measured(cell(backend=name), 9.0, 2.0, 2.0) for name in ("keras3/jax", "keras2/cntk")])
    assert [row.relative_interval for row in rows] == [None, None]
    assert headline(rows) == "keras2/cntk and keras3/jax were fastest. All 2 rows were measured."
    assert answer(rows) == "mnist_cnn trains fastest on keras2/cntk and keras3/jax: 2.00 s an epoch."
    slower = summarise([measured(cell(backend=b), 9.0, s, s) for b, s in (("a/x", 2.0), ("a/y", 2.0), ("a/z", 3.0))])
    assert answer(slower) == (
        "mnist_cnn trains fastest on a/x and a/y: 2.00 s an epoch. a/z takes 1.50 times as long (1.28 to 1.76)."
    )


def test_rows_stand_fastest_first_and_those_not_ok_last_in_the_order_of_examples_given() -> None:
    rows = summarise(
        [
            measured(cell("b", "slow"), 9.0, 3.0),
            measured(cell("b", "broken"), 1.0, 1.0, status=FAILED, reason="boom"),
            measured(cell("a", "slow"), 9.0, 3.0),
            measured(cell("b", "unable"), status=UNSUPPORTED, reason="no"),
            measured(cell("b", "quick"), 9.0, 2.0),
        ]
    )
    assert [(row.example, row.backend) for row in rows] == [
        ("b", "quick"),
        ("b", "slow"),
        ("b", "unable"),
        ("b", "broken"),
        ("a", "slow"),
    ]


def test_a_failed_repeat_marks_the_row_and_lends_it_no_number() -> None:
    rows = summarise(
        [
            measured(cell(repeat=1), 10.0, 2.0, val_accuracy=0.5),
            measured(cell(repeat=2), 1.0, 0.1, val_accuracy=0.1, status=TIMEOUT, reason="after 600 s"),
            measured(cell(backend="keras3/jax"), 9.0, 4.0),
        ]
    )
    assert [row.backend for row in rows] == ["keras3/jax", "keras2/cntk"]
    row = rows[1]
    assert (row.status, row.reason, row.repeats) == (TIMEOUT, "repeat 2: after 600 s", 1)
    assert (row.epoch_seconds, row.final_val_accuracy) == (2.0, 0.5)
    assert row.relative_to_fastest is None
    assert rows[0].relative_to_fastest == 1.0


def test_where_all_repeats_failed_there_are_reasons_and_no_figures() -> None:
    (row,) = summarise([measured(cell(repeat=n), 1.0, 1.0, status=FAILED, reason="boom") for n in (1, 2)])
    assert (row.status, row.reason, row.repeats) == (FAILED, "boom", 0)
    assert (row.epoch_seconds, row.first_epoch_seconds, row.final_loss) == (None, None, None)


def test_final_figures_are_the_last_epochs_mean_over_repeats() -> None:
    (row,) = summarise(
        [
            measured(cell(repeat=1), 1.0, 1.0, loss=[9.0, 0.25], val_accuracy=[0.0, 0.5]),
            measured(cell(repeat=2), 1.0, 1.0, loss=[9.0, 0.75], val_accuracy=[0.0, 1.0]),
        ]
    )
    assert (row.final_loss, row.final_val_accuracy) == (0.5, 0.75)
    assert row.final_accuracy is None


def test_a_diverged_loss_is_not_averaged_away() -> None:
    (row,) = summarise([measured(cell(repeat=n), 1.0, 1.0, loss=loss) for n, loss in ((1, math.inf), (2, -math.inf))])
    assert row.final_loss is not None
    assert math.isnan(row.final_loss)


def test_facts_phases_and_notes_reach_the_row() -> None:
    facts = {"keras_version": "2.2.4", "backend_version": "2.7", "parameters": 7, "form": "unrolled"}
    (row,) = summarise(
        [
            measured(cell(repeat=1), 1.0, phases={"import": 1.0}, facts={**facts, "notes": ["odd"]}),
            measured(cell(repeat=2), 1.0, phases={"import": 3.0}, facts={"notes": ["odd"], "events_damaged": 1}),
        ]
    )
    assert (row.keras_version, row.backend_version, row.parameters) == ("2.2.4", "2.7", 7)
    assert row.form == "unrolled"
    assert row.phases == {"import": 2.0}
    assert row.notes == ("odd", "1 damaged line left out of what was measured")


def test_memory_on_a_gpu_is_the_median_of_the_repeats_that_ended_ok() -> None:
    def repeat(number: int, mib: float | None, source: str, **changes: Any) -> Measured:
        one = measured(cell(repeat=number), 1.0, 1.0, **changes)
        return replace(one, outcome=replace(one.outcome, device_memory_mib=mib, device_memory_source=source))

    peak = {"facts": {"allocator_peak_mib": 5.0}}
    (row,) = summarise([repeat(1, 8.0, "process", **peak), repeat(2, 6.0, "process"), repeat(3, None, "")])
    assert (row.device_memory_mib, row.device_memory_source, row.allocator_peak_mib) == (7.0, "process", 5.0)
    (row,) = summarise([repeat(1, 8.0, "process"), repeat(2, 6.0, "device")])
    assert row.device_memory_source == "device and process"
    (row,) = summarise([repeat(1, 8.0, "process", status="failed", **peak)])
    assert (row.device_memory_mib, row.device_memory_source, row.allocator_peak_mib) == (None, "", None)


def test_what_includes_compilation_is_of_the_repeats_that_compiled() -> None:
    def repeat(number: int, cached: bool, first: float, mib: float) -> Measured:
        phases = {"first_step": first - 1.0, "evaluation": first}
        facts = {"target": "val_accuracy >= 0.5", "peak_memory_mib": mib}
        epochs: dict[str, Any] = {"val_accuracy": 0.6, "step_seconds": (1.0,)}
        one = measured(cell(repeat=number), first, 1.0, phases=phases, facts=facts, **epochs)
        return replace(one, outcome=replace(one.outcome, tree_memory_mib=mib, compilation_cached=cached))

    repeats = [repeat(1, False, 9.0, 60.0), repeat(2, True, 3.0, 40.0), repeat(3, True, 4.0, 50.0)]
    (row,) = summarise(repeats)
    assert (row.first_epoch_seconds, row.seconds_to_target, row.compile_seconds) == (9.0, 9.0, 7.0)
    assert row.phases == {"first_step": 8.0, "evaluation": 9.0} and row.evaluation_seconds == 9.0
    assert (row.peak_memory_mib, row.tree_memory_mib) == (60.0, 60.0)
    assert (row.repeats, row.epoch_seconds, row.repeats_to_target) == (3, 1.0, 3)
    (row,) = summarise(repeats[1:])  # of a damaged run
    assert row.first_epoch_seconds == 3.5


def test_one_evaluation_is_timed_by_epoch_or_by_phase() -> None:
    (by_epoch,) = summarise([measured(cell(), 1.0, 1.0, evaluation_seconds=[3.0, 1.0], phases={"evaluation": 9.0})])
    (by_phase,) = summarise([measured(cell(), 1.0, 1.0, phases={"evaluation": 9.0})])
    assert (by_epoch.evaluation_seconds, by_phase.evaluation_seconds) == (2.0, 9.0)


def test_what_fit_takes_after_its_last_batch_is_told_and_said_where_it_is_much() -> None:
    told: dict[str, Any] = {"teardown_seconds": [9.0, 0.0, 0.3]}
    (row,) = summarise([measured(cell(), 5.0, 2.0, 2.0, **told)])
    assert row.teardown_seconds == pytest.approx(0.15), "of the steady epochs"
    assert row.notes == ("each fit takes 0.150 s more after its last batch (mean), which no time here includes",)
    (row,) = summarise([measured(cell(), 5.0, 2.0, 2.0, facts={"task": "infer"}, **told)])
    assert row.notes == ("each predict takes 0.150 s more after its last batch (mean), which no time here includes",)
    (row,) = summarise([measured(cell(), 5.0, 4.0, 4.0, **told)])
    assert row.teardown_seconds == pytest.approx(0.15) and row.notes == (), "less than a twentieth"
    (row,) = summarise([measured(cell(), 5.0, 2.0, 2.0)])
    assert row.teardown_seconds is None and row.notes == (), "an earlier kbench did not tell it"


def test_inference_is_known_by_its_task() -> None:
    (row,) = summarise([measured(cell(samples=500), 4.0, 1.0, 1.0, facts={"task": "infer"})])
    assert (row.task, row.epoch_seconds, row.seconds_per_1000_samples) == ("infer", 1.0, 2.0)


def test_a_clock_that_stood_still_divides_nothing_by_zero() -> None:
    (row,) = summarise([measured(cell(), 0.0, 0.0)])
    assert (row.epoch_seconds, row.samples_per_second, row.relative_to_fastest) == (0.0, None, None)


def test_nothing_measured_gives_no_rows() -> None:
    assert summarise([]) == []


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(STATUSES), st.lists(st.floats(1e-3, 1e6))),
        max_size=9,
    )
)
def test_every_backend_has_one_row_and_the_fastest_ok_row_is_one(
    drawn: list[tuple[str, str, list[float]]],
) -> None:
    rows = summarise(
        [
            measured(cell(backend=name, repeat=n), *seconds, status=status)
            for n, (name, status, seconds) in enumerate(drawn, 1)
        ]
    )
    assert sorted(row.backend for row in rows) == sorted({name for name, _, _ in drawn})
    ratios = [row.relative_to_fastest for row in rows if row.relative_to_fastest is not None]
    assert not ratios or min(ratios) == 1.0
    assert ratios == sorted(ratios)
    for row in rows:
        statuses = {status for name, status, _ in drawn if name == row.backend}
        assert row.status == max(statuses, key=STATUSES.index)
        assert row.repeats == sum(name == row.backend and status == OK for name, status, _ in drawn)
    assert STATUSES[-1] == INTERRUPTED


def test_a_backend_whose_repeats_with_one_seed_differ_is_called_not_deterministic() -> None:
    def row(*losses: float) -> Summary:
        cells = [cell(repeat=number) for number in range(1, len(losses) + 1)]
        (made,) = summarise([measured(one, 2.0, 1.0, loss=loss) for one, loss in zip(cells, losses, strict=True)])
        return made

    assert row(0.5, 0.5).deterministic is True and row(0.5, 0.5).notes == ()
    assert row(math.nan, math.nan).deterministic is True
    unlike = row(0.5, 0.5000001)
    assert unlike.deterministic is False
    assert unlike.notes == ("not deterministic: repeats with the same seed have different losses",)
    assert row(0.5).deterministic is None


def test_all_losses_of_a_programs_line_count_for_that_not_only_of_epochs_whose_times_do() -> None:
    told = [
        measured(cell(repeat=number), *[1.0] * number, loss=0.5, facts={"losses": ((0.9, None), (0.5, None))})
        for number in (2, 3)
    ]
    assert summarise(told)[0].deterministic is True


def test_repeats_with_seeds_of_their_own_say_nothing_of_determinism() -> None:
    cells = [measured(cell(repeat=number, seed=number), 2.0, 1.0, loss=0.1 * number) for number in (1, 2)]
    assert summarise(cells)[0].deterministic is None


def test_a_row_names_each_kernel_that_its_repeats_had() -> None:
    kernels = ["loop", "", "fused", "loop"]
    told = [measured(cell(repeat=n), 1.0, 2.0, facts={"recurrent_kernel": one}) for n, one in enumerate(kernels, 1)]
    failed = measured(cell(repeat=5), status=FAILED, facts={"recurrent_kernel": "scan"})
    assert [row.recurrent_kernel for row in summarise([*told, failed])] == ["loop, fused"]
