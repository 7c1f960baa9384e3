"""A backend small enough to install in a second: one TOML file, its lock, and a wheel made on the spot."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path

from kbench import backends
from kbench.values import Backend

HOST_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"

TOML = """
title = "A tiny backend"
keras_backend = "tiny"
distribution = "tiny-backend"
python = ["{python}"]
can = ["train", "infer"]
image_data_format = "channels_last"
gpu_image_data_format = "channels_first"
color = "#0072B2"
{more}
[[builds]]
name = "cpu"
device = "cpu"
requirements = ["tiny-backend==1.0"]
{more_build}
"""


def write_wheel(folder: Path) -> str:
    """Writes tiny_backend-1.0's wheel, with a `keras` in it; returns its sha256."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tiny_backend-1.0-py3-none-any.whl"
    info = "tiny_backend-1.0.dist-info"
    members = {
        "tiny.py": "",
        "keras.py": "__version__ = '0.1'\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tiny-backend\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in members) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in {**members, f"{info}/RECORD": record}.items():
            wheel.writestr(zipfile.ZipInfo(name), text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_backend(
    folder: Path, *, more: str = "", more_build: str = "", python: str = HOST_PYTHON, sha256: str = "0" * 64
) -> Path:
    """Writes folder/keras9/tiny.toml and its lock; returns the file's path."""
    path = folder / "keras9" / "tiny.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TOML.format(python=python, more=more, more_build=more_build))
    path.with_name("tiny.cpu.lock").write_text(f"tiny-backend==1.0 \\\n    --hash=sha256:{sha256}\n")
    return path


def installable(folder: Path, **options: str) -> Backend:
    """The tiny backend, whose wheel lies in folder/wheels."""
    return backends.load(write_backend(folder, sha256=write_wheel(folder / "wheels"), **options))
