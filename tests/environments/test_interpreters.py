"""Finding a Python: where it is looked for, what does not fit, and what the refusals say."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import conda_channel
import pytest
from fake_backends import HOST_PYTHON, write_backend

from kbench.base import paths
from kbench.environments import installers, interpreters
from kbench.errors import Unavailable, UserError
from kbench.records.values import Backend
from kbench.selection import backends

OLD = "3.6"  # never the host's own version


def fake_python(path: Path, version: str = "3.6.15", library_folder: str = "/lib") -> Path:
    """A program that answers the probe as a Python of this version would."""
    told = {"version": version, "prefix": str(path.parent), "library_folder": library_folder}
    return program(path, f"echo '{json.dumps(told)}'")


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any Python of version 3.6, without conda, and with a uv that can do nothing."""
    for name in ("PYENV_ROOT", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    uv = program(tmp_path / "uv", "echo 'error: No download found' >&2; exit 2")
    monkeypatch.setattr(installers, "uv_program", lambda: str(uv))
    return tmp_path


@pytest.fixture
def backend(tmp_path: Path) -> Backend:
    return backends.load(write_backend(tmp_path / "files", python=OLD))


def find(backend: Backend, machine: Path, explicit: Path | None = None) -> interpreters.Interpreter:
    return interpreters.find(backend, explicit=explicit, cache=machine / "cache", report=lambda text: None)


def test_one_on_path_is_found(backend: Backend, machine: Path) -> None:
    python = fake_python(machine / "bin/python3.6")
    assert find(backend, machine).path == python


def test_a_pyenv_shim_without_a_version_is_passed_over(backend: Backend, machine: Path) -> None:
    program(machine / "bin/python3.6", "echo 'pyenv: python3.6: command not found' >&2; exit 127")
    python = fake_python(machine / ".pyenv/versions/3.6.15/bin/python3.6")
    assert find(backend, machine).path == python


def test_the_newest_patch_release_under_pyenv_comes_first(
    backend: Backend, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(machine / "own"))
    fake_python(machine / "own/versions/3.6.9/bin/python3.6", "3.6.9")
    newest = fake_python(machine / "own/versions/3.6.15/bin/python3.6")
    assert find(backend, machine).path == newest


def test_a_prefix_of_a_version_is_not_that_version(backend: Backend, machine: Path) -> None:
    fake_python(machine / ".pyenv/versions/3.10.1/bin/python3.10", "3.10.1")
    with pytest.raises(Unavailable):
        find(replace(backend, python=("3.1",)), machine)


def test_a_python_without_its_library_does_not_fit_a_backend_that_needs_it(backend: Backend, machine: Path) -> None:
    fake_python(machine / "bin/python3.6", library_folder="")
    with pytest.raises(Unavailable, match=r"no shared libpython.*--enable-shared pyenv install 3\.6"):
        find(replace(backend, shared_libpython=True), machine)


def test_not_found_says_what_to_install(backend: Backend, machine: Path) -> None:
    with pytest.raises(Unavailable) as reason:
        interpreters.at_hand(backend, machine / "cache")
    assert str(reason.value) == (
        "Python 3.6 was not found: the first run tries to make it from conda-forge; or install it with pyenv (pyenv "
        "install 3.6) or conda, or name one with --python keras9/tiny=/path/to/python"
    )


def test_any_usable_version_on_the_machine_is_better_than_a_download(backend: Backend, machine: Path) -> None:
    asked: list[str] = []
    found = interpreters.find(
        replace(backend, python=(OLD, HOST_PYTHON)), cache=machine / "cache", report=asked.append
    )
    assert found.minor == HOST_PYTHON
    assert asked == []


def test_uv_makes_one_in_the_cache(backend: Backend, machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = fake_python(machine / "template")
    uv = program(
        machine / "uv",
        f'[ "$2" = install ] || exit 2\nd="$UV_PYTHON_INSTALL_DIR/cpython-3.6.15-linux/bin"\n'
        f'mkdir -p "$d" && cp "{template}" "$d/python3.6"',
    )
    monkeypatch.setattr(installers, "uv_program", lambda: str(uv))
    found = find(backend, machine)
    assert found.path.is_relative_to(machine / "cache/interpreters/uv")


def test_where_no_channel_has_one_it_is_one_sentence(backend: Backend, machine: Path) -> None:
    with pytest.raises(Unavailable) as reason:
        find(backend, machine)
    assert str(reason.value) == (
        "Python 3.6 was not found, and conda-forge gave none that works (No download found): name another channel "
        "in KBENCH_CHANNEL, install it with pyenv (pyenv install 3.6) or conda, or name one with --python "
        "keras9/tiny=/path/to/python"
    )


def test_a_python_that_was_made_and_does_not_start_is_said(
    backend: Backend, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(version: str, cache: Path, report: object) -> None:
        program(cache / f"interpreters/py{version}/bin/python{version}", "exit 1")
        (cache / f"interpreters/py{version}/complete").touch()

    monkeypatch.setattr(interpreters, "_from_channel", make)
    with pytest.raises(Unavailable, match=r"conda-forge gave none that works \(it does not start\)"):
        find(backend, machine)


def test_an_explicit_python_must_start_and_be_of_the_version(backend: Backend, machine: Path) -> None:
    assert find(backend, machine, fake_python(machine / "mine")).version == "3.6.15"
    with pytest.raises(UserError, match="does not start"):
        find(backend, machine, program(machine / "broken", "exit 1"))
    with pytest.raises(UserError, match=r"needs Python 3\.6, and .* is 3\.8\.1"):
        find(backend, machine, fake_python(machine / "newer", "3.8.1"))


def choices(tmp_path: Path, backend: Backend) -> dict[str, Backend]:
    names = ("keras2/one", "keras2/two", "keras3/one")
    return {name: replace(backend, name=name, generation=name[:6]) for name in names}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("keras3/one", ("keras3/one",)),
        ("two", ("keras2/two",)),
        ("keras2", ("keras2/one", "keras2/two")),
        ("all", ("keras2/one", "keras2/two", "keras3/one")),
    ],
)
def test_the_python_option_names_one_backend_or_a_group(
    tmp_path: Path, backend: Backend, name: str, expected: tuple[str, ...]
) -> None:
    python = fake_python(tmp_path / "own=1/python")
    names, choice = interpreters.parse_python_option(f"{name}={python}", choices(tmp_path, backend))
    assert names == expected
    assert choice == interpreters.Choice(python, as_is=False)


def test_as_is_and_an_environments_folder_are_understood(tmp_path: Path, backend: Backend) -> None:
    python = fake_python(tmp_path / "env/bin/python")
    for text in (f"two={python},as-is", f"two={tmp_path / 'env'},as-is"):
        _, choice = interpreters.parse_python_option(text, choices(tmp_path, backend))
        assert choice == interpreters.Choice(python, as_is=True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("two", "is not of the form"),
        ("=/bin/sh", "is not of the form"),
        ("two=,as-is", "is not of the form"),
        ("three=/bin/sh", "unknown backend, three"),
        ("one=/bin/sh", "keras2/one or keras3/one"),
        ("two=/nowhere/python", "there is no Python at /nowhere/python"),
    ],
)
def test_a_wrong_python_option_is_refused(tmp_path: Path, backend: Backend, text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        interpreters.parse_python_option(text, choices(tmp_path, backend))


@pytest.fixture(scope="module")
def channel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A conda channel with the Python that the backends of Keras 2 have on this machine."""
    known = backends.load_all(paths.project_folder("backends"))
    backend = next(one for one in known.values() if OLD in one.python and one.shared_libpython)
    python = interpreters.find(backend, cache=paths.cache_folder(), report=lambda text: None)
    folder = tmp_path_factory.mktemp("conda")
    prefix = python.library_folder.parent if python.library_folder else python.prefix
    conda_channel.make(folder / "channel", prefix, python.version, folder / "work")
    return folder / "channel"


def test_a_machine_without_the_python_gets_it_from_conda_packages(
    backend: Backend, machine: Path, channel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # uv brings py-rattler; but nothing of this machine's Pythons is to be found
    monkeypatch.setenv("PYENV_ROOT", str(machine / "none"))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("KBENCH_CHANNEL", str(channel))
    monkeypatch.setattr(interpreters.sys, "base_prefix", str(machine / "none"))
    monkeypatch.setattr(interpreters, "_from_uv", lambda *_: None)
    told: list[str] = []
    found = interpreters.find(backend, cache=machine / "cache", report=told.append)
    assert found.path == machine / "cache/interpreters/py3.6/bin/python3.6"
    assert found.minor == OLD and found.prefix == found.path.parents[1]
    assert told == [
        f"Python 3.6 is not on this machine: making one from {channel.as_uri()} in {found.path.parents[1]}"
    ]
    header, package = (found.path.parents[1] / "kbench-packages.txt").read_text().split()
    assert header == "@EXPLICIT" and package.startswith(
        f"{channel.as_uri()}/linux-64/python-{found.version}-0.tar.bz2#"
    )
    assert interpreters.find(backend, cache=machine / "cache", report=told.append) == found and len(told) == 1


def test_a_channel_without_it_is_named_with_what_it_said(
    backend: Backend, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = machine / "empty"
    for subdir in ("linux-64", "noarch"):
        (empty / subdir).mkdir(parents=True)
        (empty / subdir / "repodata.json").write_text('{"packages": {}, "packages.conda": {}}')
    path = os.environ["PATH"]
    monkeypatch.undo()
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("PYENV_ROOT", str(machine / "none"))
    monkeypatch.setenv("KBENCH_CHANNEL", str(empty))
    monkeypatch.setattr(interpreters, "_from_uv", lambda *_: None)
    wanted = replace(backend, python=("3.5",))
    with pytest.raises(
        Unavailable, match=r"Python 3\.5 was not found, and file://.*/empty gave none that works \(.*python 3\.5"
    ):
        interpreters.find(wanted, cache=machine / "cache", report=lambda text: None)
