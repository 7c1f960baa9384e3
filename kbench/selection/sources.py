"""Finds a package's source in a local folder, such as a checkout of Keras."""

from __future__ import annotations

import hashlib
from pathlib import Path

from kbench.base import paths
from kbench.errors import UserError


def find(package: str, text: str) -> dict[str, Path]:
    """{the package's import name: its parent folder, `text` or `text`/src}. Raises UserError."""
    name = package.replace("-", "_")
    checkout = paths.with_home(text).absolute()
    for folder in (checkout, checkout / "src"):
        if (folder / name / "__init__.py").is_file():
            return {name: folder}
    raise UserError(f"{text} has no package {package}: name a folder with {name}/__init__.py, such as a checkout.")


def sha256(package: Path) -> str:
    """Of all Python files below the folder: names and contents."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()
