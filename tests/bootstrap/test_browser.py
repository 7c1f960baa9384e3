"""What `run.py test` does about a browser: installs one as root on Debian, and goes on without where it cannot."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kbench.bootstrap import browser, entry

SAYS = "Installing Chromium with apt, for the tests of report.html (once; --no-install leaves it out) ...\n"
REFUSES = 'echo "E: Unable to locate package chromium" >&2; exit 100'


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of PATH; kbench believes to be root, and no check is run."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(entry, "ensure", lambda *_: Path(sys.executable))
    monkeypatch.setattr(entry, "checks", lambda _, arguments: {})
    return folder


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def install_into(folder: Path) -> str:
    """An apt-get that keeps what it was asked to do, and whose package is an empty program."""
    chromium = folder / "chromium"
    return (
        f'echo "$*" >> "{folder}/asked"; case "$*" in *install*) : > "{chromium}"; /bin/chmod +x "{chromium}";; esac'
    )


@pytest.mark.processes
@pytest.mark.parametrize("arguments", [[], ["tests/browser"]], ids=str)
def test_root_on_debian_gets_chromium_and_is_told_so(
    arguments: list[str], programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(programs, "apt-get", install_into(programs))
    assert entry.main(["test", *arguments]) == 0
    assert capsys.readouterr().err == f"{SAYS}Done.\n"
    update, install = (programs / "asked").read_text().splitlines()
    assert update.endswith(" update") and "install -y --no-install-recommends chromium" in install
    assert entry.main(["test", *arguments]) == 0, "once it is there, nothing is installed"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "arguments", [["--no-install"], ["tests/browser", "--no-install"], ["--lint"], ["tests/test_house.py"]], ids=str
)
def test_nothing_is_installed_where_that_is_refused_or_no_browser_is_needed(
    arguments: list[str], programs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program(programs, "apt-get", install_into(programs))
    seen: list[list[str]] = []
    monkeypatch.setattr(entry, "checks", lambda _, arguments: seen.append(arguments) or {})
    assert entry.main(["test", *arguments]) == 0
    assert capsys.readouterr().err == "" and not (programs / "asked").exists()
    assert seen == [[one for one in arguments if one != "--no-install"]]


def test_nobody_but_root_and_no_system_without_apt_is_asked_for_anything(
    programs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    browser.install()
    program(programs, "apt-get", install_into(programs))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    browser.install()
    assert capsys.readouterr().err == "" and not (programs / "asked").exists()


@pytest.mark.processes
def test_where_apt_fails_its_reason_is_said_and_the_tests_are_run(
    programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(programs, "apt-get", REFUSES)
    assert entry.main(["test"]) == 0
    reason = "Chromium could not be installed: E: Unable to locate package chromium.\n"
    assert capsys.readouterr().err == SAYS + reason
