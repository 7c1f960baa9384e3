"""Headers that are compiled once: g++ takes them, and leaves no trace where it cannot make them."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from guest_modules import alone

INCLUDED = sysconfig.get_paths()["include"]
MODULE = "#include <Python.h>\n#include <iostream>\n#include <Python.h>\nint answer() { return 42; }\n"


def headers_read(tmp_path: Path, folder: Path, *flags: str) -> list[str]:
    """What g++ reads for a module, in the order in which it does."""
    source = tmp_path / "mod.cpp"
    source.write_text(MODULE)
    command = ["g++", "-H", "-shared", "-fPIC", *flags, f"-I{folder}", f"-I{INCLUDED}", str(source)]
    done = subprocess.run([*command, "-o", str(tmp_path / "mod.so")], capture_output=True, text=True, check=True)
    return [line.partition(" ")[2] for line in done.stderr.splitlines() if line.startswith(("!", "."))]


@pytest.mark.thorough
def test_a_module_takes_the_compiled_headers_with_its_own_flags_and_else_the_headers(tmp_path: Path) -> None:
    made: Any = alone("frameworks/theano_headers")
    folder = tmp_path / "cache" / "headers"
    made.make(str(folder), "g++", ["-fPIC"], [INCLUDED])
    for further in made.SOME:
        taken = headers_read(tmp_path, folder, *made.FLAGS, *further)
        assert taken[0].startswith(str(folder / "Python.h.gch"))
    taken = headers_read(tmp_path, folder, "-O1")
    assert taken[:2] == [str(folder / "Python.h"), f"{INCLUDED}/Python.h"]


def test_nothing_is_left_where_the_compiler_fails(tmp_path: Path) -> None:
    made: Any = alone("frameworks/theano_headers")
    made.make(str(tmp_path / "headers"), "false", [], [])
    made.make(str(tmp_path / "headers"), "no-such-compiler", [], [])
    assert not list(tmp_path.iterdir())
