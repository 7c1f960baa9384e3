"""What a shell is offered after the Tab key."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def offered(line: str, folder: Path) -> list[str]:
    """As bash asks: by environment variables, and the answer comes in a file."""
    answer = folder / "answer"
    variables = {
        "_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer), "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "PYTHONPATH": str(CHECKOUT),
    }  # fmt: skip
    code = "import sys; sys.argv = ['kbench']; from kbench.cli import main; sys.exit(main.main())"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **variables}, cwd=folder, check=True)
    return [one.strip() for one in answer.read_text().split("\n")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kbench bis", ["bisect"]),
        ("kbench --prec", ["--precision"]),
        ("kbench --backends jax,keras2/th", ["jax,keras2/theano"]),
        ("kbench run --backends jax --examples mnist_c", ["mnist_cnn"]),
        ("kbench new mine --like siam", ["siamese"]),
        ("kbench report lat", ["latest"]),
        ("kbench run --profile q", ["quick"]),
    ],
)
def test_names_of_all_kinds_are_completed(line: str, expected: list[str], tmp_path: Path) -> None:
    assert sorted(offered(line, tmp_path)) == expected


def test_runs_are_completed_also_packed_ones(tmp_path: Path) -> None:
    (tmp_path / "results" / "monday").mkdir(parents=True)
    (tmp_path / "results" / "monday" / "run.json").touch()
    (tmp_path / "results" / "mondays.kbench.zip").touch()
    assert sorted(offered("kbench report mon", tmp_path)) == ["monday", "mondays"]
