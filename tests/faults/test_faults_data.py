"""Data under faults: what was cut off, damaged, moved or filled up is made right by the next call."""

from __future__ import annotations

import errno
import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from named_pipe import Pipe

import kbench
from kbench import datasets
from kbench.base.arrays import Data
from kbench.datasets import fetch
from kbench.datasets.registry import Registry
from kbench.errors import UserError

sys.path.insert(0, str(Path(__file__).parents[1] / "datasets"))
import dataset_miniatures as miniatures

# Prepares until its process is killed in the middle of writing.
PREPARE = """
import sys
from pathlib import Path
from kbench import datasets
from kbench.datasets import prepared
def stop(path):
    with open(sys.argv[2], "w") as pipe:
        pipe.write("x")
        pipe.flush()
        sys.stdin.read()
prepared.sync = stop
datasets.prepare(sys.argv[3], input="image", image_data_format="channels_last", cache=Path(sys.argv[1]))
"""
DOWNLOAD = """
import sys
from pathlib import Path
from kbench.datasets import fetch
from kbench.datasets.registry import RemoteFile
file = RemoteFile("f.gz", (sys.argv[2],), digest=sys.argv[3])
fetch.obtain(file, None, Path(sys.argv[1]), progress=False)
"""


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves a folder; where it is told to, it stops in the middle of a file."""

    def do_GET(self) -> None:
        net: Any = self.server
        net.asked.append(self.path)
        if not net.stops:
            super().do_GET()
            return
        content = (Path(self.directory) / self.path.lstrip("/")).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])
        self.wfile.flush()
        net.half.set()
        if net.stops == "hang":
            net.go_on.wait(60)

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server of the folder `net`; `asked` are the paths that it was asked for, `stops` is "", "cut" or "hang"."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    (tmp_path / "net").mkdir()
    handler = functools.partial(Server, directory=tmp_path / "net")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        about: Any = server
        about.asked, about.stops, about.half, about.go_on = [], "", threading.Event(), threading.Event()
        about.root = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield about
        about.go_on.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def known(net: Any, tmp_path: Path) -> Registry:
    return miniatures.with_addresses(miniatures.mnist(tmp_path / "net"), "mnist", net.root)


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    pipe = Pipe(tmp_path)
    yield pipe
    pipe.close()


def prepare(cache: Path, known: Registry, input: str = "image", **options: Any) -> Data:
    given: dict[str, Any] = {"image_data_format": "channels_last", "progress": False} | options
    data = datasets.prepare("mnist", input=input, cache=cache, registry=known, **given)
    assert len(np.load(data.folder / data.train[0])) == 60
    return data


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(kbench.__file__).parents[1])}


@pytest.mark.parametrize("place", [0, 5, 100, -1])
def test_a_flipped_byte_in_the_cache_is_downloaded_anew(
    net: Any, known: Registry, tmp_path: Path, place: int
) -> None:
    first = prepare(tmp_path / "cache", known)
    damaged = tmp_path / "cache" / "files" / "train-images-idx3-ubyte.gz"
    content = bytearray(damaged.read_bytes())
    content[place] ^= 1
    damaged.write_bytes(content)
    net.asked.clear()
    flat = prepare(tmp_path / "cache", known, "flat")  # other arrays of the same files
    assert net.asked == ["/train-images-idx3-ubyte.gz"]
    assert damaged.read_bytes() == (tmp_path / "net" / damaged.name).read_bytes()
    assert np.load(flat.folder / flat.train[0]).sum() == np.load(first.folder / first.train[0]).sum()


def test_a_damaged_member_of_an_archive_in_the_cache_is_downloaded_anew(net: Any, tmp_path: Path) -> None:
    known = miniatures.with_addresses(miniatures.babi(tmp_path / "net"), "babi_qa2", net.root)
    files = tmp_path / "cache" / "files"
    files.mkdir(parents=True)
    miniatures.babi(files, train=miniatures.BABI_TRAIN.replace(b"milk", b"silk"))
    data = datasets.prepare(
        "babi_qa2",
        input="sequence",
        image_data_format="channels_last",
        cache=tmp_path / "cache",
        registry=known,
        progress=False,
    )
    assert net.asked == ["/babi.tar.gz"] and data.source == "real"


def test_without_a_network_a_damaged_file_stays_and_the_sentence_names_it(
    net: Any, known: Registry, tmp_path: Path
) -> None:
    prepare(tmp_path / "cache", known)
    damaged = tmp_path / "cache" / "files" / "train-images-idx3-ubyte.gz"
    damaged.write_bytes(b"damaged")
    for path in (tmp_path / "net").iterdir():
        path.unlink()
    with pytest.raises(UserError, match=r"train-images-idx3-ubyte\.gz is not the published file") as caught:
        prepare(tmp_path / "cache", known, "flat")
    assert str(damaged) in str(caught.value) and "\n" not in str(caught.value)
    assert damaged.read_bytes() == b"damaged"


def test_a_damaged_file_in_the_users_own_folder_is_not_touched(net: Any, known: Registry, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    miniatures.mnist(mirror)
    (mirror / "train-images-idx3-ubyte.gz").write_bytes(b"damaged")
    with pytest.raises(UserError, match="is not the published file"):
        prepare(tmp_path / "cache", known, mirror=mirror)
    assert (mirror / "train-images-idx3-ubyte.gz").read_bytes() == b"damaged" and net.asked == []


def test_a_connection_that_breaks_half_way_leaves_nothing_and_the_next_call_has_it(
    net: Any, known: Registry, tmp_path: Path
) -> None:
    net.stops = "cut"
    with pytest.raises(UserError, match=r"train-images-idx3-ubyte\.gz.* cannot be downloaded"):
        prepare(tmp_path / "cache", known)
    assert visible(tmp_path / "cache" / "files") == []
    net.stops = ""
    prepare(tmp_path / "cache", known)


def test_a_download_whose_process_was_killed_is_started_anew(net: Any, known: Registry, tmp_path: Path) -> None:
    content = (tmp_path / "net" / "train-images-idx3-ubyte.gz").read_bytes()
    folder, address = tmp_path / "files", f"{net.root}train-images-idx3-ubyte.gz"
    net.stops = "hang"
    command = [sys.executable, "-c", DOWNLOAD, str(folder), address, miniatures.sha256(content)]
    process = subprocess.Popen(command, env=environment())
    assert net.half.wait(60)
    process.kill()
    process.wait()
    assert not (folder / "f.gz").exists()
    net.stops = ""
    subprocess.run(command, env=environment(), check=True)
    assert (folder / "f.gz").read_bytes() == content and visible(folder) == ["f.gz"]


def test_a_preparation_whose_process_was_killed_is_started_anew(
    tmp_path: Path, known: Registry, pipe: Pipe, net: Any
) -> None:
    np.savez(
        tmp_path / "own.npz",
        x_train=np.zeros((60, 2, 2, 1)),
        x_test=np.zeros((2, 2, 2, 1)),
        y_train=np.zeros(60, int),
        y_test=np.zeros(2, int),
    )
    own = str(tmp_path / "own.npz")
    process = subprocess.Popen(
        [sys.executable, "-c", PREPARE, str(tmp_path / "cache"), str(pipe.path), own],
        env=environment(),
        stdin=subprocess.PIPE,
    )
    assert pipe.starts()
    process.kill()
    process.communicate()
    (left,) = visible(tmp_path / "cache" / "prepared")
    assert left.endswith(".unfinished")
    data = datasets.prepare(own, input="image", image_data_format="channels_last", cache=tmp_path / "cache")
    assert visible(tmp_path / "cache" / "prepared") == [data.folder.name]


def test_a_moved_cache_serves_its_data_where_it_is(net: Any, known: Registry, tmp_path: Path) -> None:
    first = prepare(tmp_path / "cache", known)
    net.asked.clear()
    (tmp_path / "cache").rename(tmp_path / "moved")
    moved = prepare(tmp_path / "moved", known)
    assert moved.folder == tmp_path / "moved" / "prepared" / first.folder.name
    assert net.asked == []


def test_two_at_once_download_and_prepare_once(net: Any, known: Registry, tmp_path: Path) -> None:
    made: list[Data] = []
    both = [threading.Thread(target=lambda: made.append(prepare(tmp_path / "cache", known))) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert made[0] == made[1]
    assert len(net.asked) == 4


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
def test_a_disk_that_takes_no_more_is_a_sentence_and_the_next_call_works(
    known: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(path: Path, target: Path) -> Path:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse)  # the download and the arrays go to their place by it
        for _ in range(2):
            with pytest.raises(UserError, match=rf"cannot be written to .*{os.strerror(number)}.*KBENCH_CACHE"):
                prepare(tmp_path / "cache", known)
    assert visible(tmp_path / "cache" / "files") == []
    prepare(tmp_path / "cache", known)


def test_a_cache_that_became_read_only_still_serves_what_is_there(
    known: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = prepare(tmp_path / "cache", known)

    def refuse(*_args: object, **_options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("mkdir", "unlink", "replace", "touch"):
        monkeypatch.setattr(Path, name, refuse)
    monkeypatch.setattr(os, "open", refuse)
    assert prepare(tmp_path / "cache", known) == data
    with pytest.raises(UserError, match="Read-only file system"):
        prepare(tmp_path / "cache", known, "flat")


def test_downloads_and_arrays_on_their_way_are_their_owners_alone(
    known: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = []
    replace = Path.replace

    def look(path: Path, target: Path) -> Path:
        folder = path if path.is_dir() else path.parent
        modes.append((path.name[0] == ".", oct(folder.stat().st_mode & 0o777)))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", look)
    before = os.umask(0)
    try:
        prepare(tmp_path / "cache", known)
    finally:
        os.umask(before)
    assert modes == [(False, "0o700")] * 4 + [(True, "0o755")]  # the arrays have just been opened to others


def test_a_file_that_is_not_kbenchs_to_renew_is_left(tmp_path: Path) -> None:
    file = miniatures.imdb_ranks(tmp_path)  # it has no address
    (tmp_path / "imdb_ranks.npz").write_bytes(b"x")
    fetch.renew(file, tmp_path / "imdb_ranks.npz", tmp_path, progress=False)
    assert (tmp_path / "imdb_ranks.npz").read_bytes() == b"x"
