"""Finding a Python: where it is looked for, what does not fit, and what the refusals say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fake_backends import HOST_PYTHON, write_backend

from kbench.environments import installers, interpreters
from kbench.errors import Unavailable, UserError
from kbench.selection import backends
from kbench.values import Backend

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
    with pytest.raises(Unavailable, match=r"no shared libpython.*--enable-shared pyenv install 3\.6\.15"):
        find(replace(backend, shared_libpython=True), machine)


def test_not_found_says_what_to_install(backend: Backend, machine: Path) -> None:
    with pytest.raises(Unavailable) as reason:
        find(backend, machine)
    assert str(reason.value) == (
        "Python 3.6 was not found: install it with pyenv (pyenv install 3.6.15) or conda, or name one with "
        "--python keras9/tiny=/path/to/python"
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


def test_conda_makes_one_where_only_it_can_and_it_is_kept(backend: Backend, machine: Path) -> None:
    template = fake_python(machine / "template")
    program(
        machine / "bin/conda",
        f'mkdir -p "$4/bin" && cp "{template}" "$4/bin/python3.6"; echo >> "{machine}/calls"',
    )
    first = find(backend, machine)
    assert first.path == machine / "cache/interpreters/py3.6/bin/python3.6"
    assert find(backend, machine) == first
    assert (machine / "calls").read_text().count("\n") == 1


def test_a_half_made_conda_environment_is_made_again(backend: Backend, machine: Path) -> None:
    fake_python(machine / "cache/interpreters/py3.6/bin/python3.6", version="0.0.0")
    template = fake_python(machine / "template")
    program(machine / "bin/mamba", f'mkdir -p "$4/bin" && cp "{template}" "$4/bin/python3.6"')
    assert find(backend, machine).version == "3.6.15"


def test_a_failing_conda_is_one_sentence_too(backend: Backend, machine: Path) -> None:
    program(machine / "bin/conda", "echo 'CondaHTTPError: no network' >&2; exit 1")
    with pytest.raises(Unavailable, match=r"Python 3\.6 was not found"):
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
