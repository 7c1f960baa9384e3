"""`clean` removes what kbench made in its cache folder and nothing else, and never while a run goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_bench import Bench, Said

from kbench import datasets
from kbench.base import disk_usage
from kbench.cache import folder as cache_folder
from kbench.session import prepare
from kbench.words.text import size

ENVIRONMENT = "keras9-fake-cpu-py3.9-0123456789ab"
# Another kbench in the middle of a run: it says so, and ends when it is told to.
RUNNING = """
import sys
from pathlib import Path
from kbench.cache import folder
with folder.in_use(Path(sys.argv[1])):
    print("running", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def place(bench: Bench, tmp_path: Path) -> Path:
    """A cache folder of this test's own, with all that a run leaves there; the environment is an empty one."""
    folder = tmp_path / "cache"
    bench.patch.setenv("KBENCH_CACHE", str(folder))
    cache_folder.mark(folder)
    made = folder / "environments" / ENVIRONMENT
    (made / "bin").mkdir(parents=True)
    (made / "bin" / "python").symlink_to(sys.executable)
    (made / "kbench.json").write_text("{}")
    (folder / "environments" / "logs").mkdir()
    for left in (f"{ENVIRONMENT}.lock", f"logs/{ENVIRONMENT}.log"):
        (folder / "environments" / left).write_text("")
    (folder / "compiled" / ENVIRONMENT).mkdir(parents=True)
    (folder / "compiled" / ENVIRONMENT / "code.so").write_bytes(b"x" * 10_000)
    datasets.prepare(str(bench.folder / "patterns.npz"), input="image", image_data_format="channels_last")
    return folder


@pytest.fixture
def other(place: Path) -> Iterator[subprocess.Popen[str]]:
    """Another kbench that uses the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNING, str(place)],
        env={**os.environ, "PYTHONPATH": str(Path(cache_folder.__file__).parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "running\n"
    yield process
    process.kill()
    process.communicate()


def everything(folder: Path) -> set[str]:
    """All files below a folder, but for the locks, which hold nothing."""
    paths = (path for path in folder.rglob("*") if path.suffix != ".lock" and not path.is_dir())
    return {path.relative_to(folder).as_posix() for path in paths}


def frees(said: Said, what: str) -> None:
    assert said.status == 0, said
    assert any(line.startswith(f"removed {what}") for line in said.out.splitlines()), said.out
    assert "\nFreed " in said.out


def test_clean_alone_shows_what_there_is_and_removes_nothing(bench: Bench, place: Path) -> None:
    before = everything(place)
    said = bench("clean")
    assert said.status == 0
    rows = {line.split()[0]: line.split()[-3:] for line in said.out.splitlines()[3:8]}
    assert rows["compiled"] == ["1", *size(disk_usage.size([place / "compiled"])[0]).split()]
    assert rows["interpreters"][1:] == ["0", "0"]
    assert "kbench clean environments | data | compiled | all" in said.out
    assert everything(place) == before


def test_all_comes_back_with_the_next_run_and_results_stay(bench: Bench, tmp_path: Path) -> None:
    bench.patch.setenv("KBENCH_CACHE", str(tmp_path / "cache"))
    assert bench.measure().status == 0
    results = {path: path.read_bytes() for path in bench.results.rglob("*") if path.is_file()}
    frees(bench("clean", "all"), "environments/")
    assert everything(tmp_path / "cache") == {cache_folder.TAG}
    assert {path: path.read_bytes() for path in bench.results.rglob("*") if path.is_file()} == results
    assert bench.measure().status == 0


@pytest.mark.parametrize("what", ["environments", "data", "compiled", "all"])
def test_a_kind_is_removed_whole_and_no_other(bench: Bench, place: Path, what: str) -> None:
    before = everything(place)
    frees(bench("clean", what), "" if what == "all" else f"{what}/")
    kept = {path for path in before if not path.startswith(f"{what}/") and what != "all"}
    assert everything(place) == kept | {cache_folder.TAG}


@pytest.mark.parametrize(
    "leftover",
    [
        "environments/keras9-gone-cpu-py3.6-0123456789ab",
        "environments/.keras9-gone-cpu-py3.6-0123456789ab.unfinished",
        "data/prepared/.mnist-flat-any-real-0123456789abcdef.unfinished-x1y2",
        "data/files/.train-images-idx3-ubyte.gz.partial",
        "compiled/keras9-gone-cpu-py3.6-0123456789ab",
    ],
)
def test_what_a_killed_kbench_left_is_removed(bench: Bench, place: Path, leftover: str) -> None:
    (place / leftover).mkdir(parents=True)
    (place / leftover / "part").write_bytes(b"x" * 5000)
    frees(bench("clean", leftover.partition("/")[0]), leftover)
    assert not (place / leftover).exists()


def test_how_much_is_freed_is_said_without_what_uvs_cache_shares(bench: Bench, place: Path) -> None:
    code = place / "compiled" / ENVIRONMENT / "code.so"
    assert disk_usage.size([code]) == (disk_usage.size([place / "compiled"])[0], 0)
    (place / "compiled" / ENVIRONMENT / "shared").write_bytes(b"x" * 8192)
    os.link(place / "compiled" / ENVIRONMENT / "shared", place.parent / "of uv")
    there, shared = disk_usage.size([place / "compiled"])
    assert shared == 8192
    said = bench("clean", "compiled")
    assert f"Freed {size(there - shared)}; 8 KiB more stay in uv's own cache" in said.out


def test_nothing_is_removed_while_a_run_goes_on_and_a_killed_one_holds_nothing(
    bench: Bench, place: Path, other: subprocess.Popen[str]
) -> None:
    before = everything(place)
    said = bench("clean", "all")
    assert (
        said.status == 2 and said.err == f"kbench: error: another kbench is using {place}: wait until it has ended.\n"
    )
    assert everything(place) == before
    other.kill()
    other.communicate()
    frees(bench("clean", "all"), "environments/")


def test_runs_and_installations_say_that_they_use_the_folder(bench: Bench, place: Path) -> None:
    said: list[Path] = []
    in_use = cache_folder.in_use
    bench.patch.setattr(cache_folder, "in_use", lambda cache: said.append(cache) or in_use(cache))
    cache = bench.environment().parent  # where it is made already
    bench.patch.setenv("KBENCH_CACHE", str(cache))
    for command in (bench.measure(), bench("setup", "--backends", "fake", "--device", "cpu")):
        assert command.status == 0
    assert said == [cache, cache]


def test_two_runs_use_the_folder_at_once(place: Path, other: subprocess.Popen[str]) -> None:
    with prepare.reserved():
        assert other.poll() is None


def test_an_environment_in_which_any_process_runs_is_left(bench: Bench, place: Path) -> None:
    made = place / "environments" / ENVIRONMENT
    process = subprocess.Popen([made / "bin" / "python", "-c", "input()"], stdin=subprocess.PIPE)
    try:
        said = bench("clean", "environments")
        assert said.status == 0 and f"kept environments/{ENVIRONMENT}: a process runs in it" in said.out
    finally:
        process.communicate(b"\n")
    assert (made / "kbench.json").is_file()


def test_a_folder_without_the_marker_is_not_touched(bench: Bench, place: Path) -> None:
    (place / cache_folder.TAG).write_text("Signature: 8a477f597d28d172789f06886806bc55\n# somebody else's cache\n")
    before = everything(place)
    said = bench("clean", "all")
    assert said.status == 2 and "does not carry kbench's marker (CACHEDIR.TAG)" in said.err
    assert said.err.count("\n") == 1
    assert everything(place) == before


@pytest.mark.parametrize(
    "own",
    [
        "environments/my-thesis/chapter.tex",
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
    made = place / "environments" / ENVIRONMENT
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(made, elsewhere, symlinks=True)
    precious = elsewhere / "precious"
    precious.write_text("mine")
    (made / "link").symlink_to(elsewhere)  # inside what is removed
    (made.parent / "keras9-fake-cpu-py3.9-ffffffffffff").symlink_to(elsewhere)  # as if it were one
    (place / "compiled").rename(tmp_path / "compiled")
    (place / "compiled").symlink_to(tmp_path / "compiled")  # a whole kind
    frees(bench("clean", "all"), "environments/")
    assert precious.read_text() == "mine"
    assert list((tmp_path / "compiled").rglob("code.so"))
    assert not made.exists()


def test_what_cannot_be_removed_is_said_with_status_1_and_is_not_half_an_environment(
    bench: Bench, place: Path
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    bench.patch.setattr(cache_folder.shutil, "rmtree", refuse)
    said = bench("clean", "environments")
    assert said.status == 1
    assert f"could not remove environments/{ENVIRONMENT}: Permission denied" in said.out
    assert not (place / "environments" / ENVIRONMENT / "kbench.json").exists()


def test_an_empty_cache_is_no_error(bench: Bench, tmp_path: Path) -> None:
    bench.patch.setenv("KBENCH_CACHE", str(tmp_path / "none"))
    for words in (("clean",), ("clean", "all")):
        assert bench(*words).status == 0
    assert not (tmp_path / "none").exists()
