"""`clean` frees what kbench made in its cache folder and nothing else, and never what is in use."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import filelock
import pytest
from fake_backends import HOST_PYTHON
from fake_bench import Bench, Said

from kbench import datasets
from kbench.cache import cleaning, usage
from kbench.datasets import prepared
from kbench.environments.folders import MARKER, SCHEMA, named
from kbench.environments.interpreters import Choice
from kbench.selection import backends
from kbench.text import size

# Another kbench in the middle of a run: it says so, and ends when it is told to.
RUNNING = """
import sys
from pathlib import Path
from kbench.cache import usage
with usage.in_use(Path(sys.argv[1]), sys.argv[2:]):
    print("running", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def place(bench: Bench, tmp_path: Path) -> Path:
    """A cache folder of this test's own, with all that a run leaves there; the environment is an empty one."""
    folder = tmp_path / "cache"
    bench.patch.setenv("KBENCH_CACHE", str(folder))
    usage.mark(folder)
    environment(bench, folder, None)
    (made,) = folders(folder, "environments")
    (folder / "compiled" / made.name).mkdir(parents=True)
    (folder / "compiled" / made.name / "code.so").write_bytes(b"x" * 10_000)
    datasets.prepare(str(bench.folder / "patterns.npz"), input="image", image_data_format="channels_last")
    return folder


def environment(bench: Bench, place: Path, explicit: Choice | None) -> None:
    backend = backends.load(bench.backends / "keras9" / "fake.toml")
    folder = named(backend, backend.builds[0], HOST_PYTHON, explicit, place)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    details = {"schema": SCHEMA, "backend": backend.name, "build": "cpu", "folder": str(folder)}
    details |= {"python": f"{HOST_PYTHON}.1", "interpreter": sys.executable}
    (folder / MARKER).write_text(json.dumps(details))


def folders(place: Path, kind: str) -> list[Path]:
    return sorted(path for path in (place / kind).glob("keras9*") if path.is_dir())


def everything(folder: Path) -> set[Path]:
    """All paths below a folder, but for locks, which hold nothing."""
    return {path for path in folder.rglob("*") if path.suffix != ".lock"}


def frees(said: Said, what: str) -> None:
    assert said.status == 0, said
    assert any(line.startswith(f"removed {what}") for line in said.out.splitlines()), said.out
    assert "\nFreed " in said.out


def running(place: Path, *names: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNING, str(place), *names],
        env={**os.environ, "PYTHONPATH": str(Path(usage.__file__).parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "running\n"
    return process


def test_what_the_next_run_takes_is_not_freed_by_clean_alone(bench: Bench, place: Path) -> None:
    before = everything(place)
    said = bench("clean")
    assert said.status == 0
    assert "Nothing to free." in said.out and "kbench clean environments | data | compiled | all" in said.out
    assert everything(place) == before
    assert "to make" not in bench.measure("--dry-run").out


def test_all_comes_back_with_the_next_run_and_results_stay(bench: Bench, tmp_path: Path) -> None:
    bench.patch.setenv("KBENCH_CACHE", str(tmp_path / "cache"))
    assert bench.measure().status == 0
    results = {path: path.read_bytes() for path in bench.results.rglob("*") if path.is_file()}
    frees(bench("clean", "all"), "environments/")
    assert folders(tmp_path / "cache", "environments") == []
    assert {path: path.read_bytes() for path in bench.results.rglob("*") if path.is_file()} == results
    assert bench.measure().status == 0


def test_an_environment_whose_lock_file_changed_is_freed_with_what_it_compiled(bench: Bench, place: Path) -> None:
    lock = bench.backends / "keras9" / "fake.cpu.lock"
    lock.write_text(lock.read_text() + "# changed\n")
    said = bench("clean")
    frees(said, "environments/keras9-fake-cpu-")
    frees(said, "compiled/keras9-fake-cpu-")
    assert "its backend's files have changed" in said.out
    assert folders(place, "environments") == folders(place, "compiled") == []
    assert list((place / "data" / "prepared").glob("patterns*"))


@pytest.mark.parametrize("damage", ["half made", "moved here", "python gone"])
def test_a_broken_environment_is_freed(bench: Bench, place: Path, damage: str) -> None:
    (made,) = folders(place, "environments")
    if damage == "half made":
        (made / "kbench.json").unlink()
    elif damage == "moved here":
        made = made.rename(made.with_name("keras9-fake-cpu-py3.9-0123456789ab"))
    else:
        (made / "bin" / "python").unlink()
    frees(bench("clean"), f"environments/{made.name}")
    assert not made.exists()


@pytest.mark.parametrize(
    "leftover",
    [
        "environments/.trash-0123456789abcdef",
        "data/prepared/.mnist-flat-any-real-0123456789abcdef.unfinished-x1y2",
        "data/files/.train-images-idx3-ubyte.gz.partial-x1y2",
        "compiled/keras9-gone-cpu-py3.6-0123456789ab",
    ],
)
def test_what_a_killed_kbench_left_is_freed(bench: Bench, place: Path, leftover: str) -> None:
    (place / leftover).mkdir(parents=True)
    (place / leftover / "part").write_bytes(b"x" * 5000)
    frees(bench("clean"), leftover)
    assert not (place / leftover).exists()


def test_arrays_of_an_earlier_preparation_are_freed(bench: Bench, place: Path) -> None:
    (folder,) = (place / "data" / "prepared").glob("patterns*")
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | {"version": prepared.VERSION - 1}))
    frees(bench("clean"), f"data/prepared/{folder.name}: an earlier kbench made it")


@pytest.mark.parametrize("what", ["environments", "data", "compiled", "all"])
def test_a_kind_is_freed_whole(bench: Bench, place: Path, what: str) -> None:
    frees(bench("clean", what), "" if what == "all" else f"{what}/")
    for kind in ("environments", "compiled"):
        assert bool(folders(place, kind)) == (what not in (kind, "all"))
    assert bool(list((place / "data" / "prepared").glob("patterns*"))) == (what not in ("data", "all"))


def test_nothing_is_left_of_what_was_freed(bench: Bench, place: Path) -> None:
    (made,) = folders(place, "environments")
    own = place / "host" / "0123456789abcdef"
    own.mkdir(parents=True)
    (own / cleaning.OWN_MARKER).write_text("x")
    left = [made.with_name(f"{made.name}.lock"), made.parent / "logs" / f"{made.name}.log", own.with_suffix(".lock")]
    left += [place / "environments" / "keras9-gone-cpu-py3.6-0123456789ab.lock", place / "interpreters" / "uv.lock"]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    frees(bench("clean", "all"), "environments/")
    there = {path.relative_to(place).as_posix() for path in place.rglob("*")}
    assert there == {usage.TAG, usage.TURNS, "host"}, there  # the marker, and the lock under which it is cleaned


def test_locks_stay_as_long_as_a_kbench_runs(bench: Bench, place: Path) -> None:
    lock = place / "environments" / "keras9-other-cpu-py3.6-0123456789ab.lock"
    lock.write_text("")
    process = running(place, "environments/keras9-other-cpu-")
    try:
        assert bench("clean", "all").status == 0
        assert lock.exists()
    finally:
        process.communicate("\n", timeout=60)
    assert bench("clean").status == 0
    assert not lock.exists()


def test_the_next_kbench_forgets_one_that_was_killed(place: Path) -> None:
    process = running(place, "data/")
    process.kill()
    process.communicate(timeout=60)
    with usage.in_use(place, ["data/"]):
        assert len(list((place / usage.USES).glob("*.json"))) == 1


def test_how_much_is_freed_is_said(bench: Bench, place: Path) -> None:
    there = usage.size(folders(place, "compiled"))
    assert there.there == there.freed >= 10_000
    said = bench("clean", "compiled")
    assert f"Freed {size(there.freed)}." in said.out


def test_what_uvs_cache_shares_is_not_counted_as_freed(tmp_path: Path) -> None:
    (tmp_path / "environment").mkdir()
    (tmp_path / "environment" / "own").write_bytes(b"x" * 4096)
    (tmp_path / "environment" / "shared").write_bytes(b"x" * 8192)
    os.link(tmp_path / "environment" / "shared", tmp_path / "of uv")
    found = usage.size([tmp_path / "environment"])
    assert (found.there, found.freed) == (12288, 4096)
    assert usage.size([tmp_path]).freed == 12288


def test_a_dry_run_frees_nothing(bench: Bench, place: Path) -> None:
    before = everything(place)
    said = bench("clean", "all", "--dry-run")
    assert said.status == 0 and "would remove environments/keras9-fake" in said.out and "Would free " in said.out
    assert everything(place) == before


def test_a_run_in_progress_keeps_what_it_needs(bench: Bench, place: Path) -> None:
    process = running(place, "data/", "environments/keras9-fake-cpu-", "compiled/keras9-fake-cpu-")
    before = everything(place / "environments") | everything(place / "data") | everything(place / "compiled")
    said = bench("clean", "all")
    assert said.status == 0
    assert f"in use by the kbench that runs as process {process.pid}" in said.out
    assert everything(place / "environments") | everything(place / "data") | everything(place / "compiled") == before
    process.communicate("\n")
    frees(bench("clean", "all"), "environments/")


def test_a_run_reserves_what_its_plan_names(bench: Bench, place: Path) -> None:
    said: list[tuple[str, ...]] = []
    in_use = usage.in_use
    bench.patch.setattr(usage, "in_use", lambda folder, names: said.append(tuple(names)) or in_use(folder, names))
    bench.patch.setenv("KBENCH_CACHE", str(bench.environment().parent))  # where it is made already
    for command in (bench.measure(), bench("setup", "--backends", "fake", "--device", "cpu")):
        assert command.status == 0
    assert said[0] == ("data/", "compiled/own-", "environments/keras9-fake-cpu-", "compiled/keras9-fake-cpu-")
    assert said[1] == ("environments/",)


def test_a_run_that_was_killed_keeps_nothing(bench: Bench, place: Path) -> None:
    process = running(place, "")
    process.kill()
    process.communicate()
    frees(bench("clean", "environments"), "environments/")
    assert not list(place.glob(f"{usage.USES}/*"))


def test_an_environment_that_is_being_made_is_left(bench: Bench, place: Path) -> None:
    (made,) = folders(place, "environments")
    (made / "kbench.json").unlink()
    with filelock.FileLock(f"{made}.lock"):
        said = bench("clean")
    assert f"kept environments/{made.name}: it is being made" in said.out
    assert made.is_dir()


def test_an_environment_in_which_any_process_runs_is_left(bench: Bench, place: Path) -> None:
    (made,) = folders(place, "environments")
    process = subprocess.Popen([made / "bin" / "python", "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert f"{made.name}: in use by process {process.pid}" in bench("clean", "environments").out
    finally:
        process.communicate(b"\n")
    assert made.is_dir()


def test_a_folder_without_the_marker_is_not_touched(bench: Bench, place: Path) -> None:
    (place / usage.TAG).write_text("Signature: 8a477f597d28d172789f06886806bc55\n# somebody else's cache\n")
    before = everything(place)
    said = bench("clean", "all")
    assert said.status == 2 and "does not carry kbench's marker (CACHEDIR.TAG)" in said.err
    assert said.err.count("\n") == 1
    assert everything(place) == before


@pytest.mark.parametrize(
    "own",
    [
        "environments/my-thesis/chapter.tex",
        "environments/keras9-fake-cpu-py3.9-0123456789ab",  # a file
        "data/notes.txt",
        "data/prepared/mine/meta.json",
        "data/files/my_weights.h5",
        "data/files/imdb_ranks.npz",  # no address has it
        "compiled/of/another.o",
        "host/of-mine/file",
        "interpreters/mine/bin/python",
        "thesis.tex",
    ],
)
def test_what_kbench_did_not_make_stays(bench: Bench, place: Path, own: str) -> None:
    (place / own).parent.mkdir(parents=True, exist_ok=True)
    (place / own).write_text("mine")
    assert bench("clean", "all").status == 0
    assert (place / own).read_text() == "mine"


def test_links_are_never_followed(bench: Bench, place: Path, tmp_path: Path) -> None:
    (made,) = folders(place, "environments")
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(made, elsewhere, symlinks=True)
    precious = elsewhere / "precious"
    precious.write_text("mine")
    (made / "link").symlink_to(elsewhere)  # inside what is removed
    (place / "environments" / "keras9-fake-cpu-py3.9-0123456789ab").symlink_to(elsewhere)  # as if it were one
    (place / "compiled").rename(tmp_path / "compiled")
    (place / "compiled").symlink_to(tmp_path / "compiled")  # a whole kind
    frees(bench("clean", "all"), "environments/")
    assert precious.read_text() == "mine"
    assert list((tmp_path / "compiled").rglob("code.so"))
    assert not made.exists()


def test_what_cannot_be_removed_is_said_with_status_1(bench: Bench, place: Path) -> None:
    def refuse(path: Path, target: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    bench.patch.setattr(Path, "rename", refuse)
    said = bench("clean", "environments")
    assert said.status == 1
    assert "could not remove environments/keras9-fake-cpu-" in said.out and "Permission denied" in said.out


def test_a_python_stays_as_long_as_an_environment_was_made_from_it(bench: Bench, place: Path) -> None:
    (made,) = folders(place, "environments")
    of_uv = place / "interpreters" / "uv"
    (of_uv / "bin").mkdir(parents=True)
    (of_uv / "bin" / "python3").write_text("")
    (made / "bin" / "python").unlink()
    (made / "bin" / "python").symlink_to(of_uv / "bin" / "python3")
    items = [item for item in cleaning.survey(place, ()) if item.kind == cleaning.PYTHONS]
    (why,) = cleaning.remove(place, items).kept.values()
    assert why.startswith("environments are made from it")
    frees(bench("clean", "all"), "interpreters/uv")


def test_an_environment_of_an_unknown_backend_is_not_called_unused(bench: Bench, place: Path) -> None:
    bench.patch.delenv("KBENCH_BACKENDS")
    assert "Nothing to free." in bench("clean").out


def test_an_environment_from_a_named_python_is_used_too(bench: Bench, place: Path) -> None:
    environment(bench, place, Choice(Path(sys.executable), as_is=False))
    assert len(folders(place, "environments")) == 2
    assert "Nothing to free." in bench("clean").out


def test_an_empty_cache_is_no_error(bench: Bench, tmp_path: Path) -> None:
    bench.patch.setenv("KBENCH_CACHE", str(tmp_path / "none"))
    said = bench("clean", "all")
    assert said.status == 0 and "Nothing to free." in said.out
    assert not (tmp_path / "none").exists()
