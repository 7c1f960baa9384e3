"""Results on a disk that is too small: a real file system, mounted for the test, or else one that says it is full."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from fake_bench import CHECKOUT, START, Bench

from kbench import store
from kbench.records.values import OK

NAMES = "a.py,b.py,c.py,d.py"

# A name space of mounts of its own, so that nobody else sees it and it goes with its last process.
OWN_MOUNTS = ["unshare", "--mount", *(() if os.geteuid() == 0 else ("--user", "--map-root-user"))]
SCRIPT = """
set -u
[ "$SIZE" = "" ] || mount -t tmpfs -o "size=$SIZE" tmpfs results || exit 99
"$PYTHON" -c "$START" --no-plots --backends fake --examples "$NAMES" --profile smoke --name mine 2> first.txt
echo "$?" > first.status
cp -pR results/mine before
[ "$SIZE" = "" ] || mount -o remount,size=64m results || exit 99
unset FILES
"$PYTHON" -c "$START" resume mine --no-plots --retry failed 2> second.txt
echo "$?" > second.status
cp -pR results/mine after
"""
# The disk is full when so many files have been written.
INJECTED = """
import os
from kbench.outputs import one_run
from kbench.store import files
room = int(os.environ.get("FILES") or 10**9)
real = files.replace
def replace(path, content, durable=True):
    global room
    room -= 1
    if room < 0:
        raise files.cannot("write", path, OSError(28, "No space left on device"))
    real(path, content, durable)
files.replace = one_run.replace = replace
"""


def may_mount() -> bool:
    """Whether this machine lets its users do so; containers often do not."""
    if shutil.which("unshare") is None:
        return False
    tried = [*OWN_MOUNTS, "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"]
    return subprocess.run(tried, capture_output=True).returncode == 0


ROOM = [(size, "") for size in ("48k", "16k", "112k")] if may_mount() else [("", files) for files in ("8", "2", "15")]


@pytest.mark.slow("a run on each of several small disks")
@pytest.mark.parametrize(
    ("size", "files"),
    [ROOM[0], *(pytest.param(*room, marks=pytest.mark.thorough) for room in ROOM[1:])],
    ids=lambda value: value or "-",
)
def test_a_disk_that_is_full_at_any_moment_loses_nothing_and_resume_does_the_rest(
    bench: Bench, size: str, files: str
) -> None:
    for name in NAMES.split(","):
        bench.example(name)
    bench.results.mkdir()
    told = {"SIZE": size, "FILES": files, "START": INJECTED + START, "NAMES": NAMES, "PYTHON": sys.executable}
    said = subprocess.run(
        [*(OWN_MOUNTS if size else ()), "sh", "-c", SCRIPT],
        env={**os.environ, **told, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = ((bench.folder / f"{name}.txt").read_text().splitlines() for name in ("first", "second"))
    before, after = (store.read(bench.folder / name) for name in ("before", "after"))
    finished = [one for one in before.measured if one.outcome.status == OK]
    whole = len(finished) == len(before.measured)
    assert (bench.folder / "first.status").read_text() == "2\n"
    assert first[-1].startswith("kbench: error: Cannot ")
    assert ": No space left on device; once that is fixed, " in first[-1]
    advice = "`kbench report results/mine` writes what is missing." if whole else "continue with `kbench resume"
    assert advice in first[-1] and "Traceback" not in "".join(first)
    if whole:  # what cannot be written is printed all the same
        assert "Times slower than the fastest" in said.stdout.partition("Resuming mine")[0]
    assert (bench.folder / "second.status").read_text() == "0\n", second
    assert [one.outcome.status for one in after.measured] == [OK] * 4
    assert sum(line.startswith("[") for line in second) == 4 - len(finished), "none is measured again"
    for one in finished:
        outcomes = [store.cell_folder(bench.folder / name, one.cell).outcome for name in ("before", "after")]
        assert outcomes[0].read_bytes() == outcomes[1].read_bytes()
        assert outcomes[0].stat().st_mtime_ns == outcomes[1].stat().st_mtime_ns
    assert (bench.folder / "after" / "report.html").is_file()
    hidden = {path.name for path in (bench.folder / "after").rglob(".*")}
    assert hidden <= {".lock"}, "nothing half-made is left"
