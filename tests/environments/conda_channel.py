"""Test helper: a conda channel on disk that has a Python of this machine."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

LEFT_OUT = {"__pycache__", "test", "tests", "site-packages", "share", "idlelib", "tkinter", "lib2to3"}


def make(channel: Path, prefix: Path, version: str, work: Path) -> None:
    """Write `channel` with one package: the Python installed in `prefix`, copied to `work` first."""
    subdir = channel / "linux-64"
    subdir.mkdir(parents=True)
    shutil.copytree(prefix, work, symlinks=True, ignore=lambda _, names: [n for n in names if _unneeded(n)])
    files = sorted(one.relative_to(work).as_posix() for one in work.rglob("*") if one.is_symlink() or one.is_file())
    index: dict[str, Any] = {
        "name": "python", "version": version, "build": "0", "build_number": 0, "depends": [], "subdir": "linux-64",
    }  # fmt: skip
    info = work / "info"
    info.mkdir()
    (info / "index.json").write_text(json.dumps(index))
    (info / "paths.json").write_text(json.dumps({"paths": [_path(work, one) for one in files], "paths_version": 1}))
    package = subdir / f"python-{version}-0.tar.bz2"
    with tarfile.open(package, "w:bz2", compresslevel=1) as archive:
        for one in ("info", *files):
            archive.add(work / one, one)
    content = package.read_bytes()
    record = {**index, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    _repodata(subdir, {package.name: record})
    (channel / "noarch").mkdir()
    _repodata(channel / "noarch", {})


def _repodata(subdir: Path, packages: dict[str, Any]) -> None:
    data = {"info": {"subdir": subdir.name}, "packages": packages, "packages.conda": {}, "repodata_version": 1}
    (subdir / "repodata.json").write_text(json.dumps(data))


def _unneeded(name: str) -> bool:
    return name in LEFT_OUT or name.endswith((".a", ".pyc"))


def _path(work: Path, name: str) -> dict[str, object]:
    path = work / name
    kind = "softlink" if path.is_symlink() else "hardlink"
    content = path.read_bytes() if path.is_file() else b""
    return {"_path": name, "path_type": kind, "sha256": hashlib.sha256(content).hexdigest()}
