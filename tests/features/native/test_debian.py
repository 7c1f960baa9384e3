"""Packages of Debian come from the first mirror that has them, whole and checked, or the environment is not made."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_backends import installable
from features.native import debian_mirror

from kbench.environments import ensure, packages
from kbench.errors import Unavailable
from kbench.planning.tasks import of_build
from kbench.records.values import Backend, Build

MORE = 'debian = ["python3-tiny"]\ndistribution = "python3-tiny"\n'


@pytest.fixture(autouse=True)
def apart_from_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tests' wheels only, and an apt that names no mirror until a test says otherwise."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("KBENCH_DEBIAN_MIRROR", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "files" / "wheels"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    apt = tmp_path / "bin" / "apt-get"
    apt.parent.mkdir()
    monkeypatch.setenv("PATH", str(apt.parent), prepend=os.pathsep)
    return apt


def of_apt(apt: Path, *mirrors: str) -> None:
    apt.write_text(f'#!/bin/sh\n[ "$*" = "indextargets --format \\$(REPO_URI)" ] && echo {" ".join(mirrors)}\n')
    apt.chmod(0o755)


@pytest.fixture
def apt(apart_from_this_machine: Path) -> Path:
    of_apt(apart_from_this_machine)
    return apart_from_this_machine


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "files" / "keras9" / "tiny.cpu.debian.lock"
    path.parent.mkdir(parents=True)
    path.write_text(debian_mirror.packages(tmp_path / "mirror"))
    return path


@pytest.fixture
def mirror(tmp_path: Path, apt: Path) -> Iterator[str]:
    with debian_mirror.served(tmp_path / "mirror") as address:
        of_apt(apt, address)
        yield address


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def nobody() -> str:
    """An address on this machine at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def backend_of(tmp_path: Path) -> tuple[Backend, Build]:
    backend = installable(tmp_path / "files", more_build=MORE)
    return backend, backend.builds[0]


def refused(backend: Backend, build: Build, cache: Path) -> str:
    """Why the environment was not made: one sentence, of which only the log is left."""
    with pytest.raises(Unavailable) as reason:
        ensure.ensure(backend, build, cache=cache)
    assert not [one for one in (cache / "environments").glob("keras9*") if one.is_dir()]
    (log,) = (cache / "environments/logs").iterdir()
    text = str(reason.value)
    assert "\n" not in text and str(log) in text
    return text


def test_their_libraries_and_the_backends_python_package_are_there(
    tmp_path: Path, lock: Path, mirror: str, cache: Path
) -> None:
    made = ensure.ensure(*backend_of(tmp_path), cache=cache)
    assert made.folder is not None
    there = [one for one in (made.folder / "debian").rglob("*") if not one.is_dir() and one.suffix != ".pyc"]
    files = {str(one.relative_to(made.folder)) for one in there}
    libraries = {name[2:] for name in (*debian_mirror.LIBRARY, *debian_mirror.LINKS)}
    assert files == {f"debian/{name}" for name in (*libraries, "usr/lib/python3/dist-packages/tiny/__init__.py")}
    said = subprocess.check_output([made.python, "-I", "-c", "import tiny; print(tiny.NAME)"], text=True)
    assert said == "of Debian\n"
    (log,) = (cache / "environments/logs").iterdir()
    assert f"{mirror}/pool/libtiny1" in log.read_text()


def test_after_a_mirror_that_is_down_or_lacks_a_package_the_next_one_is_asked(
    tmp_path: Path, lock: Path, apt: Path, cache: Path
) -> None:
    (tmp_path / "other").mkdir()
    with debian_mirror.served(tmp_path / "other") as without, debian_mirror.served(tmp_path / "mirror") as found:
        of_apt(apt, "cdrom:[Debian]/", nobody(), without, found)
        assert ensure.ensure(*backend_of(tmp_path), cache=cache).python.exists()


def test_the_users_mirror_is_asked_before_those_of_apt(
    tmp_path: Path, lock: Path, mirror: str, cache: Path, apt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_apt(apt, nobody())
    monkeypatch.setenv("KBENCH_DEBIAN_MIRROR", f"{mirror}/")
    assert ensure.ensure(*backend_of(tmp_path), cache=cache).python.exists()
    (log,) = (cache / "environments/logs").iterdir()
    assert "no connection" not in log.read_text()


def test_without_a_mirror_the_sentence_says_how_to_name_one(
    tmp_path: Path, lock: Path, apt: Path, cache: Path
) -> None:
    text = refused(*backend_of(tmp_path), cache)
    assert "no mirror of Debian is known; set KBENCH_DEBIAN_MIRROR to a mirror of Debian" in text


def test_a_mirror_that_is_no_address_is_refused(
    tmp_path: Path, lock: Path, mirror: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KBENCH_DEBIAN_MIRROR", "mirror.example/debian")
    assert "KBENCH_DEBIAN_MIRROR is 'mirror.example/debian', which is not an http" in refused(
        *backend_of(tmp_path), cache
    )


def test_without_a_network_the_sentence_says_so(tmp_path: Path, lock: Path, apt: Path, cache: Path) -> None:
    of_apt(apt, nobody())
    text = refused(*backend_of(tmp_path), cache)
    assert "keras9/tiny could not be made: no connection to 127.0.0.1: ConnectionError" in text


def test_a_package_that_no_mirror_has_is_named(tmp_path: Path, lock: Path, mirror: str, cache: Path) -> None:
    (tmp_path / "mirror/pool/libtiny1_1.0-8_amd64.deb").unlink()
    text = refused(*backend_of(tmp_path), cache)
    assert "127.0.0.1 answered 404 when asked for libtiny1_1.0-8_amd64.deb" in text


def test_a_package_with_another_content_than_locked_is_refused(
    tmp_path: Path, lock: Path, mirror: str, cache: Path
) -> None:
    debian_mirror.deb(tmp_path / "mirror/pool/libtiny1_1.0-8_amd64.deb", {"./usr/lib/evil.so": ""})
    text = refused(*backend_of(tmp_path), cache)
    assert "127.0.0.1 sent another libtiny1_1.0-8_amd64.deb than the locked one" in text


def test_a_damaged_lock_file_is_named(tmp_path: Path, lock: Path, mirror: str, cache: Path) -> None:
    lock.write_text(lock.read_text() + "0" * 64 + "  ../libtiny1_1.0-8_amd64.deb\n")
    assert "its lock file of Debian is damaged: '0000" in refused(*backend_of(tmp_path), cache)


@pytest.mark.parametrize(
    ("files", "links"),
    [
        ({"./usr/lib/../../../../out": "out"}, {}),
        ({}, {"./usr/lib/out": "../../../../out"}),
        ({}, {"./usr/lib/out": "/etc"}),
    ],
)
def test_a_path_out_of_the_folder_is_refused(
    tmp_path: Path, lock: Path, mirror: str, cache: Path, files: dict[str, str], links: dict[str, str]
) -> None:
    line = debian_mirror.deb(tmp_path / "mirror/pool/evil_1_all.deb", files, links)
    lock.write_text(lock.read_text() + line)
    assert "out" in refused(*backend_of(tmp_path), cache)
    assert not [*cache.rglob("out")]


def test_packages_without_the_backends_module_are_refused(
    tmp_path: Path, lock: Path, mirror: str, cache: Path
) -> None:
    lock.write_text(debian_mirror.deb(tmp_path / "mirror/pool/a_1_all.deb", {}))
    assert "have no Python package tiny" in refused(*backend_of(tmp_path), cache)


def test_another_debian_lock_is_another_environment_and_another_measurement(
    tmp_path: Path, lock: Path, mirror: str, cache: Path
) -> None:
    backend, build = backend_of(tmp_path)
    made = ensure.ensure(backend, build, cache=cache)
    task = of_build(build, backend.distribution, as_is=False)
    assert task["lock_sha256"] == made.lock_sha256
    lock.write_text(lock.read_text() + "\n")
    assert ensure.find(backend, build, cache=cache) is None
    assert of_build(build, backend.distribution, as_is=False)["lock_sha256"] != made.lock_sha256


def test_a_debian_packages_version_is_that_of_its_authors(lock: Path) -> None:
    assert packages.pinned(lock.read_text()) == {"python3-tiny": "1.0", "libtiny1": "1.0"}
