"""Environments are made once, whole or not at all: with the real uv, on a wheel made for the test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import filelock
import pytest
from fake_backends import installable, write_wheel

from kbench.environments import ensure, folders, installers
from kbench.environments.interpreters import Choice
from kbench.errors import Unavailable, UserError
from kbench.records.values import Backend

PROJECT = Path(__file__).resolve().parents[2]

# Another kbench in the middle of an installation: it says so, and goes on when it is told to.
IN_THE_MIDDLE = """
import sys
from pathlib import Path
from kbench.environments import ensure, installers
from kbench.selection import backends
sync = installers.sync
def wait(*arguments):
    print("installing", flush=True)
    sys.stdin.readline()
    sync(*arguments)
installers.sync = wait
backend = backends.load(Path(sys.argv[1]))
ensure.ensure(backend, backend.builds[0], cache=Path(sys.argv[2]))
"""


@pytest.fixture(autouse=True)
def only_the_tests_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "files" / "wheels"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))


@pytest.fixture
def backend(tmp_path: Path) -> Backend:
    return installable(tmp_path / "files")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def other_kbench(backend: Backend, cache: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", IN_THE_MIDDLE, str(backend.path), str(cache)],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "installing\n"
    return process


def test_an_environment_is_made_once_and_then_found(backend: Backend, cache: Path) -> None:
    said: list[str] = []
    assert ensure.find(backend, backend.builds[0], cache=cache) is None
    made = ensure.ensure(backend, backend.builds[0], cache=cache, report=said.append)
    assert len(said) == 1 and said[0].startswith("keras9/tiny: making its environment (cpu, Python 3.")
    again = ensure.ensure(backend, backend.builds[0], cache=cache, report=said.append)
    assert again == made == ensure.find(backend, backend.builds[0], cache=cache)
    assert len(said) == 1
    subprocess.run([made.python, "-c", "import tiny, keras"], check=True)
    for lock in (cache / "environments").glob("*.lock"):
        filelock.FileLock(lock).acquire(timeout=0).lock.release()


def test_its_folder_says_what_it_is_and_its_marker_what_it_was_made_from(backend: Backend, cache: Path) -> None:
    made = ensure.ensure(backend, backend.builds[0], cache=cache)
    assert made.folder is not None
    assert made.folder.name.startswith("keras9-tiny-cpu-py3.")
    details = json.loads((made.folder / ensure.MARKER).read_text())
    assert details["lock_sha256"] == made.lock_sha256
    assert details["schema"] == ensure.SCHEMA
    assert details["cost"]["seconds"] >= 0 and details["cost"]["mib"] > 0 and details["cost"]["packages"] == 1


def test_another_lock_is_another_environment(backend: Backend, cache: Path) -> None:
    first = ensure.ensure(backend, backend.builds[0], cache=cache)
    lock = backend.builds[0].lock
    assert lock is not None
    lock.write_text(lock.read_text() + "# changed\n")
    assert ensure.find(backend, backend.builds[0], cache=cache) is None
    assert ensure.ensure(backend, backend.builds[0], cache=cache).folder != first.folder


def test_of_two_at_once_one_waits_and_says_so(backend: Backend, cache: Path) -> None:
    other = other_kbench(backend, cache)
    said: list[str] = []

    def report(text: str) -> None:
        said.append(text)
        assert other.stdin is not None
        other.stdin.write("\n")
        other.stdin.flush()

    ensure.ensure(backend, backend.builds[0], cache=cache, report=report)
    other.communicate()
    assert other.returncode == 0
    assert len(said) == 1 and said[0].startswith("waiting for another kbench, which is making keras9-tiny-cpu")


def test_an_environment_is_found_by_another_path_to_the_cache_but_not_in_a_copy(
    backend: Backend, cache: Path, tmp_path: Path
) -> None:
    made = ensure.ensure(backend, backend.builds[0], cache=cache)
    assert made.folder is not None
    linked, copied = tmp_path / "linked", tmp_path / "copied"
    linked.symlink_to(cache, target_is_directory=True)
    shutil.copytree(cache, copied, symlinks=True)
    place = made.folder.relative_to(cache)
    assert folders.finished(linked / place) == folders.finished(made.folder) is not None
    assert folders.finished(copied / place) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 0}', '{"schema": 1, "folder": "/elsewhere"}'])
def test_an_environment_with_a_broken_marker_is_made_again(backend: Backend, cache: Path, text: str) -> None:
    folder = ensure.ensure(backend, backend.builds[0], cache=cache).folder
    assert folder is not None
    (folder / ensure.MARKER).write_text(text)
    assert ensure.find(backend, backend.builds[0], cache=cache) is None
    said: list[str] = []
    ensure.ensure(backend, backend.builds[0], cache=cache, report=said.append)
    assert len(said) == 1


@pytest.mark.parametrize("instead", [None, "/bin/false"])
def test_an_environment_whose_python_is_gone_or_replaced_is_made_again(
    backend: Backend, cache: Path, instead: str | None
) -> None:
    made = ensure.ensure(backend, backend.builds[0], cache=cache)
    made.python.unlink()
    if instead:
        shutil.copy(instead, made.python)
    assert ensure.find(backend, backend.builds[0], cache=cache) is None
    ensure.ensure(backend, backend.builds[0], cache=cache)
    subprocess.run([made.python, "-c", ""], check=True)


@pytest.mark.parametrize("gone", ["site-packages/keras.py", "site-packages/pip/main.py", "site-packages"])
def test_an_environment_of_which_a_part_is_gone_is_made_again(backend: Backend, cache: Path, gone: str) -> None:
    made = ensure.ensure(backend, backend.builds[0], cache=cache)
    assert made.folder is not None
    (packages,) = made.folder.glob("lib/python*/site-packages")
    (packages / "pip").mkdir()
    (packages / "pip" / "main.py").touch()
    marker = made.folder / ensure.MARKER
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "installed": folders.installed(made.folder)}))
    (packages / "__pycache__").mkdir(exist_ok=True)
    assert ensure.find(backend, backend.builds[0], cache=cache) == made
    shutil.rmtree(packages / "__pycache__")
    (packages / "added.py").touch()
    assert ensure.find(backend, backend.builds[0], cache=cache) == made
    removed = packages.parent / gone
    shutil.rmtree(removed) if removed.is_dir() else removed.unlink()
    assert ensure.find(backend, backend.builds[0], cache=cache) is None
    ensure.ensure(backend, backend.builds[0], cache=cache)
    assert (packages / "keras.py").exists()


def test_a_cache_that_cannot_be_written_is_one_sentence(backend: Backend, cache: Path) -> None:
    cache.write_text("a file")
    with pytest.raises(Unavailable, match=r"cannot be written .*KBENCH_CACHE"):
        ensure.ensure(backend, backend.builds[0], cache=cache)


def test_a_failing_installation_says_why_and_where_its_log_is(tmp_path: Path, backend: Backend, cache: Path) -> None:
    (tmp_path / "files/wheels/tiny_backend-1.0-py3-none-any.whl").unlink()
    with pytest.raises(Unavailable) as reason:
        ensure.ensure(backend, backend.builds[0], cache=cache)
    text = str(reason.value)
    assert text.startswith("the environment of keras9/tiny could not be made: No solution found")
    assert "\n" not in text
    (log,) = (cache / "environments/logs").iterdir()
    assert str(log) in text and "tiny-backend" in log.read_text()
    assert not [one for one in (cache / "environments").glob("keras9*") if one.is_dir()]


def test_the_builds_own_index_is_tried_where_the_users_have_not_got_it(
    tmp_path: Path, backend: Backend, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "files/wheels/tiny_backend-1.0-py3-none-any.whl").unlink()
    write_wheel(tmp_path / "index" / "tiny-backend")
    (tmp_path / "index/tiny-backend/index.html").write_text(
        '<!DOCTYPE html><html><body><a href="tiny_backend-1.0-py3-none-any.whl">'
        "tiny_backend-1.0-py3-none-any.whl</a></body></html>"
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", empty.as_uri())
    build = replace(backend.builds[0], indexes=((tmp_path / "index").as_uri(),))
    assert ensure.ensure(backend, build, cache=cache).python.exists()


def test_libraries_are_linked_and_compiled_into_the_environment(tmp_path: Path, cache: Path) -> None:
    source = tmp_path / "files/keras9/shim.c"
    source.parent.mkdir(parents=True)
    source.write_text("int answer(void) { return 42; }\n")
    backend = installable(
        tmp_path / "files",
        more='[libraries]\n"libother.so.1" = "pyvenv.cfg"\n[compiled]\n"libshim.so.1" = "shim.c"',
    )
    folder = ensure.ensure(backend, backend.builds[0], cache=cache).folder
    assert folder is not None
    assert (folder / ensure.LIBRARIES / "libother.so.1").resolve() == folder / "pyvenv.cfg"
    load = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).answer())"
    shim = folder / ensure.LIBRARIES / "libshim.so.1"
    assert subprocess.check_output([sys.executable, "-c", load, shim], text=True) == "42\n"


def test_missing_programs_are_named_before_anything_is_installed(
    backend: Backend, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(Unavailable, match="needs the program no-such-program"):
        ensure.ensure(replace(backend, programs=("no-such-program",)), backend.builds[0], cache=cache)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(Unavailable, match="needs a C compiler"):
        ensure.ensure(replace(backend, compiled={"a.so": tmp_path}), backend.builds[0], cache=cache)
    assert not cache.exists()


def test_on_another_platform_only_an_own_environment_is_offered(
    backend: Backend, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ensure.platform, "machine", lambda: "arm64")
    with pytest.raises(Unavailable, match=r"locked for Linux on x86-64.*,as-is"):
        ensure.ensure(backend, backend.builds[0], cache=cache)


def test_a_build_without_packages_only_serves_an_own_environment(backend: Backend, cache: Path) -> None:
    build = replace(backend.builds[0], lock=None, requirements=(), note="conda only")
    with pytest.raises(Unavailable, match=r"cannot be installed \(conda only\)"):
        ensure.ensure(backend, build, cache=cache)


def test_an_environment_can_be_used_as_it_is(backend: Backend, cache: Path) -> None:
    made = ensure.ensure(backend, backend.builds[0], cache=cache)
    own = ensure.ensure(backend, backend.builds[0], explicit=Choice(made.python, as_is=True), cache=cache)
    assert own.folder is None
    assert own.python == made.python


def test_variables_for_the_locked_packages_are_kept_from_an_own_environment(tmp_path: Path, cache: Path) -> None:
    more = '[builds.variables]\nBOTH = "1"\n[builds.locked_variables]\nONLY_LOCKED = "{threads}"\n'
    backend = installable(tmp_path / "files", more_build=more)
    made = ensure.ensure(backend, backend.builds[0], cache=cache)
    own = ensure.ensure(backend, backend.builds[0], explicit=Choice(made.python, as_is=True), cache=cache)
    assert made.variables == {"BOTH": "1", "ONLY_LOCKED": "{threads}"}
    assert own.variables == {"BOTH": "1"}


def test_an_own_environment_without_the_backend_is_refused(backend: Backend, cache: Path) -> None:
    with pytest.raises(UserError, match="has no keras and no tiny"):
        ensure.ensure(backend, backend.builds[0], explicit=Choice(Path(sys.executable), as_is=True), cache=cache)


def test_an_environment_from_a_named_python_is_one_of_its_own(backend: Backend, cache: Path) -> None:
    choice = Choice(Path(sys.executable), as_is=False)
    made = ensure.ensure(backend, backend.builds[0], explicit=choice, cache=cache)
    assert made == ensure.find(backend, backend.builds[0], explicit=choice, cache=cache)
    assert ensure.find(backend, backend.builds[0], cache=cache) is None


def test_variables_are_filled_in_for_the_cell(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = installable(
        tmp_path / "files",
        more='[variables]\nOMP_NUM_THREADS = "{threads}"\nMKL_NUM_THREADS = "{threads_from_2}"\n'
        'LD_LIBRARY_PATH = "{env}/lib:{python_lib}:{inherited}"\n',
        more_build='[builds.variables]\nKEPT = "{cache}/kept"\nSHARED = "{compiled}"',
    )
    environment = ensure.ensure(backend, backend.builds[0], cache=cache)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    filled = ensure.variables(environment, threads=3)
    assert filled["OMP_NUM_THREADS"] == filled["MKL_NUM_THREADS"] == "3"
    one = ensure.variables(environment, threads=1)
    assert (one["OMP_NUM_THREADS"], one["MKL_NUM_THREADS"]) == ("1", "2")
    assert filled["KEPT"] == f"{cache}/compiled/{environment.folder.name}/kept"  # type: ignore[union-attr]
    assert ensure.variables(environment, 1, "a", "/of/a")["SHARED"] == "/of/a"
    assert "SHARED" not in ensure.variables(environment, 1, "a")
    assert filled["LD_LIBRARY_PATH"].split(":")[0] == f"{environment.folder}/lib"
    assert "" not in filled["LD_LIBRARY_PATH"].split(":")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/usr/local/cuda/lib64")
    assert ensure.variables(environment, threads=3)["LD_LIBRARY_PATH"].endswith(":/usr/local/cuda/lib64")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", ""),
        ("one\nlast words\n", "last words"),
        (
            "  \u00d7 Failed to download `a==1`\n  ├─▶ Request failed\n  ╰─▶ dns error: no\n      host\n",
            "Failed to download `a==1`: dns error: no host",
        ),
        ("warning: x\nerror: No space left (os error 28)\n", "No space left (os error 28)"),
        (
            "  \u00d7 No solution found:\n  ╰─▶ Because tool<1 depends on numpy<2 and numpy==2.4,\n"
            "      we can conclude that tool<1 cannot be used.\n\n"
            "      Because tool>=1 depends on numpy{python < '3.12'}>=1.2,<2.1 and\n"
            "      numpy{python < '3.12'}==2.4, we can conclude that all versions of tool cannot be used.\n",
            "No solution found: tool>=1 depends on numpy>=1.2,<2.1, but numpy==2.4 is installed",
        ),
        ("error: Failed to fetch\n  Caused by: timed out\n\nhint: try later\n", "Failed to fetch: timed out"),
    ],
)
def test_of_what_an_installer_says_the_cause_is_kept(said: str, expected: str) -> None:
    assert installers.essence(said) == expected


NO_ANSWER = """error: Request failed after 3 retries in 8.4s
  cause: Failed to fetch: https://an.index/torch/
  cause: client error (Connect)
  cause: failed to lookup address information: Name or service not known"""


@pytest.mark.parametrize(("said", "unreachable"), [(NO_ANSWER, True), ("error: no version of a matches b", False)])
def test_an_index_that_does_not_answer_is_no_version_that_does_not_exist(
    said: str, unreachable: bool, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", f"import sys; sys.exit({said!r})"]
    with pytest.raises(installers.InstallFailed) as failed:
        installers.run(command, tmp_path / "log", {}, tmp_path, 60)
    assert failed.value.unreachable is unreachable
    if unreachable:
        assert str(failed.value) == "https://an.index/torch/ cannot be reached: Name or service not known"
