"""The tutorial, command by command, as a new user types it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from documentation_commands import CHECKOUT, blocks, commands
from real_runs import own_threads
from test_real_kinds import KINDS, SCORES, check_the_same

from kbench import store
from kbench.cli import main
from kbench.records.values import OK

TUTORIAL = CHECKOUT / "docs" / "tutorial.md"


@pytest.mark.thorough
@pytest.mark.slow("it types a dozen commands, as a new user does")
@pytest.mark.usefixtures("kbench")
def test_every_command_of_the_tutorial_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first run in a process of its own, which also measures how fast the machine is."""
    (program,) = blocks(TUTORIAL, "python")
    (tmp_path / "train.py").write_text(program)
    monkeypatch.chdir(tmp_path)
    for command in commands(TUTORIAL):
        words = shlex.split(command)
        limited = [] if words[0] in ("doctor", "compare", "new") else own_threads()
        unseen = ["--no-plots"] if words[-1] in ("own", "program") else []
        if "first" in words:
            typed = [sys.executable, str(CHECKOUT / "run.py"), *words, *limited]
            ended = subprocess.run(typed, capture_output=True, text=True)
            status, out, err = ended.returncode, ended.stdout, ended.stderr
        else:
            status = main.main([*words, *limited, *unseen])
            out, err = capsys.readouterr()
        assert status == 0 or words[0] in ("doctor", "compare"), out + err
        assert (out or err) and "Traceback" not in err, err
    for name, rows in (("first", 3), ("own", 2)):
        measured = store.read(tmp_path / "results" / name).measured
        assert [one.outcome.status for one in measured] == [OK] * rows
    assert (tmp_path / "results" / "first" / "report.html").is_file()
    assert (tmp_path / "my_model.py").read_text() == (KINDS / "basic.py").read_text()
    check_the_same(store.read(tmp_path / "results" / "own"), "keras3/jax,keras3/torch", SCORES["basic"])
