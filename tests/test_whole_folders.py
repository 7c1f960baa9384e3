"""A folder is filled completely or not at all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from kbench.base.whole_folders import remove, scratch, whole, whole_in_place

Fill = Callable[[Path], AbstractContextManager[Path]]
both = pytest.mark.parametrize("fill", [whole, whole_in_place])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


@both
def test_a_filled_folder_is_there_and_nothing_beside_it(fill: Fill, tmp_path: Path) -> None:
    with fill(tmp_path / "deep" / "it") as filling:
        (filling / "part").touch()
    assert names(tmp_path) == ["deep", "it", "part"]


@both
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, SystemExit])
def test_what_fails_or_is_interrupted_leaves_nothing(fill: Fill, error: type[BaseException], tmp_path: Path) -> None:
    with pytest.raises(error), fill(tmp_path / "it") as filling:
        (filling / "part").touch()
        raise error
    assert names(tmp_path) == []


@both
@pytest.mark.parametrize("name", ["it", ".it.unfinished"])
def test_what_was_left_there_is_removed_first(fill: Fill, name: str, tmp_path: Path) -> None:
    (tmp_path / name / "old").mkdir(parents=True)
    with fill(tmp_path / "it") as filling:
        (filling / "new").touch()
    assert names(tmp_path) == ["it", "new"]


@both
def test_a_link_in_its_place_is_removed_and_not_followed(fill: Fill, tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "kept").mkdir(parents=True)
    (tmp_path / "it").symlink_to("elsewhere")
    with fill(tmp_path / "it"):
        pass
    assert names(tmp_path) == ["elsewhere", "it", "kept"]
    assert not (tmp_path / "it").is_symlink()


def test_nobody_sees_a_folder_that_is_not_whole(tmp_path: Path) -> None:
    with whole(tmp_path / "it"):
        assert names(tmp_path) == [".it.unfinished"]


def test_what_is_being_removed_no_longer_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    (tmp_path / "it" / "marker").mkdir(parents=True)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("shutil.rmtree", killed)
        remove(tmp_path / "it")
    assert not (tmp_path / "it").exists()
    remove(tmp_path / "it")
    assert names(tmp_path) == []


def test_a_scratch_folder_goes_unless_it_was_renamed(tmp_path: Path) -> None:
    with scratch(tmp_path / "it"):
        pass
    assert names(tmp_path) == []
    with scratch(tmp_path / "it") as folder:
        folder.rename(tmp_path / "kept")
    assert names(tmp_path) == ["kept"]
