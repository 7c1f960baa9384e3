"""The programs that answer questions from issue trackers run on the backends that their commands name."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from documentation_commands import CHECKOUT, answer_commands
from real_runs import Kbench

from kbench.records.values import OK

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(3600)]
SHORT = ("--max-epochs", "1", "--max-steps", "2")
# Those of their own that make a program short.
ARGUMENTS = {"keras_19500.py": ("--", "--images", "1")}


def program(command: str) -> Path:
    return next(Path(word) for word in shlex.split(command) if word.endswith(".py"))


@pytest.mark.parametrize("command", answer_commands(), ids=lambda command: program(command).stem)
def test_the_command_of_an_answer_runs_its_program_on_all_its_backends(kbench: Kbench, command: str) -> None:
    words = shlex.split(command)
    file = CHECKOUT / program(command)
    names = words[words.index("--backends") + 1]
    if words[0] == "parity":
        run = kbench.parity_of_script(names, file)
    else:
        own = words[words.index("--") :] if "--" in words else ()
        added = ("--with", words[words.index("--with") + 1]) if "--with" in words else ()
        run = kbench.script(file, names, *SHORT, *added, *(own or ARGUMENTS.get(file.name, ())))
    assert {one.outcome.status for one in run.results().measured} == {OK}, run.output
