"""What the guest tells of a program's lines is read: each line once, a fit's calls together, what it adds later."""

from __future__ import annotations

import json
from typing import Any

from kbench.features.script import events
from kbench.store.events import GuestReport, parse_events

FIT = "fit, line 9"


def report(*told: dict[str, Any]) -> GuestReport:
    return parse_events("\n".join(map(json.dumps, told)).encode())


def test_calls_of_a_line_are_together_and_a_turn_taken_again_is_read_from_runs_of_earlier_versions_too() -> None:
    fit = {"event": "fit", "site": FIT, "seconds": 1.0, "epochs": 2, "first": 0, "cold": 0, "held": 0}
    read = report(fit | {"round": 3, "again": 1}, fit | {"round": 1_000_003}, fit)
    calls = events.fits(read.facts, FIT)
    assert [(call.round, call.again) for call in calls] == [(3, 1), (3, 1), (None, None)]
    assert read.last == "fit"


def test_what_a_line_returned_comes_in_parts() -> None:
    first = {"event": "returned", "site": FIT, "trained": 1, "scores": {"loss": 0.5}}
    read = report(first, {"event": "returned", "site": FIT, "unchanged": 1, "scores": {"loss": 0.25}})
    told = events.returned(read.facts, FIT)
    assert told is not None and (told.trained, told.scores, told.unchanged) == (1, {"loss": 0.25}, 1)


def test_more_lines_than_a_program_has_count_as_damaged() -> None:
    lines = [{"event": "site", "site": f"fit, line {number}", "task": "train", "facts": {}} for number in range(1003)]
    read = report(*lines, lines[0])
    assert len(events.sites(read.facts)) == 1000 and read.facts.events_damaged == 3
