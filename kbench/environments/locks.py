"""Makes lock files for versions that the user chose; they are kept in the cache."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from packaging.version import Version

from kbench.base import paths
from kbench.environments import installers
from kbench.environments.folders import lock_sha256
from kbench.environments.packages import pinned
from kbench.errors import UserError
from kbench.records.values import Backend, Build

PLATFORM = "x86_64-manylinux_2_28"
RESOLVE_SECONDS = 600


def locked(backend: Backend, device: str, report: Callable[[str], None]) -> Backend:
    """The backend with lock files for those of its builds for `device` whose versions the user chose.

    Raises UserError if there are no such versions.
    """
    builds = (
        replace(build, lock=_lock(backend, build, report)) if build.resolved and build.device == device else build
        for build in backend.builds
    )
    return replace(backend, builds=tuple(builds))


def _lock(backend: Backend, build: Build, report: Callable[[str], None]) -> Path:
    wanted = "\n".join(build.requirements) + "\n"
    if any(one.endswith("-nightly") for one in build.requirements):
        wanted += f"# {date.today()}\n"  # nightlies: a new lock every day
    how = ["--generate-hashes", *(f"--no-emit-package={name}" for name in build.leave_out)]
    about = f"{PLATFORM} {backend.python[0]} {build.indexes} {wanted}{' '.join(build.leave_out)}"
    key = hashlib.sha256(about.encode()).hexdigest()[:16]
    lock = paths.cache_folder() / "locks" / f"{backend.name.replace('/', '-')}.{build.name}.{key}.lock"
    digest, made = lock.with_suffix(".sha256"), replace(build, lock=lock)
    if not (lock.is_file() and digest.is_file() and digest.read_text("ascii", "replace") == lock_sha256(made)):
        report(f"{backend.name}: finding its versions ({', '.join(build.requirements)})")
        lock.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=lock.parent, prefix=".making-") as folder:
            try:
                _compiled(backend, wanted, build.indexes, Path(folder), how).replace(lock)
                digest.write_text(lock_sha256(made), "ascii")
            except installers.InstallFailed as failure:
                absent = "Cannot look up the versions of" if failure.unreachable else "There is no"
                raise UserError(f"{absent} {backend.name}: {failure}.") from None
    return lock


def _compiled(backend: Backend, wanted: str, indexes: Sequence[str], folder: Path, how: Sequence[str]) -> Path:
    """The lock file that uv makes of the requirements `wanted`, in `folder`. Raises InstallFailed."""
    asked, made = folder / "requirements.in", folder / "compiled.txt"
    asked.write_text(wanted, encoding="utf-8")
    command = [
        "compile", str(asked), "--python-version", backend.python[0],
        "--python-platform", PLATFORM, "--no-header", "--no-annotate", "--quiet", "--output-file", str(made), *how,
    ]  # fmt: skip
    made.unlink(missing_ok=True)
    try:
        installers.uv_pip(command, folder / "log.txt", folder, RESOLVE_SECONDS, indexes)
    except installers.InstallFailed as failure:
        if failure.unreachable and "+" in wanted:  # the user's indexes may mirror its builds, and no others
            with contextlib.suppress(installers.InstallFailed):
                installers.uv_pip(command, folder / "log.txt", folder, RESOLVE_SECONDS)
                return made
        raise
    return made


def versions(backend: Backend, package: str, good: str, bad: str) -> list[str]:
    """The releases of a package that the backend can use, from `good` to `bad`, oldest first.

    uv is asked again and again for the newest release below the last, so that it respects the index, Python and
    platform. Raises UserError if there is none.
    """
    found: list[str] = []
    below = f"<={bad}" + (".99999" if bad.count(".") < 2 else "")
    with tempfile.TemporaryDirectory(prefix="kbench-") as folder:
        while True:
            asked = f"{package}>={good},{below}"
            try:
                made = _compiled(backend, asked + "\n", (), Path(folder), ["--no-deps"])
            except installers.InstallFailed as failure:
                if found and Version(found[-1]) >= Version(good):
                    return found[::-1]
                absent = "Cannot look up" if failure.unreachable else "There is no release"
                raise UserError(f"{absent} {asked} for {backend.name}: {failure}.") from None
            (newest,) = pinned(made.read_text(encoding="utf-8")).values()
            found.append(newest)
            below = f"<{newest}"
