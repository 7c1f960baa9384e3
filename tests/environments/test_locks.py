"""Lock files of versions that the user chose are kept, and made again if they are not what was written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_backends import installable

from kbench.environments import installers, locks
from kbench.errors import UserError


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


@pytest.mark.parametrize(("wanted", "found"), [("numpy==2.0+cpu", True), ("numpy==2.0", False)])
def test_a_build_of_an_index_that_cannot_be_reached_is_looked_for_in_the_users_own(
    wanted: str, found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def uv_pip(command: list[str], log: Path, cwd: Path, timeout: float, indexes: tuple[str, ...] = ()) -> None:
        if indexes:
            failure = installers.InstallFailed("https://further.index/numpy/ cannot be reached")
            failure.unreachable = True
            raise failure
        (cwd / "compiled.txt").write_text(f"{wanted} --hash=sha256:0\n")

    monkeypatch.setenv("KBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(installers, "uv_pip", uv_pip)
    backend = installable(tmp_path / "mine")
    build = replace(backend.builds[0], resolved=True, requirements=(wanted,), indexes=("https://further.index",))
    backend = replace(backend, builds=(build,))
    if found:
        (made,) = locks.locked(backend, "cpu", lambda text: None).builds
        assert made.lock and made.lock.read_text().startswith(wanted)
    else:  # without its index, another build of that version would be taken
        with pytest.raises(UserError, match="numpy/ cannot be reached"):
            locks.locked(backend, "cpu", lambda text: None)
