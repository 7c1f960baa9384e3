"""What the lines of a program do becomes events, and a fault of kbench's own stops no program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from guest_modules import guest


class Model:
    """Stands for any object that a line calls."""


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """(a recorder of a program whose only line is number 7, what it has written)."""
    written: list[dict[str, Any]] = []
    events = SimpleNamespace(write=lambda event, **values: written.append({"event": event, **values}))
    files = SimpleNamespace(line=lambda: ("", 7))
    with guest(tmp_path, "kbench_script.watching.recorder", "turns") as (module, turns):
        yield module.Recorder(events, turns.TurnClient(0), files, float, 5), written


def test_the_first_call_of_each_model_is_reported_at_once_and_others_together(recording: Any) -> None:
    recorder, written = recording
    site, models = recorder.site("predict"), [Model(), Model()]
    for model in models:
        for seconds in (3.0, *[1.0] * 40):
            site.reported = float("inf")  # it is not time to report
            recorder.report(site, recorder.call(site, model, 8, seconds, {}, None))
    recorder.flush()
    assert {one["site"] for one in written} == {"predict, line 7"}
    assert [one["epoch"] for one in written] == list(range(1, len(written) + 1))
    own = [(one["first"], one["calls"], one["seconds"], one["samples"]) for one in written]
    assert own == 2 * [(1, 1, 3.0, 8), *[(0, 4, 1.0, 8)] * 10]
    assert recorder.finish() == {"predict, line 7": 82}


def test_the_loss_of_a_step_is_read_when_it_is_reported_and_the_first_ones_are_kept(recording: Any) -> None:
    recorder, written = recording
    site = recorder.site("loop")
    for number in range(7):
        site.loss = str(number)  # what a framework keeps is no number yet
        recorder.loss(site, site.loss)
        recorder.step(site, 1.0)
    recorder.flush()
    assert [one["loss"] for one in written if one["event"] == "epoch"] == [6.0] * 7
    said = [one["text"] for one in written if one["event"] == "note"]
    assert said == ["--max-steps cuts no loop of its own: loop, line 7"]
    recorder.finish()
    assert written[-1] == {"event": "returned", "site": "loop, line 7", "first_losses": [0.0, 1.0, 2.0, 3.0, 4.0]}


def test_what_kbench_fails_to_observe_is_said_once_and_the_program_goes_on(
    recording: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder, written = recording

    def fails(text: str) -> None:
        raise ValueError(text)

    asked = [recorder.guarded(fails, "once"), recorder.guarded(fails, "twice"), recorder.guarded(len, "abc")]
    assert asked == [None, None, 3]
    assert written == [{"event": "note", "text": "not all of its calls could be observed (ValueError: once)"}]
    assert "ValueError: once" in capsys.readouterr().err


def test_a_call_within_an_observed_one_is_not_observed_nor_is_what_follows_the_programs_end(recording: Any) -> None:
    recorder, _ = recording
    assert recorder.observes()
    recorder.is_cut("cut to 5 steps")
    recorder.inside = True
    recorder.is_cut("")
    assert (recorder.observes(), recorder.cut) == (False, "cut to 5 steps")
    recorder.inside = False
    recorder.finish()
    assert not recorder.observes()
