"""Environments under faults: whatever happened to the last attempt, the next call recovers by itself."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_backends import installable, write_wheel
from named_pipe import Pipe

import kbench
from kbench.environments import ensure as environments
from kbench.environments import installers
from kbench.errors import Unavailable, UserError
from kbench.records.values import Backend, Environment

# Stands before the real uv: makes a mess of `uv pip sync` as long as a file is there, and then is it.
UV = """#!/bin/sh
if [ "$2" = sync ] && [ -e {broken} ]; then
    mkdir -p "$(dirname "$5")/../lib/python3/site-packages/tiny_backend-1.0.dist-info"
    {mess}
fi
exec {uv} "$@"
"""
ENSURE = """
import sys
from pathlib import Path
from kbench.environments import ensure, installers
from kbench.selection import backends
installers.uv_program = lambda: sys.argv[3]
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


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    pipe = Pipe(tmp_path)
    yield pipe
    pipe.close()


def ensure(backend: Backend, cache: Path) -> Environment:
    """The environment, which works."""
    made = environments.ensure(backend, backend.builds[0], cache=cache)
    subprocess.run([made.python, "-c", "import tiny, keras"], check=True)
    assert environments.find(backend, backend.builds[0], cache=cache) == made
    return made


def fails(backend: Backend, cache: Path) -> str:
    """Why it cannot be made: one sentence. Nothing that looks like an environment is left."""
    with pytest.raises((Unavailable, UserError)) as reason:
        environments.ensure(backend, backend.builds[0], cache=cache)
    assert environments.find(backend, backend.builds[0], cache=cache) is None
    text = str(reason.value)
    assert "\n" not in text
    return text


def folders(cache: Path) -> list[Path]:
    return [path for path in (cache / "environments").glob("keras9*") if path.is_dir()]


def messy_uv(tmp_path: Path, mess: str) -> Path:
    program, broken = tmp_path / "messy-uv", tmp_path / "broken"
    broken.write_text("")
    program.write_text(UV.format(broken=broken, mess=mess, uv=installers.uv_program()))
    program.chmod(0o755)
    return program


MESSES = {
    "kill -9 $$": "messy-uv ended with status -9",
    "kill -11 $$": "messy-uv ended with status -11",
    "echo 'error: No space left on device (os error 28)'; exit 2": "No space left on device",
    "echo 'error: Failed to fetch x'; echo '  Caused by: dns error'; exit 1": "Failed to fetch x: dns error",
    'rm -r "$(dirname "$5")/../lib/python3"; exit 0': "its lock file does not install tiny-backend",
    "head -c 100000 /dev/zero | tr '\\0' '\\377'; exit 1": "could not be made",
    "exit 3": "messy-uv ended with status 3",
}


def test_an_installer_that_dies_half_way_is_started_anew_by_the_next_call(
    backend: Backend, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mess, reason in MESSES.items():  # each is the next call of the one before
        uv = messy_uv(tmp_path, mess)
        with monkeypatch.context() as patch:
            patch.setattr(installers, "uv_program", lambda uv=uv: str(uv))
            assert reason in fails(backend, cache), mess
        assert folders(cache) == [], mess
    ensure(backend, cache)


def test_with_a_killed_host_its_installer_ends_and_the_next_call_makes_it(
    backend: Backend, cache: Path, tmp_path: Path, pipe: Pipe
) -> None:
    uv = messy_uv(tmp_path, f"exec 9> {pipe.path}; printf x >&9; exec sleep 600")
    host = subprocess.Popen(
        [sys.executable, "-c", ENSURE, str(backend.path), str(cache), str(uv)],
        env={**os.environ, "PYTHONPATH": str(Path(kbench.__file__).parents[1])},
    )
    assert pipe.starts()
    host.kill()
    host.wait()
    assert pipe.ended()  # or it would write into the folder that the next one makes
    assert environments.find(backend, backend.builds[0], cache=cache) is None
    ensure(backend, cache)


@pytest.mark.parametrize("how", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_what_stops_the_host_itself_leaves_nothing_half_made(
    backend: Backend, cache: Path, monkeypatch: pytest.MonkeyPatch, how: BaseException
) -> None:
    def stopped(path: Path, target: Path) -> Path:
        raise how

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stopped)  # just before it would count as made
        with pytest.raises((KeyboardInterrupt, Unavailable), match=r"No space left|^$"):
            environments.ensure(backend, backend.builds[0], cache=cache)
    assert folders(cache) == []
    ensure(backend, cache)


LOCKS = {
    b"": "does not install tiny-backend",
    b"\xff\xfe\x00": "is damaged: it is not text",
    b"{]": "start of a requirement",
    b"tiny-backend==1.0\n": "hash",
    b"tiny-backend==1.0 --hash=sha256:abc\n": "hash",
    b"tiny-backend==1.0 --hash=sha256:" + b"0" * 64 + b"\n": "Hash mismatch",
    b"tiny-backend==9.9 --hash=sha256:" + b"0" * 64 + b"\n": "tiny-backend",
    b"\x00" * 9: "start of a requirement",
}


def test_a_damaged_lock_file_is_a_sentence_and_the_right_one_works_again(backend: Backend, cache: Path) -> None:
    lock = backend.builds[0].lock
    assert lock is not None
    right = lock.read_bytes()
    for content, reason in LOCKS.items():
        lock.write_bytes(content)
        with pytest.raises((Unavailable, UserError)) as caught:
            environments.ensure(backend, backend.builds[0], cache=cache)
        assert reason.lower() in str(caught.value).lower() and "\n" not in str(caught.value), content
    lock.write_bytes(right)
    ensure(backend, cache)


def test_a_damaged_download_is_refused_and_a_whole_one_works_again(
    backend: Backend, cache: Path, tmp_path: Path
) -> None:
    wheel = next((tmp_path / "files" / "wheels").glob("*.whl"))
    content = bytearray(wheel.read_bytes())
    content[40] ^= 1
    wheel.write_bytes(content)
    assert "tiny" in fails(backend, cache)
    write_wheel(wheel.parent)
    ensure(backend, cache)


@pytest.mark.parametrize("damage", ["garbage", "gone", "truncated"])
def test_a_package_that_is_damaged_in_uvs_cache_is_fetched_anew(
    backend: Backend, cache: Path, tmp_path: Path, damage: str
) -> None:
    shutil.rmtree(ensure(backend, cache).folder or cache)
    (record,) = (tmp_path / "uv").rglob("RECORD")
    pointers = [path for path in (tmp_path / "uv" / "wheels-v7").rglob("*") if path.suffix in (".rev", ".msgpack")]
    if damage == "garbage":
        record.write_bytes(b"\xff\x00")
    elif damage == "gone":
        record.unlink()
    else:
        for path in pointers or [record]:
            path.write_bytes(b"g")
    ensure(backend, cache)


def test_without_a_network_it_is_a_sentence_and_with_it_the_next_call_works(
    backend: Backend, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as nobody, monkeypatch.context() as patch:
        nobody.bind(("127.0.0.1", 0))
        patch.delenv("PIP_NO_INDEX")
        patch.delenv("PIP_FIND_LINKS")
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("UV_HTTP_RETRIES", "0")
        patch.setenv("PIP_INDEX_URL", f"http://ada:hunter2@127.0.0.1:{nobody.getsockname()[1]}/simple")
        said = fails(backend, cache)
    assert "127.0.0.1" in said
    (log,) = (cache / "environments" / "logs").iterdir()
    assert "hunter2" not in said and "hunter2" not in log.read_text()
    ensure(backend, cache)


@pytest.mark.parametrize("copied", [False, True])
def test_a_moved_or_copied_cache_is_not_used_as_it_is_but_made_anew(
    backend: Backend, cache: Path, tmp_path: Path, copied: bool
) -> None:
    first = ensure(backend, cache)
    other = tmp_path / "other"
    shutil.copytree(cache, other, symlinks=True) if copied else cache.rename(other)
    assert environments.find(backend, backend.builds[0], cache=other) is None  # its scripts name the old place
    made = ensure(backend, other)
    assert made.python.is_relative_to(other)
    assert str(cache) not in (other / "environments" / made.python.parents[1].name / "pyvenv.cfg").read_text()
    assert (environments.find(backend, backend.builds[0], cache=cache) == first) == copied
    ensure(backend, cache)


def test_a_cache_that_became_read_only_still_serves_what_is_there(
    backend: Backend, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ensure(backend, cache)

    def refuse(*_args: object, **_options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patch:
        for name in ("mkdir", "unlink", "write_text", "touch", "replace"):
            patch.setattr(Path, name, refuse)
        patch.setattr(os, "open", refuse)
        assert environments.ensure(backend, backend.builds[0], cache=cache) == made
        lock = backend.builds[0].lock
        assert lock is not None
        with lock.open("a") as file:
            file.write("# another environment\n")
        assert "cannot be written (Read-only file system)" in fails(backend, cache)
    ensure(backend, cache)


@pytest.mark.parametrize("kind", ["file", "link", "dangling link", "folder of somebody else's"])
def test_whatever_stands_in_the_place_of_an_environment_makes_room(
    backend: Backend, cache: Path, tmp_path: Path, kind: str
) -> None:
    folder = ensure(backend, cache).folder
    assert folder is not None
    shutil.rmtree(folder)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis").write_text("mine")
    if kind == "file":
        folder.write_text("in the way")
    elif kind.endswith("link"):
        folder.symlink_to(precious if kind == "link" else tmp_path / "nowhere")
    else:
        folder.mkdir()
        (folder / "kbench.json").mkdir()
    ensure(backend, cache)
    assert (precious / "thesis").read_text() == "mine" and len(list(precious.iterdir())) == 1


def test_a_lock_left_by_a_killed_process_is_no_lock(backend: Backend, cache: Path) -> None:
    made = ensure(backend, cache)
    assert made.folder is not None
    made.folder.with_name(f"{made.folder.name}.lock").write_bytes(os.urandom(100))
    shutil.rmtree(made.folder)
    ensure(backend, cache)
