"""Files come from the mirror, the cache or the net, in that order; else one sentence says what to do."""

from __future__ import annotations

import functools
import http.server
import os
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import dataset_miniatures as miniatures
import numpy as np
import pytest
import requests

from kbench import datasets
from kbench.datasets import addresses, fetch
from kbench.errors import UserError


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and keeps quiet; what was asked for is in the server's list."""

    def do_GET(self) -> None:
        server: Any = self.server
        server.asked.append(self.path)
        super().do_GET()

    def log_message(self, *_args) -> None:
        pass


@pytest.fixture(autouse=True)
def nothing_known_of_hosts(monkeypatch):
    """Ports of this machine are used again by other tests."""
    monkeypatch.setattr(addresses, "_silent", {})


@pytest.fixture
def net(tmp_path, monkeypatch):
    """(folder, root address, list of the paths that were asked for) of a server on this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "net"
    folder.mkdir()
    handler = functools.partial(Server, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        asked: list[str] = []
        vars(server)["asked"] = asked
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}/", asked
        server.shutdown()
        thread.join()


@pytest.fixture
def nobody(monkeypatch) -> str:
    """An address on this machine at which nobody listens."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/"


def prepare(name, cache, known, mirror=None, progress=False):
    return datasets.prepare(
        name,
        input="sequence",
        image_data_format="channels_last",
        mirror=mirror,
        cache=cache,
        progress=progress,
        registry=known,
    )


def test_files_are_downloaded_once(net, tmp_path):
    folder, root, asked = net
    known = miniatures.with_addresses(miniatures.mnist(folder), "mnist", root)
    killed = tmp_path / "cache" / "files" / ".train-images-idx3-ubyte.gz.partial"
    killed.mkdir(parents=True)
    data = prepare("mnist", tmp_path / "cache", known)
    assert np.load(data.folder / data.train[0]).shape == (60, 28, 28, 1)
    assert len(asked) == 4
    flat = datasets.prepare(
        "mnist", input="flat", image_data_format="channels_last", cache=tmp_path / "cache", registry=known
    )
    assert flat.input_shapes == ((784,),)
    assert prepare("mnist", tmp_path / "cache", known) == data
    assert len(asked) == 4
    left = {path.name for path in (tmp_path / "cache" / "files").iterdir() if not path.name.endswith(".lock")}
    assert left == {file.name for file in known["mnist"].variants[0]}


def test_a_progress_bar_goes_to_stderr_where_it_is_wanted(net, tmp_path, capfd):
    folder, root, _asked = net
    known = miniatures.with_addresses(miniatures.babi(folder), "babi_qa2", root)
    prepare("babi_qa2", tmp_path / "loud", known, progress=True)
    out, err = capfd.readouterr()
    assert out == "" and f"downloading {root}babi.tar.gz" in err and "100%" in err
    prepare("babi_qa2", tmp_path / "quiet", known)
    assert capfd.readouterr() == ("", "")


def test_the_mirror_comes_before_the_net(net, tmp_path):
    folder, root, asked = net
    known = miniatures.with_addresses(miniatures.mnist(folder), "mnist", root)
    prepare("mnist", tmp_path / "cache", known, mirror=folder)
    assert asked == []
    assert not (tmp_path / "cache" / "files").exists()


def test_a_mirror_that_lacks_a_file_is_completed_from_the_net(net, tmp_path):
    folder, root, asked = net
    known = miniatures.with_addresses(miniatures.mnist(folder), "mnist", root)
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    os.link(folder / "train-images-idx3-ubyte.gz", mirror / "train-images-idx3-ubyte.gz")
    prepare("mnist", tmp_path / "cache", known, mirror=mirror)
    assert len(asked) == 3


@pytest.mark.parametrize("first", ["absent", "wrong", "dead"])
def test_a_second_address_is_tried(net, nobody, tmp_path, first):
    folder, root, _asked = net
    known = miniatures.mnist(folder)
    (folder / "wrong").mkdir()
    for file in known["mnist"].variants[0]:
        (folder / "wrong" / file.name).write_bytes(b"<html>log in</html>")
    bad = {"absent": f"{root}absent/", "wrong": f"{root}wrong/", "dead": nobody}[first]
    data = prepare("mnist", tmp_path / "cache", miniatures.with_addresses(known, "mnist", bad, root))
    assert data.source == "real"


@pytest.mark.parametrize(
    ("name", "write"),
    [("babi_qa2", miniatures.babi), ("cifar10", miniatures.cifar10), ("mnist", miniatures.mnist)],
)
def test_what_is_not_the_published_file_is_not_kept(net, tmp_path, name, write):
    folder, root, _asked = net
    known = miniatures.with_addresses(write(folder), name, root)
    for path in folder.iterdir():
        path.write_bytes(b"<html>log in</html>")
    with pytest.raises(UserError, match=r"127\.0\.0\.1 sent another file than the published one"):
        prepare(name, tmp_path / "cache", known)
    left = [path for path in (tmp_path / "cache" / "files").iterdir() if not path.name.endswith(".lock")]
    assert left == []


def test_the_digest_of_the_original_archive_is_checked_too(net, tmp_path):
    folder, root, _asked = net
    known = miniatures.with_addresses(miniatures.cifar10(folder), "cifar10", root)
    file = replace(known["cifar10"].variants[0][0], download_digest="md5:" + "0" * 32)
    with pytest.raises(UserError, match=r"127\.0\.0\.1 sent another file than the published one"):
        prepare("cifar10", tmp_path / "cache", miniatures.registry("cifar10", (file,)))


def test_without_a_connection_one_sentence_says_which_files_to_put_where(nobody, tmp_path):
    known = miniatures.with_addresses(miniatures.mnist(tmp_path), "mnist", nobody, nobody + "second/")
    with pytest.raises(datasets.MissingFiles) as caught:
        prepare("mnist", tmp_path / "cache", known)
    assert str(caught.value) == (
        "train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz, "
        f"t10k-labels-idx1-ubyte.gz from {nobody} (no connection to 127.0.0.1) cannot be downloaded: put them into "
        f"{tmp_path}/cache/files or into a folder named by KBENCH_DATA, or use --data synthetic, which "
        "needs none"
    )


def test_a_host_that_does_not_answer_is_asked_once(nobody, tmp_path, monkeypatch):
    asked = []

    def head(address, **_):
        asked.append(address)
        raise requests.ConnectTimeout

    monkeypatch.setattr(requests, "head", head)
    for _ in range(2):
        found = addresses.ask([f"{nobody}one", f"{nobody}two", f"{nobody}two"])
        assert set(found.values()) == {"no connection to 127.0.0.1"}
    assert len(asked) <= 2  # both at the same time, and never again
    known = miniatures.with_addresses(miniatures.mnist(tmp_path), "mnist", nobody)
    monkeypatch.setattr(requests, "get", head)
    with pytest.raises(UserError, match=r"no connection to 127\.0\.0\.1"):
        prepare("mnist", tmp_path / "cache", known)
    assert len(asked) <= 2


def test_an_address_that_answers_is_told_from_one_that_does_not(net, tmp_path):
    folder, root, _asked = net
    (folder / "there").write_text("")
    assert addresses.ask([f"{root}there", f"{root}absent"]) == {
        f"{root}there": "",
        f"{root}absent": "127.0.0.1 answered 404",
    }


def test_a_file_put_into_the_cache_by_hand_is_found(nobody, tmp_path):
    files = tmp_path / "cache" / "files"
    files.mkdir(parents=True)
    known = miniatures.with_addresses(miniatures.babi(files), "babi_qa2", nobody)
    assert prepare("babi_qa2", tmp_path / "cache", known).source == "real"


def test_a_file_without_an_address_can_only_be_brought(tmp_path):
    file = miniatures.imdb_ranks(tmp_path)
    with pytest.raises(UserError, match=r"imdb_ranks\.npz \(no address to download it from is known\).*put it into"):
        prepare("imdb", tmp_path / "cache", miniatures.registry("imdb", (file,)))


def test_connecting_is_given_up_within_seconds():
    assert fetch.TIMEOUT[0] <= 5 and addresses.TIMEOUT[0] <= 5 and addresses.AT_MOST <= 10


def test_a_cache_that_cannot_be_written_is_one_sentence(nobody, tmp_path):
    known = miniatures.with_addresses(miniatures.babi(tmp_path), "babi_qa2", nobody)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"babi\.tar\.gz cannot be written to .*KBENCH_CACHE"):
        prepare("babi_qa2", Path(tmp_path / "file"), known)
