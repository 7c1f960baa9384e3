"""Lock files of versions that the user chose are kept, and made again if they are not what was written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_backends import installable

from kbench.environments import locks


@pytest.mark.parametrize("damage", ["lock", "digest", ""])
def test_a_lock_that_was_cut_or_edited_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    def compiled(backend: object, wanted: str, indexes: object, folder: Path, how: object) -> Path:
        made.append(wanted)
        (folder / "new.lock").write_text("numpy==2.0 --hash=sha256:0\n")
        return folder / "new.lock"

    def made_lock() -> Path:
        (build,) = locks.locked(backend, "cpu", lambda text: None).builds
        assert build.lock
        return build.lock

    made: list[str] = []
    backend = installable(tmp_path / "mine")
    backend = replace(backend, builds=tuple(replace(one, resolved=True) for one in backend.builds))
    monkeypatch.setenv("KBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(locks, "_compiled", compiled)
    lock = made_lock()
    assert made_lock() == lock and len(made) == 1, "it is kept"
    if damage == "lock":
        lock.write_text("numpy==2.0 --hash=sha256:1\n")
    elif damage == "digest":
        lock.with_suffix(".sha256").unlink()
    assert made_lock() == lock and len(made) == (2 if damage else 1)
    assert lock.read_text() == "numpy==2.0 --hash=sha256:0\n"
