"""What is not decided is measured again, until it is or the time is spent; and nothing else is."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fake_bench import LIMITS, Bench, refused

from kbench import paths
from kbench.cells import launcher
from kbench.cells.turns import Turn, TurnScheduler
from kbench.machine import peak_rates
from kbench.session import racing

STUB = Path(__file__).parent.parent / "faults" / "stub_guest.py"
# Seconds of the steady epochs in each process: x and y differ by too little to be told apart at first.
EXAMPLE = """
SECONDS = {
    "x": [1.0, 1.0, 1.0, 1.0],
    "y": [[0.5, 1.0, 2.0, 1.1], [1.2] * 4][spec["repeat"] > 1],
    "z": [9.0, 9.0, 9.0, 9.0],
}[spec["backend"].split("/")[1]]

def tell_epoch(number):
    tell("epoch", epoch=number, seconds=SECONDS[number - 2], samples=spec["samples"], loss=1.0, accuracy=0.5)
"""


@pytest.fixture
def race(bench: Bench) -> Bench:
    bench.patch.setattr(paths, "GUEST", STUB)
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


def processes(bench: Bench) -> dict[str, int]:
    return dict(Counter(one.cell.backend[-1] for one in bench.last().measured))


def test_only_what_is_not_decided_is_measured_again(race: Bench) -> None:
    said = measure(race, "--budget", "10m")
    assert said.status == 0
    found = processes(race)
    assert found["z"] == 1 and found["x"] == found["y"] > 1
    first, again = said.err.index("both trains fastest on "), said.err.index("Measuring both again on ")
    assert first < again, "what is known stands there first"
    assert "Measuring both again on keras9/x, keras9/y: not yet clear which is faster." in said.err
    assert "Not settled yet" not in said.out
    request = json.loads((race.results / "mine" / "run.json").read_text())["request"]
    repeats = list(range(2, found["y"] + 1))
    assert request["extra_repeats"] == {f"both__keras9-{name}__channels_last__cpu": repeats for name in "xy"}
    assert race("report", "mine").status == 0
    (row,) = (
        row for row in json.loads(race("report", "mine", "--format", "json").out)["rows"] if "/y" in row["backend"]
    )
    assert row["verdict"] == "slower" and row["repeats"] == found["y"]


def test_a_spent_budget_ends_it_and_says_what_is_open_and_how_to_go_on(race: Bench) -> None:
    said = measure(race, "--budget", "0.01s")
    assert said.status == 0 and processes(race) == {"x": 1, "y": 1, "z": 1}
    assert "Not settled yet: both on keras9/" in said.out
    assert "resume results/mine --budget 10m`" in said.out
    assert race("resume", "mine").status == 0 and processes(race)["y"] == 1, "without --budget it adds nothing"
    said = race("resume", "mine", "--budget", "10m")
    assert said.status == 0 and "Not settled yet" not in said.out
    assert processes(race)["z"] == 1 and processes(race)["y"] > 1


def test_a_budget_too_small_for_a_repeat_changes_nothing_and_says_so(race: Bench) -> None:
    assert measure(race, "--budget", "0.01s").status == 0
    before = {path: path.read_bytes() for path in (race.results / "mine").rglob("*") if path.is_file()}
    race.patch.setattr(peak_rates, "measure", lambda threads, cache_bytes, variables: {**LIMITS, "matrix": 1})
    said = race("resume", "mine", "--budget", "0.01s")
    assert said.status == 0 and "Not settled yet" not in said.out
    printed = " ".join(said.out.split())
    assert "Nothing was measured: 0 s were too few. Measuring both again on keras9/" in printed
    assert before == {path: path.read_bytes() for path in (race.results / "mine").rglob("*") if path.is_file()}


def test_the_budget_is_time_of_the_clock_waiting_and_starting_included(race: Bench) -> None:
    real = racing.Clock  # the cells take seconds of it
    race.patch.setattr(racing, "Clock", lambda before, elapsed, compiling: real(before, lambda: 601.0, compiling))
    said = measure(race, "--budget", "10m")
    assert processes(race) == {"x": 1, "y": 1, "z": 1} and "Not settled yet" in said.out


def test_a_settled_run_is_left_as_it_is_whatever_the_budget(race: Bench) -> None:
    assert measure(race, "--budget", "10m").status == 0
    said = race("resume", "mine", "--budget", "10m")
    assert "Nothing was measured: every row is settled." in said.out


def test_a_run_with_a_fixed_number_of_repeats_gets_more_if_that_is_asked_for(race: Bench) -> None:
    said = measure(race, "--repeats", "1")
    assert processes(race) == {"x": 1, "y": 1, "z": 1} and "Not settled yet" not in said.out
    assert race("resume", "mine", "--budget", "10m").status == 0
    assert processes(race)["y"] > 1


def test_where_other_programs_disturb_most_turns_nothing_is_measured_again(race: Bench) -> None:
    in_rounds = EXAMPLE.replace("samples=", "step_seconds=[SECONDS[number - 2]], rounds=[[number, 0, 1]], samples=")
    race.patch.setattr("test_cli_racing.EXAMPLE", in_rounds)
    join = TurnScheduler.join

    def disturbed(turns: TurnScheduler) -> Turn:
        turn = join(turns)
        turn.disturbed += [2, 3, 4]
        return turn

    race.patch.setattr(TurnScheduler, "join", disturbed)
    said = measure(race, "--budget", "10m")
    assert processes(race) == {"x": 1, "y": 1, "z": 1}
    assert "Not settled yet: both on keras9/" in said.out
    assert "Other programs kept the processor busy during" in said.out
    assert "could not be compared: other programs used the processor in" in " ".join(said.out.split())
    # Those programs may have ended, which the next repeat shows.
    race.patch.setattr(TurnScheduler, "join", join)
    assert race("resume", "mine", "--budget", "10m").status == 0
    assert processes(race)["y"] > 1


def test_an_interrupted_process_is_measured_when_the_run_is_resumed(race: Bench) -> None:
    real, launched = launcher.launch, []

    def interrupted(command: Any, **asked: Any) -> Any:
        launched.append(asked["folder"].name)
        if "r2" in launched[-1]:
            raise KeyboardInterrupt
        return real(command, **asked)

    race.patch.setattr(launcher, "launch", interrupted)
    assert measure(race, "--budget", "10m").status == 130
    race.patch.setattr(launcher, "launch", real)
    assert race("resume", "mine").status == 0
    found = processes(race)
    assert found["z"] == 1 and found["x"] == found["y"] > 1
    assert {one.outcome.status for one in race.last().measured} == {"ok"}


def test_nothing_is_measured_more_often_than_ten_times(race: Bench) -> None:
    now_and_then = EXAMPLE.replace("[1.2] * 4", "[0.8 + 0.4 * (spec['repeat'] % 2)] * 4")
    race.patch.setattr("test_cli_racing.EXAMPLE", now_and_then)
    said = measure(race, "--budget", "1h", "--precision", "0.0001")
    assert processes(race) == {"x": 10, "y": 10, "z": 1}
    assert "Not settled yet: both on keras9/" in said.out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--repeats", "2", "--budget", "5m"), "--repeats fixes how often cells are measured"),
        (("--repeats", "2", "--precision", "0.1"), "leave it out, or --precision and --budget"),
        (("--budget", "ten"), "'ten' is not a time such as 90s, 10m or 1h"),
        (("--budget", "0m"), "'0m' is not a time"),
        (("--precision", "1.5"), "'1.5' is not a number between 0 and 1"),
        (("--interleave", "maybe"), "invalid choice: 'maybe'"),
    ],
)
def test_wrong_input_is_one_sentence(race: Bench, options: tuple[str, ...], sentence: str) -> None:
    said = measure(race, *options)
    refused(said, sentence)
