"""get_file of Keras: what kbench has is served, with its remark; what it has not is refused in a sentence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from guest_modules import guest


@pytest.fixture
def keras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """A Keras that is offline; `asked` are the files that it tried to download."""
    asked: list[str] = []

    def get_file(fname, origin, cache_dir=None):
        asked.append(fname)
        raise Exception(f"URL fetch failure on {origin}: None -- no such host")

    with guest(tmp_path, "downloads", "protocol") as (downloads, protocol):
        utils = ModuleType("keras.utils")
        utils.get_file = get_file  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "keras.utils", utils)
        yield SimpleNamespace(utils=utils, asked=asked, share=downloads.share, refused=protocol.Refused)


def test_a_file_is_served_and_its_remark_said(keras: SimpleNamespace, tmp_path: Path) -> None:
    there = tmp_path / "there.npz"
    there.write_text("")
    said: list[str] = []
    files = {"mnist.npz": [str(there), "not all of it"], "whole.npz": [str(there), ""]}
    keras.share(keras, str(tmp_path), files, said.append)
    assert keras.utils.get_file("mnist.npz", origin="https://example/x") == str(there)
    assert keras.utils.get_file("y", origin="https://example/whole.npz") == str(there)
    assert said == ["not all of it"] and keras.asked == []


def test_a_file_that_kbench_could_not_get_is_refused_at_once_with_the_reason(
    keras: SimpleNamespace, tmp_path: Path
) -> None:
    keras.share(keras, str(tmp_path), {"imdb.npz": ["", "put it there"]}, pytest.fail)
    with pytest.raises(keras.refused, match="put it there"):
        keras.utils.get_file("imdb.npz", origin="https://example/imdb.npz")
    assert keras.asked == []


def test_a_file_that_only_keras_knows_and_cannot_get_says_where_to_put_it(
    keras: SimpleNamespace, tmp_path: Path
) -> None:
    keras.share(keras, str(tmp_path), {}, pytest.fail)
    with pytest.raises(keras.refused) as caught:
        keras.utils.get_file("reuters.npz", origin="https://example/reuters.npz")
    assert str(caught.value) == (
        f"reuters.npz cannot be downloaded from https://example/reuters.npz: put it into {tmp_path}/datasets"
    )
    with pytest.raises(Exception, match="URL fetch failure"):  # a folder of the program's own
        keras.utils.get_file("mine.npz", origin="https://example/mine.npz", cache_dir=str(tmp_path))
