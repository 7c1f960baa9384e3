"""A packed run is read like its folder, is the same each time, and can harm nobody who reads it."""

from __future__ import annotations

import io
import json
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from fake_bench import call
from fake_runs import cell, fake_run
from hypothesis import given
from hypothesis import strategies as st

import kbench
from kbench import store
from kbench.errors import UserError
from kbench.outputs import one_run
from kbench.outputs.told import ToldRun
from kbench.records.values import FAILED, OK, Cell, Outcome
from kbench.store import packed

OTHERS = cell(backend="keras3/jax")
CELLS: list[tuple[Cell, float, Outcome]] = [(cell(), 2.0, Outcome(OK)), (OTHERS, 1.0, Outcome(OK))]
Change = Callable[[list[tarfile.TarInfo]], None]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, beside the current one."""
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("KBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def run(cache: Path) -> Path:
    return fake_run(cache.parent / "here" / "results", CELLS, "mine")


@pytest.fixture
def alone(run: Path) -> Path:
    """The folder that a packed run had."""
    store.pack(run, store.packed_file(run))
    run.rename(run.parents[1] / "as it was")
    return run


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if not path.is_dir()}


def test_it_is_the_same_bytes_whenever_and_wherever_it_is_packed(run: Path, tmp_path: Path) -> None:
    store.pack(run, tmp_path / "first")
    for path in run.rglob("*"):
        os.utime(path, (1, 1))
        path.chmod(0o700)
    (run / "summary.csv").write_text("derived")
    (run / "cells" / "left by the guest").mkdir()
    store.pack(run, tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_files_of_further_workers_are_packed_like_those_of_the_first(cache: Path) -> None:
    broken = [(cell(), 2.0, Outcome(OK)), (OTHERS, 1.0, Outcome(FAILED, "worker 1: killed by SIGKILL"))]
    run = fake_run(cache.parent / "here" / "results", broken, "mine")
    for folder in (run / "cells").iterdir():
        for kind in ("log.worker1.txt", "events.worker1.jsonl", "spec.worker1.json"):
            (folder / kind).write_text("{}")
    assert store.pack(run, store.packed_file(run)) == [f"cells/{OTHERS.id}/log.worker1.txt"]
    run.rename(run.parents[1] / "as it was")
    there = {
        path.relative_to(store.raw_folder(run)).as_posix() for path in store.raw_folder(run).rglob("*.worker1.*")
    }
    kinds = ("events.worker1.jsonl", "spec.worker1.json")
    every = {f"cells/{one.id}/{kind}" for one in (cell(), OTHERS) for kind in kinds}
    assert there == {*every, f"cells/{OTHERS.id}/log.worker1.txt"}


def test_it_is_read_and_reported_like_the_folder_and_stays_as_it_is(alone: Path) -> None:
    folder = (alone.parents[1] / "as it was").rename(alone.parents[1] / alone.name)
    file = store.packed_file(alone)
    before = file.read_bytes()
    of_folder, of_file = store.read(folder), store.read(alone)
    assert of_file.measured == of_folder.measured and of_file.name == of_folder.name == "mine"
    one_run.rebuild(ToldRun(of_folder), plots=False)
    written = one_run.rebuild(ToldRun(of_file), plots=False)
    assert {path.parent for path in written} == {alone}
    for path in written:
        assert path.read_bytes() == (folder / path.name).read_bytes(), path.name
    assert file.read_bytes() == before
    assert not (alone / "run.json").exists() and not (alone / "cells").exists()


def test_only_logs_of_what_went_wrong_are_in_it(run: Path) -> None:
    broken = fake_run(run.parent, [(cell(), 1.0, Outcome(OK)), (OTHERS, 1.0, Outcome(FAILED, "it broke"))], "broken")
    for folder in (broken / "cells").iterdir():
        (folder / "log.txt").write_text("where it was")
        (folder / "files").mkdir()
        (folder / "files" / "train.py").write_text("the user's")
        (folder / "trace.json.gz").write_bytes(b"large")
    (broken / "cells" / OTHERS.id / "stdout.txt").symlink_to("/etc/passwd")
    assert store.pack(broken, store.packed_file(broken)) == [f"cells/{OTHERS.id}/log.txt"]
    found = files(store.raw_folder(moved(broken)))
    of_each = ["events.jsonl", "outcome.json", "spec.json"]
    assert sorted(Path(name).name for name in found if cell().id in name) == of_each
    assert sorted(Path(name).name for name in found if OTHERS.id in name) == [of_each[0], "log.txt", *of_each[1:]]


def moved(run: Path) -> Path:
    run.rename(run.parents[1] / "elsewhere")
    return run


def test_what_explains_a_run_and_what_parity_compares_are_in_it(run: Path) -> None:
    kept = ["explain/inside/run.json", "explain/imports.json", "earlier/a.1/events.jsonl", "stdin", "locks/a.lock"]
    kept += ["cells/.an example's \\ name\n\udcff/events.jsonl"]
    kept += ["cells/a/forward.npz", "cells/a/call_2/step_10.npz", "cells/a/call_2/moved_1.npz"]
    left = [
        "saved/captured.npz",
        "cells/a/own_data.npz",
        "cells/a/keras_home/keras.json",
        "plots/overview.png",
        ".lock",
    ]
    for name in (*kept, *left):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_bytes(os.fsencode(name))
    store.pack(run, store.packed_file(run))
    found = files(store.raw_folder(moved(run)))
    assert {name: os.fsdecode(found.get(name, b"")) for name in kept} == {name: name for name in kept}
    assert not found.keys() & {*left}


def test_it_is_found_by_name_and_by_path_and_is_never_the_latest(alone: Path) -> None:
    results = alone.parent
    for named in ("mine", "results/mine", str(store.packed_file(alone))):
        assert store.find(named, Path("results")).absolute() == alone
    assert store.names(results) == ["mine"]
    assert store.by_time(results) == [] and store.by_time(results, packed=True) == [alone]
    with pytest.raises(UserError, match="no runs of your own"):
        store.latest(results)
    with pytest.raises(UserError, match=r"There is no run 'mien': did you mean mine\?"):
        store.find("mien", results)
    with pytest.raises(UserError, match="exists already"):
        store.check_name(results, "mine")


def test_a_folder_of_any_name_can_be_packed(run: Path) -> None:
    odd = run.rename(run.with_name(os.fsdecode(b"my run\n\xff")))
    before = store.read(odd).measured
    store.pack(odd, store.packed_file(odd))
    assert store.read(moved(odd)).measured == before


def test_beside_its_folder_the_folder_counts(run: Path) -> None:
    store.pack(run, store.packed_file(run))
    assert store.find("mine", run.parent) == run and store.raw_folder(run) == run
    assert store.names(run.parent) == ["mine"]
    with pytest.raises(UserError, match=r"is packed from .*mine, which is there"):
        store.find(str(store.packed_file(run)), run.parent)


def test_it_is_unpacked_once_for_each_content(alone: Path, cache: Path) -> None:
    first = store.raw_folder(alone)
    assert store.raw_folder(alone) == first and first.parent.parent.parent == cache
    (first / "run.json").unlink()  # nobody looks again
    assert store.raw_folder(alone) == first
    copied = alone.with_name("renamed")
    store.packed_file(copied).write_bytes(store.packed_file(alone).read_bytes())
    assert store.raw_folder(copied) == first
    assert [path.name for path in first.parent.iterdir()] == [first.name]


def test_unpacking_gives_back_the_raw_files(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "resume", "mine")
    assert said.status == 2 and "mine is packed: unpack it first, with" in said.err and "unpack mine`" in said.err
    alone.mkdir()
    (alone / "summary.md").write_text("derived")
    assert call(capsys, "unpack", "mine").status == 0
    before = {name: one for name, one in files(alone.parents[1] / "as it was").items() if "keras_home" not in name}
    assert files(alone) == before | {"summary.md": b"derived"}
    again = call(capsys, "unpack", "mine")
    assert again.status == 2 and "is no packed run" in again.err


def test_every_command_reads_it(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(store.packed_file(alone))
    said = call(capsys, "report", file, "--no-plots")
    assert said.status == 0 and "Tables: results/mine (start with report.html)" in said.out
    assert (alone / "report.html").is_file()
    said = call(capsys, "compare", file, "as it was")
    assert said.status == 0 and "2 no difference shown" in said.out, said
    assert call(capsys, "export", "mine", "--to", "json").status == 0
    assert json.loads((alone / "export" / "data.json").read_text())["name"] == "mine"
    loaded = kbench.load(file)
    assert len(loaded.summary) == 2 and "keras3/jax" in loaded._repr_html_()
    assert "mine" in call(capsys, "list", "runs").out
    packed_again = call(capsys, "pack", "mine")
    assert packed_again.status == 2 and "mine is packed already" in packed_again.err


def test_packing_says_where_the_file_is_and_which_logs_are_in_it(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = call(capsys, "pack", "latest", "--out", ".")
    assert said.status == 0 and said.out.startswith("mine.kbench.zip: ") and "log" not in said.out
    (run / "cells" / OTHERS.id / "outcome.json").unlink()
    (run / "cells" / OTHERS.id / "log.txt").write_text("secret")
    assert f"a log of what did not end ok, such as cells/{OTHERS.id}/log.txt" in call(capsys, "pack", "mine").out


# What is wrong with a packed run -> words of the sentence.


def tar(entries: Iterable[tarfile.TarInfo | str], form: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        for one in entries:
            entry = tarfile.TarInfo(one) if isinstance(one, str) else one
            entry.size = entry.size or (2 if entry.isreg() else 0)
            archive.addfile(entry, io.BytesIO(b"{}" + bytes(entry.size)))
    return made.getvalue()


def zipped(content: bytes, comment: bytes = b"kbench: a packed run, form 1", how: int = zipfile.ZIP_STORED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", how) as archive:
        archive.comment = comment
        archive.writestr("mine.tar.xz", content)
    return made.getvalue()


def holding(*entries: tarfile.TarInfo | str) -> bytes:
    return zipped(lzma.compress(tar(["mine/run.json", *entries])))


def entry(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


def sparse() -> tarfile.TarInfo:
    made = tarfile.TarInfo("mine/stdin")
    made.pax_headers = {"GNU.sparse.map": "0,1", "GNU.sparse.size": str(1 << 40)}
    return made


def two_members() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.comment = b"kbench: a packed run, form 1"
        for name in ("mine.tar.xz", "other.tar.xz"):
            archive.writestr(name, lzma.compress(tar(["mine/run.json"])))
    return made.getvalue()


NO_FILE = "is no file of a run, or is there twice"
HOSTILE: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "is damaged, or no run that kbench packed"),
    "text": (b"a mail instead of its attachment", "is damaged, or no run that kbench packed"),
    "another zip": (zipped(b"", comment=b""), "is no run that kbench packed"),
    "a later form": (zipped(b"", comment=b"kbench: a packed run, form 2"), "by a newer kbench: update kbench"),
    "no xz": (zipped(b"no xz at all"), "Input format not supported"),
    "compressed twice": (zipped(b"mine", how=zipfile.ZIP_DEFLATED), "not stored as it is"),
    "two members": (two_members(), "is damaged"),
    "half of it": (zipped(lzma.compress(tar(["mine/run.json"]))[:-20]), "its end is missing"),
    "no tar": (zipped(lzma.compress(b"mine")), "is damaged"),
    "no run.json": (zipped(lzma.compress(tar(["mine/stdin"]))), "has no run.json"),
    "up": (holding("mine/../../../evil"), NO_FILE),
    "up from a cell": (holding("mine/cells/../events.jsonl"), NO_FILE),
    "absolute": (holding("/tmp/evil"), NO_FILE),
    "absolute below the name": (holding("mine//tmp/evil"), NO_FILE),
    "nowhere": (holding("mine/cells/./events.jsonl"), NO_FILE),
    "below a cell": (holding("mine/cells/a/b/events.jsonl"), NO_FILE),
    "program": (holding("mine/sitecustomize.py"), NO_FILE),
    "twice": (holding("mine/run.json"), NO_FILE),
    "twice by another folder": (holding("other/run.json"), NO_FILE),
    "link": (holding(entry("mine/stdin", tarfile.SYMTYPE, "/etc/passwd")), NO_FILE),
    "hard link": (holding(entry("mine/stdin", tarfile.LNKTYPE, "mine/run.json")), NO_FILE),
    "folder": (holding(entry("mine/cells", tarfile.DIRTYPE)), NO_FILE),
    "pipe": (holding(entry("mine/stdin", tarfile.FIFOTYPE)), NO_FILE),
    "device": (holding(entry("mine/stdin", tarfile.CHRTYPE)), NO_FILE),
    "sparse": (holding(sparse()), NO_FILE),
    "long name": (holding(f"mine/cells/{'x' * 300}/events.jsonl"), "File name too long"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_that_is_damaged_or_hostile_is_one_sentence_and_leaves_nothing(
    what: str, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, words = HOSTILE[what]
    Path("mine.kbench.zip").write_bytes(content)
    for command in (["report", "--no-plots"], ["compare", "mine"], ["unpack"]):
        said = call(capsys, *command, "mine.kbench.zip")
        assert said.status == 2, said
        (line,) = said.err.splitlines()
        assert line.startswith("kbench: error: ") and "mine" in line and words in line, line
        assert [path for path in cache.rglob("*") if path.is_file()] == []
        assert not Path("mine/run.json").exists() and not Path(cache.parent, "evil").exists()


@pytest.mark.parametrize(
    ("limit", "words"),
    [("MOST_BYTES", "or it has more than"), ("_MEMORY", "Memory usage limit"), ("MOST_FILES", "more than 2 files")],
)
def test_a_bomb_is_refused_before_it_is_unpacked(
    alone: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, limit: str, words: str
) -> None:
    monkeypatch.setattr(packed, limit, {"MOST_BYTES": 1000, "_MEMORY": 1 << 20, "MOST_FILES": 2}[limit])
    with pytest.raises(UserError, match=words):
        store.read(alone)
    assert not cache.exists()


@pytest.mark.parametrize("limit", ["MOST_BYTES", "MOST_FILES", "MOST_PACKED"])
def test_what_could_not_be_read_again_is_not_packed(run: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(packed, limit, 2)
    with pytest.raises(UserError, match="cannot be packed: its files are more than"):
        store.pack(run, store.packed_file(run))
    assert not store.packed_file(run).exists()


@given(st.data())
def test_whatever_happens_to_its_bytes_it_is_the_run_or_an_error(data: st.DataObject) -> None:
    content = bytearray(holding("mine/cells/a/events.jsonl"))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 8))
        content[place : place + length] = data.draw(st.binary(max_size=8))
    file = Path("changed.kbench.zip")
    file.write_bytes(content)
    try:
        found = store.raw_folder(Path("changed"))
    except UserError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert files(found) == {"run.json": b"{}", "cells/a/events.jsonl": b"{}"}


def test_a_cache_that_cannot_be_written_is_one_sentence(alone: Path, cache: Path) -> None:
    cache.write_text("")
    with pytest.raises(UserError, match=r"Cannot unpack .*mine\.kbench.zip into .*cache"):
        store.read(alone)
