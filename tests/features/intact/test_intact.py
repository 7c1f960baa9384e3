"""An environment is what its packages brought: a file that was cut or edited is said, and what fails is made again.

uv links files into environments from its cache, so one that is written to is another in all, and in that cache.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fake_backends import installable
from fake_bench import Bench

from kbench.environments import ensure, folders
from kbench.features.intact import packages
from kbench.records.values import Backend

LAYERS, FRAMEWORK = "keras/layers.py", "theano.py"
CHANGED = "in its environment changed after the installation"
AGAIN = "the next run makes its environment again"


@pytest.fixture(autouse=True)
def own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of kbench and of uv, which may be damaged."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("KBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def bench(bench: Bench, tmp_path: Path) -> Bench:
    """With a first run, which worked."""
    bench.patch.setenv("KBENCH_CACHE", str(tmp_path / "cache"))
    bench.patch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    assert bench.measure("--name", "first").status == 0
    return bench


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """A backend whose environment is made."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "files" / "wheels"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    backend = installable(tmp_path / "files")
    ensure.ensure(backend, backend.builds[0])
    return backend


def environment() -> Path:
    (marker,) = Path(os.environ["KBENCH_CACHE"]).glob(f"environments/*/{folders.MARKER}")
    return marker.parent


def file(name: str) -> Path:
    (found,) = environment().glob(f"lib/python*/site-packages/{name}")
    return found


def write(path: Path, text: str, later: int = 1_000_000_000) -> None:
    """Into the file itself, so many ns after the environment was finished."""
    when = (environment() / folders.MARKER).stat().st_mtime_ns + later
    path.write_text(text)
    os.utime(path, ns=(when, when))


def both() -> list[list[str]]:
    return [packages.changed(environment(), thorough) for thorough in (False, True)]


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_a_file_that_was_edited_is_said_in_the_run_and_by_doctor_with_what_undoes_it(bench: Bench) -> None:
    first, original = bench.results / "first" / "run.json", file(LAYERS).read_text()
    assert "changed_files" not in first.read_text()
    write(file(LAYERS), original + "\n# print(here)\n")
    said = bench.measure("--name", "edited")
    assert said.status == 0 and f"{LAYERS} {CHANGED}" in one_line(said.out) and AGAIN not in said.err
    assert f"{LAYERS} {CHANGED}" in one_line(bench("report", "edited").out)
    (line,) = [one for one in one_line(bench("doctor").out).split(" to do ") if one.startswith("keras9/fake")]
    advised = f"rm -r {environment()}"
    assert f"{LAYERS} changed after the installation: {advised}" in line
    subprocess.run(advised.split(), check=True)
    again = bench.measure("--name", "again")
    assert again.status == 0 and CHANGED not in one_line(again.out)
    assert file(LAYERS).read_text() == original
    record = json.loads(first.read_text())  # and whatever others wrote into theirs is no error
    for kept in (5, {"a": 5}, {"a": []}, {"a": [5]}, {"a": ["\x1b[31m"]}):
        record["provenance"]["changed_files"] = kept
        first.write_text(json.dumps(record))
        shown = bench("report", "first")
        assert shown.status == 0 and "\x1b" not in shown.out, kept


def test_where_files_are_damaged_and_cells_fail_the_next_run_makes_the_environment_again(bench: Bench) -> None:
    original = file(LAYERS).read_text()
    write(file(LAYERS), "")
    failed = bench.measure("--name", "cut")
    assert failed.status == 1 and AGAIN in one_line(failed.err)
    assert bench("resume", "cut", "--retry", "failed").status == 0
    assert file(LAYERS).read_text() == original
    # Of the same size and no later: that is looked for where Keras cannot be imported.
    original = file(FRAMEWORK).read_text()
    write(file(FRAMEWORK), "(" * len(original), later=-10_000_000_000)  # or Python takes its .pyc
    assert both() == [[], [FRAMEWORK]]
    failed = bench.measure("--name", "cut2")
    assert failed.status == 1 and AGAIN in one_line(failed.err)
    assert bench("resume", "cut2", "--retry", "failed").status == 0
    assert file(FRAMEWORK).read_text() == original


def test_what_is_damaged_in_uvs_cache_is_downloaded_again(tiny: Backend) -> None:
    original = file("keras.py").read_text()
    write(file("keras.py"), "")
    shutil.rmtree(os.environ["KBENCH_CACHE"])
    ensure.ensure(tiny, tiny.builds[0])
    assert file("keras.py").read_text() == original
    assert both() == [[], []]


def test_changed_is_what_has_other_contents_or_is_gone_and_not_what_was_only_touched(tiny: Backend) -> None:
    assert both() == [[], []]
    text = file("keras.py").read_text()
    write(file("keras.py"), text)
    assert both() == [[], []]
    write(file("keras.py"), text.upper())
    assert both() == [["keras.py"]] * 2
    write(file("keras.py"), text.upper(), later=0)
    assert both() == [[], ["keras.py"]]
    write(file("keras.py"), text + "#", later=0)
    assert both() == [["keras.py"]] * 2
    file("keras.py").unlink()
    assert both() == [["keras.py"]] * 2
    (record,) = environment().glob("lib/python*/site-packages/*.dist-info/RECORD")
    record.write_bytes(b"\xff\x00")
    assert both() == [["tiny_backend-1.0.dist-info/RECORD"]] * 2
    record.write_text("a,b\n,\n\ntiny.py,md9=x,1\n")
    assert both() == [["tiny.py"]] * 2
