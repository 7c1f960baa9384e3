"""Test helper: tiny backends that install in a second: a TOML file, its lock file, and wheels made for the test."""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy

from kbench.records.values import Backend
from kbench.selection import backends

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


def wheel(folder: Path, name: str, version: str, files: Mapping[str, str], metadata: str = "") -> str:
    """Writes a wheel with these files in it; returns its sha256. `metadata` are further lines of it."""
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    path = folder / f"{module}-{version}-py3-none-any.whl"
    info = f"{module}-{version}.dist-info"
    members = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},{recorded(text)}\n" for name, text in members.items()) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in {**members, f"{info}/RECORD": record}.items():
            archive.writestr(zipfile.ZipInfo(member), text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def recorded(text: str) -> str:
    """Hash and size, as a RECORD has them."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
    return f"sha256={digest},{len(text.encode())}"


def write_wheel(folder: Path) -> str:
    """Writes tiny_backend-1.0's wheel, with a `keras` in it; returns its sha256."""
    return wheel(folder, "tiny-backend", "1.0", {"tiny.py": "", "keras.py": "__version__ = '0.1'\n"})


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


FAKE_KERAS = Path(__file__).with_name("fake_keras")
FAKE_TOML = """
title = "Keras in miniature"
keras_backend = "theano"
distribution = "fake-framework"
python = ["{python}"]
can = {can}
cannot = "a fake that does half of it"
image_data_format = "channels_last"
gpu_image_data_format = "channels_first"
color = "{color}"
{more}
[[builds]]
name = "cpu"
device = "cpu"
requirements = ["keras-fake==2.99.1", "fake-framework==1.0"]
{builds}
"""


def fake_wheels(folder: Path) -> str:
    """Writes the wheels of the fake Keras and its framework; returns the lock file for them.

    numpy is the test's own, by way of a .pth file: it cannot be made on the spot.
    """
    files = {f"keras/{path.name}": path.read_text() for path in sorted((FAKE_KERAS / "keras").glob("*.py"))}
    framework = {
        "theano.py": (FAKE_KERAS / "theano.py").read_text(),
        "own_numpy.pth": f"{Path(numpy.__file__).parents[1]}\n",
    }
    hashes = {
        "keras-fake==2.99.1": wheel(folder, "keras-fake", "2.99.1", files),
        "fake-framework==1.0": wheel(folder, "fake-framework", "1.0", framework),
    }
    return "".join(f"{name} \\\n    --hash=sha256:{sha256}\n" for name, sha256 in hashes.items())


def write_fake(
    folder: Path,
    name: str,
    lock: str,
    *,
    more: str = "",
    builds: str = "",
    python: str = HOST_PYTHON,
    can: str = '["train", "infer"]',
    color: str = "#0072B2",
) -> Path:
    """Writes folder/<name>.toml of a backend that runs on the fake Keras; name: "keras9/fake"."""
    path = folder / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FAKE_TOML.format(python=python, can=can, color=color, more=more, builds=builds))
    path.with_name(f"{path.stem}.cpu.lock").write_text(lock)
    return path
