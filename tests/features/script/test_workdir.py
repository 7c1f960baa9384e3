"""The copy of a program's folder, in which each of its cells runs."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from fake_bench import Bench, Said

from kbench.features.script import workdir

IMPORTS = "import os\nimport keras\n"


def script(bench: Bench, path: Path) -> Said:
    options = ("--backends", "fake", "--repeats", "1", "--device", "cpu", "--no-plots", "--show-output")
    return bench("script", str(path), *options)


def test_the_copy_of_a_folder_has_links_that_lead_where_they_did_and_no_pipes_or_sockets(bench: Bench) -> None:
    folder, shared = bench.folder / "work", bench.folder / "shared"
    for made in (folder, folder / "inside", shared):
        made.mkdir()
    (shared / "data.txt").write_text("from outside")
    (folder / "inside" / "own.txt").write_text("from inside")
    (folder / "data").symlink_to("../shared")
    (folder / "relative").symlink_to("inside/own.txt")
    (folder / "absolute").symlink_to(folder / "inside" / "own.txt")
    (folder / "loop").symlink_to("loop")
    (folder / "nothing").symlink_to("later")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        bench.patch.chdir(folder)
        listening.bind("socket")
    bench.patch.chdir(bench.folder)
    text = """
print(open('data/data.txt').read(), open('relative').read(), os.path.realpath('absolute').startswith(os.getcwd()))
open('absolute', 'w').close()
print(sorted(os.listdir('.')), os.readlink('nothing'))
"""
    (folder / "train.py").write_text(IMPORTS + text)
    said = script(bench, folder / "train.py")
    assert said.status == 0, said.err
    assert "from outside from inside True\n" in said.out
    assert "['absolute', 'data', 'inside', 'loop', 'nothing', 'relative', 'train.py'] later\n" in said.out
    assert (folder / "inside" / "own.txt").read_text() == "from inside"


def test_a_folder_of_very_many_files_is_not_copied(bench: Bench) -> None:
    bench.patch.setattr(workdir, "MOST_FILES", 2)
    said = script(bench, bench.example("train.py", IMPORTS))
    assert said.status == 2 and "holds more than 2 files, which would be copied for each cell" in said.err
