"""What is not decided is measured again, until it is or the time is spent; and nothing else is."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fake_bench import Bench, refused

from kbench import hooks
from kbench.base import paths
from kbench.cells import launcher, turns
from kbench.cells.turns import ProcessTurn, TurnScheduler
from kbench.session import further, racing

STUB = Path(__file__).parent.parent / "faults" / "stub_guest.py"
# Seconds of a step in each process: x and y differ by too little to be told apart at first.
OF_Y = '{(1, 0): 1.1, (2, 1): 0.98}.get((spec["repeat"], spec["timing"]), 1.12)'
EXAMPLE = f"""
SECONDS = {{
    "x": 1.0,
    "y": {OF_Y},
    "z": 9.0,
}}[spec["backend"].split("/")[1]]

def train():
    for number in range(2, spec["epochs"] + 1):
        take_turns(number, [SECONDS])

def time_steps():
    take_turns(1, [SECONDS] * 6)
"""


@pytest.fixture
def race(bench: Bench) -> Bench:
    bench.patch.setattr(paths, "GUEST", STUB)
    bench.patch.setattr(turns, "DISTURBED", math.inf)  # by what else runs on this machine
    bench.patch.setattr(launcher, "POLL_SECONDS", 0.02)
    for name in "xyz":
        bench.backend(f"keras9/{name}")
    return bench


def measure(bench: Bench, *options: str) -> Any:
    return bench.measure("--epochs", "5", "--name", "mine", *options, backends="x,y,z", examples=example(bench))


def example(bench: Bench) -> str:
    """An example whose file is read by the host, and run by the stub."""
    text = (bench.folder / "my_example.py").read_text()
    (bench.folder / "both.py").write_text(f"{text}\nif 'spec' in globals():\n    exec({EXAMPLE!r}, globals())\n")
    return "both.py"


def whole(bench: Bench) -> dict[str, int]:
    """How many whole processes each backend had."""
    return dict(Counter(one.cell.backend[-1] for one in bench.last().measured))


def short(bench: Bench) -> dict[str, int]:
    """How many of its processes only timed some steps; all of them well."""
    assert {one.outcome.status for one in bench.last().short} <= {"ok"}
    return dict(Counter(one.cell.backend[-1] for one in bench.last().short))


def launched(bench: Bench, interrupted_at: str = "") -> list[str]:
    """The cells that are launched from now on, in order; a Ctrl-C comes when one with such a name is."""
    names: list[str] = []
    real = launcher.launch

    def launch(command: Any, **asked: Any) -> Any:
        names.append(asked["folder"].name)
        if interrupted_at and interrupted_at in names[-1]:
            raise KeyboardInterrupt
        return real(command, **asked)

    bench.patch.setattr(launcher, "launch", launch)
    return names


@pytest.mark.thorough
def test_every_row_has_further_processes_before_an_open_one_has_more(race: Bench) -> None:
    names = launched(race)
    said = measure(race, "--budget", "10m")
    assert said.status == 0
    cells = [(one.partition("keras9-")[2][0], one.rpartition("__")[2]) for one in names]
    assert sorted(cells[:3]) == [(name, "r1") for name in "xyz"]
    assert sorted(cells[3:9]) == [(name, f"r2t{number}") for name in "xyz" for number in (1, 2)]
    assert cells[9:] and {name for name, _ in cells[9:]} == {"x", "y"}
    assert all("r2" not in place and "t" in place for _, place in cells[9:])


def test_only_what_is_not_decided_is_measured_again(race: Bench) -> None:
    said = measure(race, "--budget", "10m")
    assert said.status == 0
    assert whole(race) == {"x": 1, "y": 1, "z": 1}
    found = short(race)
    assert found["z"] == 2 and found["x"] == found["y"] > 2
    first, again = said.err.index("both trains fastest on "), said.err.index("Measuring both again on ")
    assert first < again, "what is known stands there first"
    assert "Measuring both again on keras9/x, keras9/y: not yet clear which is faster." in said.err
    assert "Open: " not in said.out
    request = json.loads((race.results / "mine" / "run.json").read_text())["request"]
    places = [[repeat, number] for repeat in range(2, 2 + found["y"] // 2) for number in (1, 2)]
    assert request["extra_repeats"] == {}
    assert {row: len(its) for row, its in request["short"].items()} == {
        f"both__keras9-{name}__channels_last__cpu": found[name] for name in "xyz"
    }
    assert sorted(request["short"]["both__keras9-y__channels_last__cpu"]) == places
    assert race("report", "mine").status == 0
    (row,) = (
        row for row in json.loads(race("report", "mine", "--format", "json").out)["rows"] if "/y" in row["backend"]
    )
    assert row["verdict"] == "slower" and (row["repeats"], row["short_processes"]) == (1, found["y"])


@pytest.mark.thorough
def test_what_does_not_take_turns_is_measured_again_whole(race: Bench) -> None:
    said = measure(race, "--budget", "10m", "--interleave", "off")
    assert said.status == 0 and "Open: " not in said.out
    found = whole(race)
    assert found["z"] == 1 and found["x"] == found["y"] > 1 and short(race) == {}
    request = json.loads((race.results / "mine" / "run.json").read_text())["request"]
    repeats = list(range(2, found["y"] + 1))
    assert request["extra_repeats"] == {f"both__keras9-{name}__channels_last__cpu": repeats for name in "xy"}
    assert request["short"] == {}


def test_a_spent_budget_ends_it_and_says_what_is_open_and_how_to_go_on(race: Bench) -> None:
    said = measure(race, "--budget", "0.01s")
    assert said.status == 0 and whole(race) == {"x": 1, "y": 1, "z": 1}
    assert short(race) == {"x": 2, "y": 2, "z": 2}, "whatever the budget"
    assert "Open: both on keras9/" in said.out
    assert "more would settle it: `kbench resume results/mine --budget 1m`" in " ".join(said.out.split())
    assert race("resume", "mine").status == 0
    assert short(race) == {"x": 2, "y": 2, "z": 2}, "without --budget it adds nothing"
    said = race("resume", "mine", "--budget", "10m")
    assert said.status == 0 and "Open: " not in said.out
    assert whole(race) == {"x": 1, "y": 1, "z": 1} and short(race)["y"] > 2


def test_a_budget_too_small_for_a_repeat_changes_nothing_and_says_so(race: Bench) -> None:
    assert measure(race, "--budget", "0.01s").status == 0
    before = {path: path.read_bytes() for path in (race.results / "mine").rglob("*") if path.is_file()}
    race.patch.setattr(hooks, "of_machine", lambda plan, earlier: {"another": 1})
    said = race("resume", "mine", "--budget", "0.01s")
    assert said.status == 0 and "Open: " not in said.out
    printed = " ".join(said.out.split())
    assert "Nothing was measured: 0 s were too few. Measuring both again on keras9/" in printed
    assert before == {path: path.read_bytes() for path in (race.results / "mine").rglob("*") if path.is_file()}


def test_the_budget_is_time_of_the_clock_waiting_and_starting_included(race: Bench) -> None:
    real = racing.Clock  # the cells take seconds of it
    race.patch.setattr(racing, "Clock", lambda before, elapsed, compiling: real(before, lambda: 601.0, compiling))
    said = measure(race, "--budget", "10m")
    assert short(race) == {"x": 2, "y": 2, "z": 2} and "Open: both on keras9/" in said.out


@pytest.mark.thorough
def test_a_settled_run_is_left_as_it_is_whatever_the_budget(race: Bench) -> None:
    assert measure(race, "--budget", "10m").status == 0
    said = race("resume", "mine", "--budget", "10m")
    assert "Nothing was measured: every row is settled." in said.out


@pytest.mark.thorough
def test_a_run_with_a_fixed_number_of_repeats_gets_more_if_that_is_asked_for(race: Bench) -> None:
    said = measure(race, "--repeats", "1")
    assert whole(race) == {"x": 1, "y": 1, "z": 1} and "Open: " not in said.out
    assert short(race) == {}
    assert race("resume", "mine", "--budget", "10m").status == 0
    assert short(race)["y"] > 1


def test_a_row_whose_processes_take_long_to_start_has_one_short_one(race: Bench) -> None:
    race.patch.setattr(further, "LONG_START", -1.0)
    assert measure(race, "--budget", "1s").status == 0
    assert short(race) == {"x": 1, "y": 1, "z": 1}


@pytest.mark.thorough
def test_where_other_programs_disturb_most_turns_nothing_is_measured_again(race: Bench) -> None:
    join = TurnScheduler.join

    def disturbed(scheduler: TurnScheduler, **asked: Any) -> ProcessTurn:
        turn = join(scheduler, **asked)
        turn.disturbed += [1, 2, 3, 4, 5, 6]
        return turn

    race.patch.setattr(TurnScheduler, "join", disturbed)
    said = measure(race, "--budget", "10m")
    assert whole(race) == {"x": 1, "y": 1, "z": 1} and short(race) == {"x": 2, "y": 2, "z": 2}
    assert "Open: both on keras9/" in said.out
    assert "could not be compared: other programs used the processor in" in " ".join(said.out.split())
    assert said.out.lower().count("other programs") == 1
    # Those programs may have ended, which the next processes show.
    race.patch.setattr(TurnScheduler, "join", join)
    assert race("resume", "mine", "--budget", "10m").status == 0
    assert short(race)["y"] > 2


def test_a_budget_whose_turns_other_programs_all_disturb_says_so_and_promises_nothing(race: Bench) -> None:
    assert measure(race, "--budget", "0.01s").status == 0
    join = TurnScheduler.join

    def disturbed(scheduler: TurnScheduler, **asked: Any) -> ProcessTurn:
        turn = join(scheduler, **asked)
        turn.disturbed += range(20)
        return turn

    race.patch.setattr(TurnScheduler, "join", disturbed)
    said = race("resume", "mine", "--budget", "10m")
    assert short(race)["x"] == short(race)["y"] == 4, "it was tried"
    printed = " ".join(said.out.split())
    assert "The last 4 processes brought nothing: all their" in printed
    assert "turns were disturbed; end other programs, then `kbench resume results/mine --budget" in printed
    assert "would settle it" not in printed


@pytest.mark.parametrize("place", [pytest.param("r2t2", marks=pytest.mark.thorough), "r3t1"])
def test_an_interrupted_process_is_measured_when_the_run_is_resumed(race: Bench, place: str) -> None:
    real = launcher.launch
    launched(race, interrupted_at=place)
    assert measure(race, "--budget", "10m").status == 130
    race.patch.setattr(launcher, "launch", real)
    assert race("resume", "mine").status == 0
    found = short(race)
    assert found["z"] == 2 and found["x"] == found["y"] > 1
    assert {one.outcome.status for one in race.last().measured} == {"ok"}


def test_a_near_tie_that_no_further_process_is_likely_to_settle_is_left(race: Bench) -> None:
    near = '[0.97, 1.05, 1.0][spec["timing"]]'
    race.patch.setattr("test_cli_racing.EXAMPLE", EXAMPLE.replace(OF_Y, near))
    said = measure(race, "--budget", "1h", "--precision", "0.0001")
    assert said.status == 0 and short(race) == {"x": 2, "y": 2, "z": 2}
    assert "Measuring both again" not in said.err
    assert "Open: both on keras9/" in said.out


@pytest.mark.parametrize(
    ("interleave", "wholes", "shorts"), [("on", 1, 6), pytest.param("off", 3, 0, marks=pytest.mark.thorough)]
)
def test_nothing_is_measured_more_often_than_that(race: Bench, interleave: str, wholes: int, shorts: int) -> None:
    race.patch.setattr(racing, "MOST_PROCESSES", 6)
    race.patch.setattr(racing, "MOST_REPEATS", 3)
    now_and_then = "0.8 + 0.4 * ((spec['repeat'] + spec['timing']) % 2)"
    race.patch.setattr("test_cli_racing.EXAMPLE", EXAMPLE.replace(OF_Y, now_and_then))
    race.patch.setattr(racing, "processes_to_settle", lambda row, precision: 1.0)  # as it seems each time
    said = measure(race, "--budget", "1h", "--precision", "0.0001", "--interleave", interleave)
    assert whole(race) == {"x": wholes, "y": wholes, "z": 1}
    assert short(race) == ({"x": shorts, "y": shorts, "z": 2} if shorts else {})
    assert "Open: both on keras9/" in said.out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--repeats", "2", "--budget", "5m"), "--repeats fixes how often cells are measured"),
        (("--repeats", "2", "--precision", "0.1"), "leave it out, or --precision and --budget"),
        (("--budget", "ten"), "'ten' is not a time such as 90s, 10m or 1h"),
        (("--budget", "0m"), "'0m' is not a time"),
        (("--precision", "1.5"), "'1.5' is not a number between 0 and 1"),
        (("--interleave", "maybe"), "there is no 'maybe'"),
    ],
)
def test_wrong_input_is_one_sentence(race: Bench, options: tuple[str, ...], sentence: str) -> None:
    said = measure(race, *options)
    refused(said, sentence)
