"""A notebook's cells become Python line by line: magics where statements begin, not inside strings and brackets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kbench.features.script import notebooks, reading


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("x = 5 % 3\n", "x = 5 % 3\n"),
        ("a = (5\n% 3)\n%matplotlib inline", "a = (5\n% 3)\nget_ipython().run_line_magic('matplotlib', 'inline')"),
        ('text = """\n!ls\n"""\n!ls -l', 'text = """\n!ls\n"""\nget_ipython().system(\'ls -l\')'),
        ("a = 5 \\\n% 3\n%cd x", "a = 5 \\\n% 3\nget_ipython().run_line_magic('cd', 'x')"),
        ("if a:\n    !rm b\n    %time f(1)", "if a:\n    get_ipython().system('rm b')\n    f(1)"),
        ("%timeit -n 10 -r3 f(1)\nf?\n??f", "f(1)\npass\npass"),
        (
            "a, b = !ls\nc = %env HOME",
            "a, b = get_ipython().getoutput('ls')\nc = get_ipython().run_line_magic('env', 'HOME')",
        ),
        ("!wget \\\n  -q x\ny = 1", "get_ipython().system('wget -q x')\n\ny = 1"),
        ("\n%%time\nf(1)", "\n\nf(1)"),
        ("%%capture out\n%cd x", "\nget_ipython().run_line_magic('cd', 'x')"),
        ("%%bash\necho 'a'\n", "get_ipython().run_cell_magic('bash', '', \"echo 'a'\\n\\n\")"),
        ("%%backend jax, torch\n%%time\nf(1)", "get_ipython().only_on(['jax', 'torch'])\n\nf(1)"),
        ("%%writefile -a m.py\nx", "get_ipython().run_cell_magic('writefile', '-a m.py', 'x\\n')"),
    ],
)
def test_what_ipython_alone_understands_is_written_as_python(cell: str, python: str) -> None:
    assert notebooks.as_python(cell) == python


def test_lines_stay_where_they_are() -> None:
    cell = "%%time\n!a \\\n b\n%x\nlast"
    assert notebooks.as_python(cell).count("\n") == cell.count("\n")


def test_an_old_notebook_and_one_without_metadata_are_read(tmp_path: Path) -> None:
    path = tmp_path / "old.ipynb"
    cells = [{"cell_type": "code", "input": ["x = 1\n", "y = 2"]}, {"cell_type": "heading", "source": "("}]
    path.write_text(json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3}))
    assert notebooks.code(path) == ("x = 1\ny = 2",)
    assert reading.load(path).name == "old.ipynb"
