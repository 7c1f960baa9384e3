"""Several workers: whether they did one worker's work, and how much faster than one they are."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from fake_runs import cell, measured, replace

from kbench import hooks
from kbench.analysis.sameness import fingerprints
from kbench.analysis.summaries import summarise
from kbench.comparison import scaling
from kbench.features.workers import speed_up, work
from kbench.features.workers.events import WorkerEpoch
from kbench.features.workers.events import told as kept
from kbench.records.findings import Finding
from kbench.records.values import Cell, Measured
from kbench.store import events as store_events
from kbench.summary import Summary
from kbench.tables.answers import answer
from kbench.tables.text import text
from kbench.words.sentences import sentence


def swept(count: int, threads: int, **more: Any) -> Cell:
    varied = {"workers": count, "threads": threads}
    return cell(**more, axes=varied)


def told(count: int, epochs: int = 3, **changes: Any) -> list[dict[str, Any]]:
    """What workers tell that share the 1,000 samples of each epoch."""
    each = {"samples": 1000 // count, "batch_size": 64, "read": "5", "read_of_all": f"{5 * count:x}"} | changes
    return [{"epoch": epoch, "rank": rank, **each} for epoch in range(1, epochs + 1) for rank in range(count)]


def events(about: list[dict[str, Any]]) -> dict[str, Any]:
    """The same as a cell's facts have it."""
    return {"of": {"worker": {(one["epoch"], one["rank"]): WorkerEpoch(**one) for one in about}}}


def of_workers(about: Any, count: int = 2, **facts: Any) -> Measured:
    return measured(swept(count, 1), 9.0, 1.0, 1.01, facts={**events(about), **facts})


def said(one: Measured) -> list[str]:
    return [sentence(how) for _, how in work.differences([one])]


@pytest.mark.parametrize(
    ("about", "why"),
    [
        (told(2), []),
        (told(2, read=None), []),
        (told(2, read="ffffffffffffffff", read_of_all="fffffffffffffffe"), []),
        (told(2, read_of_all="b"), ["its workers did not read each sample of epoch 1 once"]),
        (told(2, read="no number"), ["its workers did not read each sample of epoch 1 once"]),
        (told(2, samples=499), ["its workers together trained on 998 samples in epoch 1 instead of 1,000"]),
        ([], ["0 of its 2 workers told what they did in epoch 1"]),
        (told(2, epochs=2), ["0 of its 2 workers told what they did in epoch 3"]),
        ([one for one in told(2) if one["rank"] == 0], ["1 of its 2 workers told what they did in epoch 1"]),
        (
            [{**one, "samples": 1000 * (one["rank"] == 0)} for one in told(2)],
            ["one of its 2 workers did all the work of epoch 1"],
        ),
        (
            [{**one, "samples": 500 * (one["rank"] < 2)} for one in told(4)],
            ["worker 2 and worker 3 did nothing in epoch 1"],
        ),
    ],
)
def test_each_sample_is_read_once_an_epoch_and_each_worker_has_a_part(
    about: list[dict[str, Any]], why: list[str]
) -> None:
    count = 1 + max((one["rank"] for one in about), default=1)
    assert said(of_workers(about, max(2, count))) == why


def test_a_row_whose_workers_did_something_else_is_not_compared() -> None:
    alone = measured(swept(1, 2), 9.0, 2.0, 2.01)
    right, wrong = (summarise([alone, of_workers(about)]) for about in (told(2), told(2, samples=400)))
    ordered = sorted(right, key=lambda row: row.value("workers"))
    assert [speed_up.speed_up(row) is not None for row in ordered] == [False, True]
    assert [speed_up.speed_up(row) for row in wrong] == [None, None]
    assert [row.differs != () for row in sorted(wrong, key=lambda row: row.value("workers"))] == [False, True]


def speeds(**more: Any) -> list[Summary]:
    times = {(1, 1): 4.0, (1, 2): 2.4, (2, 1): 2.2, (2, 2): 2.0}
    cells = [(swept(*key, **more), seconds) for key, seconds in times.items()]
    return summarise(
        [
            measured(one, 9.0, seconds, seconds * 1.01, seconds * 0.99, facts=events(told(one.workers, 4)))
            for one, seconds in cells
        ]
    )


def test_the_speed_up_is_against_one_worker_with_as_many_threads_as_each_or_else_with_all() -> None:
    rows = {(row.value("workers"), row.threads): row for row in speeds()}
    assert speed_up.speed_up(rows[2, 1]) == pytest.approx(4.0 / 2.2, rel=0.02)
    assert speed_up.speed_up(rows[2, 2]) == pytest.approx(2.4 / 2.0, rel=0.02)
    assert speed_up.efficiency(rows[2, 1]) == pytest.approx(4.0 / 2.2 / 2, rel=0.02)
    assert speed_up.speed_up(rows[1, 1]) is speed_up.speed_up(rows[1, 2]) is None
    ratio, interval = rows[2, 1].ratios[speed_up.KIND], speed_up.interval(rows[2, 1])
    assert ratio.interval and interval and interval.low == 1 / ratio.interval.high
    divided = [row for row in speeds() if (row.value("workers"), row.threads) in ((1, 2), (2, 1))]
    (lines,) = scaling.within(divided)
    assert (lines.axis.name, [point.at for point in lines.lines[0].points]) == ("workers", [1, 2])
    assert lines.ideal[1][1] / lines.ideal[0][1] == lines.ideal[1][0] / lines.ideal[0][0]
    found = speed_up.sentences(speeds())
    assert [one.partition(": ")[0] for one in found] == [
        f"2 workers with {each} each" for each in ("1 thread", "2 threads")
    ]


def test_where_other_programs_disturbed_most_turns_no_speed_up_is_told_in_numbers() -> None:
    def rough(row: Summary) -> Summary:
        of_kind = row.ratios.get(speed_up.KIND)
        kept = {} if of_kind is None else {speed_up.KIND: replace(of_kind, rough=True)}
        return replace(row, ratios={**row.ratios, **kept})

    found = [rough(row) for row in speeds()]
    shown = {one.name: {one.entry(row) for row in found} for one in speed_up.COLUMNS if one.entry}
    assert shown == {"speed_up": {"?", "-"}, "efficiency": {"?", "-"}}
    assert all("could not be compared with one on" in said for said in speed_up.sentences(found))
    (remark,) = {said for one in speed_up.COLUMNS if one.name == "speed_up" and (said := one.remark(found))}
    assert remark.endswith("?: could not be compared.")


def test_a_layer_that_takes_statistics_of_a_part_of_a_batch_explains_an_epoch_unless_it_is_far_off() -> None:
    normalized = of_workers(told(2), layers=[["BatchNormalization", {}, []], ["Dense", {}, []]])

    def explained(one: Measured, own: float | None) -> Finding:
        return work.explained(one, Finding(kind="epoch", aspect="loss", own=own, other=1.0, about={"epoch": 2}))

    assert explained(normalized, 1.2).explanation == "each worker has its own part of a batch for BatchNormalization"
    for far in (9.0, math.nan, math.inf, None):
        assert explained(normalized, far).differs and "BatchNormalization" in sentence(explained(normalized, far))
    for layer in ("Dense", "Dropout"):
        assert explained(of_workers(told(2), layers=[[layer, {}, []]]), 1.2).differs
    assert explained(replace(normalized, cell=swept(1, 1)), 1.2).differs


@pytest.mark.parametrize("layer", ["Dense", "Dropout", "BatchNormalization"])
def test_no_layer_explains_that_several_workers_take_another_step(layer: str) -> None:
    """Of gradients that are added up instead of averaged the change of a weight is twice as large."""

    def stepped(count: int, change: float, later: float) -> Measured:
        def step(change: float) -> dict[str, Any]:
            weight = {"class": "Dense", "number": 1, "weight": "kernel", "norm": 1.0, "rounding": 0.0}
            return {"loss": 1.0, "changes": [{**weight, "change": change, "sums": [change] * 4}], "draws": []}

        facts = {"first_step": step(change), "step_again": step(later), "layers": [[layer, {}, []]]}
        row = swept(count, 1)
        return measured(row, 9.0, 1.0, 1.01, facts={**events(told(count)), **facts} if count > 1 else facts)

    for changes, kind in (((2.0, 2.0), "first step"), ((1.0, 2.0), "last step")):
        one, two = stepped(1, 1.0, 1.0), stepped(2, *changes)
        assert [how.kind for how in fingerprints.differences([one, two])[two.cell.id]] == [kind]
    alike = stepped(2, 1.0, 1.0)
    assert fingerprints.differences([one, alike]) == {}


def test_the_memory_of_a_worker_is_known_where_each_has_a_process() -> None:
    each = [{**one, "peak_mib": 500.0 + one["rank"]} for one in told(2)]
    shared = [{**one, "peak_mib": 900.0} if one["rank"] == 0 else one for one in told(2)]
    assert [summarise([of_workers(about)])[0].value("worker_memory_mib") for about in (each, shared)] == [501.0, None]


def test_a_column_that_is_left_out_for_width_is_not_explained() -> None:
    rows = [replace(row, of_features={"communication_seconds": 0.2}) for row in speeds() if row.threads == 1]
    assert answer(rows).startswith("2 workers: 1.82 times")  # no other backend than the fastest
    wide, narrow = (text(rows, width=width) for width in (300, 70))
    for column in ("efficiency", "communication"):
        assert f"\n{column}: " in wide and f"\n{column}: " not in narrow
        assert column in narrow.partition("Not shown for lack")[2]


def test_what_workers_tell_is_kept_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"worker": replace(hooks.event_kinds()["worker"], most=3)}
    monkeypatch.setattr(hooks, "event_kinds", lambda: few)
    lines = [json.dumps({"event": "worker", **one}) for one in told(2)]
    report = store_events.parse_events("".join(f"{line}\n" for line in lines).encode())
    assert [(one.epoch, one.rank) for one in kept(report.facts)] == [(1, 0), (1, 1), (2, 0)]
    assert report.last == "worker of epoch 3"
