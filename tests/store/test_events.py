"""What is kept of a guest's events, whole or damaged."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from fake_runs import cell, learning
from hypothesis import given
from hypothesis import strategies as st

from kbench.records.epochs import Turn
from kbench.records.reported import Described, Facts
from kbench.store.events import GuestReport, read_events
from kbench.store.events import parse_events as parse_bytes

EVENTS = learning(cell(epochs=4), 1.0)
LINES = [json.dumps(event).encode() + b"\n" for event in EVENTS]


def parse_events(lines: Iterable[bytes]) -> GuestReport:
    return parse_bytes(b"".join(lines))


def test_epochs_phases_and_facts_are_read() -> None:
    report = parse_events(LINES)
    assert [epoch.epoch for epoch in report.epochs] == [1, 2, 3, 4]
    assert report.epochs[0].seconds == 2.0
    assert report.epochs[0].evaluation_seconds == 0.1
    assert report.phases == {"import": 1.5, "build": 0.25, "first_step": 0.75}
    assert report.facts == Facts(
        python="3.6.15",
        keras_version="2.2.4",
        backend_version="2.7",
        parameters=1199882,
        layers=(Described("Dense", {"units": 10}, [[784, 10]]),),
        guest_seconds=9.0,
    )


def test_the_kernel_of_recurrent_layers_is_a_fact_of_its_own_event() -> None:
    told = json.dumps({"event": "recurrent", "recurrent_kernel": "scan"}).encode() + b"\n"
    assert parse_events([*LINES, told]).facts.recurrent_kernel == "scan"
    assert parse_events(LINES).facts.recurrent_kernel == ""


def test_steps_at_two_points_are_two_facts() -> None:
    def written(event: str, loss: float, **more: int) -> bytes:
        return json.dumps({"event": event, "loss": loss, "changes": [], **more}).encode() + b"\n"

    first, second = written("step", 1.0, point=0), written("step", 2.0, point=1)
    again = written("step_again", 3.0, point=0) + written("step_again", 4.0, point=1)
    facts = parse_events([*LINES, first, second, again]).facts
    steps = (facts.first_step, facts.step_elsewhere, facts.step_again, facts.step_elsewhere_again)
    assert [step and step.loss for step in steps] == [1.0, 2.0, 3.0, 4.0]
    of_old = parse_events([*LINES, written("step", 1.0)]).facts
    assert of_old.first_step is not None and of_old.first_step.loss == 1.0 and of_old.step_elsewhere is None


USUAL: dict[str, Any] = {"event": "epoch", "epoch": 2, "seconds": 1.5, "samples": 9, "loss": 0.5, "accuracy": 0.25}
USUAL |= {"val_loss": 1.0, "val_accuracy": 0.5, "evaluation_seconds": 0.1, "teardown_seconds": 0.2}
USUAL["step_seconds"] = [0.5, 1.0]
TIMES = {"seconds", "evaluation_seconds", "teardown_seconds"}
COUNTS = {"epoch", "samples"}
METRICS = {"loss", "accuracy", "val_loss", "val_accuracy"}


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        *((COUNTS | TIMES, value) for value in (-1, math.nan, math.inf, -math.inf, 10**400)),
        *((COUNTS, value) for value in (2.5, None, 2**53)),
        ({"seconds"}, None),
        ({"step_seconds"}, [0.5, -1.0]),
        ({"step_seconds"}, [0.5, math.nan]),
        ({"step_seconds"}, None),
        *((COUNTS | TIMES | METRICS | {"step_seconds"}, value) for value in (True, "1", {}, [[1]])),
    ],
    ids=lambda value: "-".join(sorted(value)) if isinstance(value, set) else str(value)[:9],
)
def test_a_line_with_a_wrong_value_is_damaged_and_changes_none_beside_it(keys: set[str], value: object) -> None:
    lines = [json.dumps(USUAL | {"epoch": number}).encode() + b"\n" for number in (3, 1, 2)]
    for key in keys:
        report = parse_events([lines[0], json.dumps(USUAL | {key: value}).encode() + b"\n", *lines[1:]])
        assert report.epochs == parse_events(lines).epochs and report.facts.events_damaged == 1, key


def test_of_two_epochs_with_one_number_the_later_counts() -> None:
    lines = [json.dumps(USUAL | {"epoch": number}).encode() + b"\n" for number in (1, 2, 3)]
    later = parse_events([*lines, json.dumps(USUAL | {"loss": 9.0}).encode(), b"\n", lines[0]])
    assert [epoch.loss for epoch in later.epochs] == [0.5, 9.0, 0.5]


def test_epochs_before_and_after_another_event_are_read_alike() -> None:
    report = parse_events([LINES[-3], b'{"event": "note", "text": "a long evaluation"}\n', *LINES])
    assert report.epochs == parse_events(LINES).epochs and report.last == "end"
    again = parse_events([*LINES[:-1], b'{"event": "note", "text": "a long evaluation"}\n', LINES[-1]])
    assert again.epochs == report.epochs and "a long evaluation" in again.facts.notes


def test_losses_that_are_no_numbers_are_read_as_guests_write_them() -> None:
    (epoch,) = parse_events([json.dumps(USUAL | {"loss": math.nan, "val_loss": -math.inf}).encode()]).epochs
    assert math.isnan(epoch.loss or 0.0) and epoch.val_loss == -math.inf and epoch.step_seconds == (0.5, 1.0)


def test_a_missing_file_reports_nothing(tmp_path: Path) -> None:
    report = read_events(tmp_path / "events.jsonl")
    assert report.epochs == ()
    assert report.facts.events_damaged == 0


def test_a_torn_last_line_is_counted_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(LINES[:-2]) + LINES[-2][:25])
    report = read_events(path)
    assert [epoch.epoch for epoch in report.epochs] == [1, 2, 3]
    assert report.facts.events_damaged == 1


def test_garbage_lines_are_counted_and_the_rest_is_kept() -> None:
    garbage = [
        b"\x00\xff\xfe garbage\n",
        b"[1, 2]\n",
        b"7\n",
        b'{"no": "event"}\n',
        b"[" * 100_000 + b"\n",
        b'{"event": "epoch", "epoch": "one", "seconds": 1, "samples": 2}\n',
        b'{"event": "epoch", "epoch": 9, "seconds": NaN, "samples": 2}\n',
        b'{"event": "epoch", "epoch": 9, "seconds": -1, "samples": 2}\n',
        b'{"event": "phase", "name": "import"}\n',
        b'{"event": "epoch", "epoch": 9, "seconds": 1' + b"0" * 5000 + b', "samples": 2}\n',
    ]
    report = parse_events([line for pair in zip(LINES, garbage, strict=False) for line in pair] + LINES[10:])
    assert report.facts.events_damaged == len(garbage)
    assert [epoch.epoch for epoch in report.epochs] == [1, 2, 3, 4]


def test_a_fact_of_another_type_is_damaged_and_the_others_beside_it_are_kept() -> None:
    line = b'{"event": "model", "parameters": %s, "form": "unrolled", "layers": %s}'
    for parameters, layers in ((b"true", b"[]"), (b"7", b'"?"'), (b"7", b'[["Dense"]]')):
        facts = parse_events([line % (parameters, layers)]).facts
        assert facts.form == "unrolled" and facts.events_damaged == 1
        assert (facts.parameters, facts.layers) in ((None, ()), (7, None))
    whole = parse_events([line % (b"7", b"null")]).facts
    assert (whole.parameters, whole.layers, whole.events_damaged) == (7, None, 0)


def test_a_turn_taken_again_is_read_from_runs_of_earlier_versions_too() -> None:
    now, old = ([3, 1, 9, 1], [4, 9, 12, 0]), ([1_000_003, 1, 9], [4, 9, 12])
    for rounds in (now, old):
        (epoch,) = parse_events([json.dumps(USUAL | {"rounds": rounds}).encode()]).epochs
        assert epoch.rounds == (Turn(3, 1, 9, 1), Turn(4, 9, 12))


def test_unknown_events_and_keys_are_no_damage() -> None:
    report = parse_events([b'{"event": "memory", "mib": 7}\n', b'{"event": "start", "later": [1]}\n', b"\n"])
    assert report.facts.events_damaged == 0


def test_the_device_that_was_found_from_inside_is_a_fact() -> None:
    assert parse_events([b'{"event": "device", "device": "gpu"}\n']).facts.device == "gpu"


def test_a_diverged_loss_stays_visible() -> None:
    line = b'{"event": "epoch", "epoch": 1, "seconds": 1, "samples": 2, "loss": NaN, "val_loss": Infinity}\n'
    (epoch,) = parse_events([line]).epochs
    assert epoch.loss is not None
    assert math.isnan(epoch.loss)
    assert epoch.val_loss == math.inf
    assert epoch.accuracy is None


def test_the_memory_of_the_allocator_is_a_fact_where_it_is_reported() -> None:
    line = b'{"event": "memory", "at": "end", "peak_mib": 2.5, "allocator_peak_mib": %s}'
    assert parse_events([line % b"1.5"]).facts.allocator_peak_mib == 1.5
    assert parse_events([line % b"null"]).facts.allocator_peak_mib is None
    assert parse_events([line % b"null"]).facts.peak_memory_mib == 2.5


def test_notes_and_the_last_error_are_facts() -> None:
    report = parse_events(
        [
            b'{"event": "note", "text": "partial batch left out"}\n',
            b'{"event": "error", "kind": "mismatch", "message": "loaded another backend"}\n',
        ]
    )
    assert report.facts.notes == ("partial batch left out",)
    assert report.facts.error == "loaded another backend"


def test_a_cell_tried_again_reports_only_of_its_last_try() -> None:
    report = parse_events([*LINES[:7], *LINES])
    assert report.phases["import"] == 1.5
    assert len(report.epochs) == 4


@given(st.integers(0, sum(map(len, LINES))))
def test_a_guest_killed_at_any_byte_keeps_all_whole_lines(length: int) -> None:
    kept = b"".join(LINES)[:length].splitlines(keepends=True)
    whole = [line for line in kept if line.endswith(b"\n")]
    report, all_whole = parse_events(kept), parse_events(whole)
    assert report.epochs[: len(all_whole.epochs)] == all_whole.epochs
    assert report.facts.events_damaged in (0, 1)


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_no_bytes_raise(lines: list[bytes]) -> None:
    parse_events([*LINES, *lines])
    parse_events(lines)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(EVENTS), st.data())
def test_no_value_of_any_key_raises(event: dict[str, object], data: st.DataObject) -> None:
    changed = {**event, data.draw(st.sampled_from(sorted(event))): data.draw(_json)}
    parse_events([json.dumps(changed).encode() + b"\n"])
