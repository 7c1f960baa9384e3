"""The tutorial, command by command, as a new user types it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from documentation_commands import CHECKOUT, blocks, commands
from fake_bench import START
from real_runs import own_threads

from kbench import store
from kbench.values import OK

TUTORIAL = CHECKOUT / "docs" / "tutorial.md"


def test_every_command_of_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    (program,) = blocks(TUTORIAL, "python")
    (tmp_path / "train.py").write_text(program)
    for command in commands(TUTORIAL):
        words = shlex.split(command)
        limited = [] if words[0] in ("doctor", "compare", "new") else own_threads()
        # How fast the machine is takes longer to measure than these cells: the first run does so.
        how = ["-c", START] if (tmp_path / "results").is_dir() else [str(CHECKOUT / "run.py")]
        ended = subprocess.run(
            [sys.executable, *how, *words, *limited],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 0 or words[0] in ("doctor", "compare"), ended.stdout + ended.stderr
        assert (ended.stdout or ended.stderr) and "Traceback" not in ended.stderr, ended.stderr
    for name, rows in (("first", 3), ("own", 2)):
        measured = store.read(tmp_path / "results" / name).measured
        assert [one.outcome.status for one in measured] == [OK] * rows
    assert (tmp_path / "results" / "first" / "report.html").is_file()
