"""Programs are run from no cache folder into which others can put some."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fake_bench import Bench, refused

from kbench.base import paths, trusted
from kbench.bootstrap import host_environment
from kbench.cache import folder
from kbench.errors import UserError


def test_a_cache_to_which_everybody_may_write_or_of_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KBENCH_CACHE", str(tmp_path))
    tmp_path.chmod(0o777)
    for cache_folder in (paths.cache_folder, host_environment.cache_folder):
        with pytest.raises(UserError, match=r"everybody may write to it: `chmod o-w .* KBENCH_CACHE\."):
            cache_folder()
    tmp_path.chmod(0o775)
    for cache_folder in (paths.cache_folder, host_environment.cache_folder):
        assert cache_folder() == tmp_path
    if os.geteuid() == 0:
        os.chown(tmp_path, 4711, -1)
    owner = tmp_path.stat().st_uid
    for user, fine in ((owner, True), (owner + 1, False), (0, True)):  # root may use any
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        if fine:
            assert trusted.check(tmp_path) == tmp_path
        else:
            with pytest.raises(UserError, match="belongs to another user: name another"):
                trusted.check(tmp_path)


def test_a_folder_that_kbench_makes_is_not_for_everybody_to_write(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder.mark(tmp_path / "cache")
    finally:
        os.umask(before)
    assert trusted.check(tmp_path / "cache").is_dir()


def test_it_is_one_sentence(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o755)
    (tmp_path / "cache").chmod(0o777)
    bench.patch.setenv("KBENCH_CACHE", str(tmp_path / "cache"))
    for said in (bench.measure(), bench("doctor"), bench("setup", "--backends", "fake")):
        refused(said, "everybody may write to it")
    assert bench.runs() == [] and list((tmp_path / "cache").iterdir()) == []
