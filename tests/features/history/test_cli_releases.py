"""`releases`: what is measured next, and that it measures until a planted slow release is found, and goes on."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
from fake_backends import FAKE_KERAS, wheel
from fake_bench import Bench, refused

from kbench.cells import turns
from kbench.features.history.releases import chosen_next, missing

SIX = [f"3.{minor}.{patch}" for minor in range(6) for patch in range(3)]


def test_the_last_release_of_each_series_comes_first_then_all_between_the_ends_of_a_step() -> None:
    assert missing(SIX, [], {}) == [f"3.{minor}.2" for minor in range(6)]
    coarse = missing(SIX, [], {})
    assert missing(SIX, coarse, {}) == []
    assert missing(SIX, coarse, {"3.4.2": 0.5}) == ["3.4.0", "3.4.1"]
    assert missing(SIX, [*coarse, "3.4.0", "3.4.1"], {"3.4.1": 0.5}) == []


def test_at_first_they_are_spread_evenly_then_where_a_step_is_or_the_gap_is_widest() -> None:
    many = [f"3.{minor}.0" for minor in range(13)]
    first = chosen_next(many, many, [], {}, [])
    assert first == ["3.0.0", "3.4.0", "3.8.0", "3.12.0"]
    rest = [one for one in many if one not in first]
    assert chosen_next(many, rest, first, {}, first) == ["3.0.0", "3.2.0", "3.6.0", "3.10.0"]
    assert set(chosen_next(many, rest, first, {"3.12.0": 0.3}, first)) >= {"3.9.0", "3.10.0", "3.11.0"}
    beside = chosen_next(many, rest, first, {}, ["3.8.0", "3.12.0"])  # the older ones do not run
    assert beside == ["3.2.0", "3.6.0", "3.8.0", "3.10.0"]
    assert chosen_next(["1.0", "2.0"], ["1.0", "2.0"], [], {}, []) == ["1.0", "2.0"]


SLOW_FROM = 4


@pytest.fixture
def releases(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """keras-fake 2.1 to 2.5; from 2.4 on a step takes some milliseconds longer."""
    folder = tmp_path / "releases"
    files = {f"keras/{path.name}": path.read_text() for path in sorted((FAKE_KERAS / "keras").glob("*.py"))}
    for minor in range(1, 6):
        own, plain = dict(files), "        *before, last = self.layers\n"
        if minor >= SLOW_FROM:
            slow = f"        import time\n        time.sleep(0.02)\n{plain}"
            own["keras/models.py"] = own["keras/models.py"].replace(plain, slow)
        own["keras/__init__.py"] = own["keras/__init__.py"].replace("2.99.1", f"2.{minor}")
        wheel(folder, "keras-fake", f"2.{minor}", own)
    monkeypatch.setenv("PIP_FIND_LINKS", f"{os.environ['PIP_FIND_LINKS']} {folder}")
    monkeypatch.setattr(turns, "DISTURBED", math.inf)  # by what else runs on this machine
    return bench


ASKED = ("releases", "fake", "--from", "2.1", "--to", "2.5", "--example", "my_example.py", "--profile", "smoke")


@pytest.mark.slow("measures two releases, and again what was disturbed")
def test_what_was_measured_is_not_measured_again(releases: Bench) -> None:
    two = ("--from", "2.1", "--to", "2.2", "--budget", "1s")
    said = releases(*ASKED[:2], *two, *ASKED[6:])
    assert said.status == 0 and "2 releases of keras: 2.1, 2.2" in said.err, said
    assert "Keras 2 2.1 2.2 my_example keras9/fake fake 1.0 " in " ".join(said.out.split())
    there = releases.runs()
    assert len(there) == 1
    again = releases(*ASKED[:2], *two, *ASKED[6:])
    assert again.out == said.out and releases.runs() == there
    for file in there[0].glob("cells/*/outcome.json"):
        disturbed = {"disturbed_rounds": list(range(1000)), "others": 0.9}
        file.write_text(json.dumps({**json.loads(file.read_text()), **disturbed}))
    assert releases(*ASKED[:2], *two, *ASKED[6:]).status == 0
    assert len(releases.runs()) == 2, "what other programs disturbed is measured again"


@pytest.mark.thorough
@pytest.mark.slow("measures release after release")
def test_a_planted_slow_release_is_found_and_nothing_is_measured_twice(releases: Bench) -> None:
    said = releases(*ASKED, "--budget", "8s")
    assert said.status == 0 and "5 releases of keras: 2.1, 2.2, 2.3, 2.4, 2.5" in said.err, said
    while "Not measured: " in said.out:  # the machine is busy
        said = releases(*ASKED, "--budget", "8s")
    assert said.out.startswith("Keras 2.4 made my_example on keras9/fake "), said
    assert " slower than 2.3, on this machine." in " ".join(said.out.split())
    there = releases.runs()
    again = releases(*ASKED, "--budget", "8s")
    assert again.out == said.out and releases.runs() == there


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"--from": "2.6", "--to": "2.0"}, "--from 2.6 is not older than --to 2.0"),
        ({"--from": "x"}, "--from 'x' is not a version"),
        ({"--package": "numpy"}, "--package takes keras or fake-framework for keras9/fake, not 'numpy'"),
        ({"--from": "2.7", "--to": "2.9"}, "There is no release keras-fake>=2.7"),
        ({"--from": "2.5", "--to": "2.6"}, "There is only one release of keras from the one to the other: 2.5"),
        ({"--example": "no_such"}, "There is no example 'no_such'"),
    ],
)
def test_a_wrong_request_is_one_sentence(releases: Bench, changes: dict[str, str], words: str) -> None:
    asked = {"--from": "2.1", "--to": "2.5", "--example": "my_example.py", **changes}
    refused(releases("releases", "fake", *[part for pair in asked.items() for part in pair]), words)
