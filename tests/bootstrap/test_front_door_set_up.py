"""Making kbench's own environment: once, whole or not at all, and with a sentence where it cannot be made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_checkout import STATUS, call, start, variables, without_pip

from kbench.base import paths
from kbench.bootstrap import entry as front_door
from kbench.bootstrap import host_environment, make_host_environment
from kbench.errors import UserError


def test_the_first_call_sets_up_while_a_second_waits_and_a_third_says_nothing(checkout: Path, cache: Path) -> None:
    first = start(checkout, variables(cache), "list")
    assert first.stderr is not None
    assert first.stderr.readline().startswith("Setting up kbench's own environment in ")
    second = start(checkout, variables(cache), "list")
    assert second.stderr is not None
    assert second.stderr.readline().startswith("Waiting for another process")
    first_output, first_errors = first.communicate()
    second_output, second_errors = second.communicate()
    assert first.returncode == second.returncode == STATUS, first_errors + second_errors
    assert first_output == second_output
    assert first_errors.startswith("Done in ")
    assert second_errors == ""
    third = call(checkout, variables(cache), "list")
    assert (third.returncode, third.stdout, third.stderr) == (STATUS, first_output, "")


@pytest.mark.parametrize("reason", ["no marker", "marker of another lock", "marker cut short", "no python"])
def test_a_half_made_or_broken_environment_is_made_anew(
    reason: str, checkout: Path, cache: Path, environment: Path
) -> None:
    lock = checkout / "requirements" / "host.lock"
    marker = environment / host_environment.MARKER
    leftover = environment / "leftover"
    leftover.touch()
    if reason == "no marker":
        marker.unlink()
    elif reason == "marker of another lock":
        marker.write_text("0" * 64)
    elif reason == "marker cut short":
        marker.write_text(marker.read_text()[:10])
    else:
        host_environment.python_of(environment).unlink()
    assert not host_environment.ready(environment, lock)
    assert front_door.ensure(lock, cache, "it", "a moment") == host_environment.python_of(environment)
    assert host_environment.ready(environment, lock)
    assert not leftover.exists()


def test_a_second_call_starts_no_process_and_takes_no_lock(
    checkout: Path, cache: Path, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nothing needs to be run")

    monkeypatch.setattr(subprocess, "run", refuse)
    monkeypatch.setattr(make_host_environment, "_locked", refuse)
    lock = checkout / "requirements" / "host.lock"
    assert front_door.ensure(lock, cache, "it", "a moment") == host_environment.python_of(environment)


def test_another_lock_file_gets_another_environment(checkout: Path, cache: Path) -> None:
    lock = checkout / "requirements" / "host.lock"
    before = host_environment.folder_for(lock, cache)
    lock.write_text("# something else\n")
    after = host_environment.folder_for(lock, cache)
    assert before != after
    assert before.parent == after.parent == cache / "host"


def test_a_failed_set_up_leaves_nothing_but_the_log_and_says_why(
    checkout: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "print('Collecting'); print('ERROR: the index is on fire'); raise SystemExit(1)"
    monkeypatch.setattr(
        make_host_environment,
        "commands",
        lambda folder, lock: (without_pip(folder, lock)[0], [sys.executable, "-c", script]),
    )
    lock = checkout / "requirements" / "host.lock"
    with pytest.raises(UserError, match=r"it could not be made: the index is on fire \(.*\.log\)"):
        front_door.ensure(lock, cache, "it", "a moment")
    folder = host_environment.folder_for(lock, cache)
    assert not folder.exists()
    assert folder.with_suffix(".log").read_text().splitlines()[0] == "Collecting"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("", "no reason was given"),
        ("something\nwent wrong\n", "went wrong"),
        ("WARNING: x\nERROR: No matching distribution\nERROR: more\n", "No matching distribution"),
        (
            "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError('<a.B>: "
            "Failed to establish: [Errno -3] Temporary failure in name resolution')': /simple/a/\n"
            "ERROR: Could not find a version that satisfies the requirement a==1 (from versions: none)\n",
            "pip reached no package index ([Errno -3] Temporary failure in name resolution): "
            "check the network and `pip config list`",
        ),
        (
            "WARNING: Retrying after connection broken by 'ReadTimeoutError()': /simple/a/\n"
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES\n",
            "THESE PACKAGES DO NOT MATCH THE HASHES",
        ),
    ],
)
def test_of_what_pip_says_the_essence_is_told(output: str, reason: str) -> None:
    assert make_host_environment.essence(output) == reason


def test_an_interrupted_set_up_ends_with_130_and_leaves_nothing_half_made(checkout: Path, cache: Path) -> None:
    process = start(checkout, variables(cache), "list")
    assert process.stderr is not None
    process.stderr.readline()
    os.killpg(process.pid, signal.SIGINT)
    assert process.stderr.read().splitlines()[-1] == "kbench: interrupted."
    assert process.wait() == 130
    assert [entry for entry in (cache / "host").iterdir() if entry.is_dir()] == []


def test_ctrl_c_while_a_process_of_the_set_up_starts_ends_that_process_too(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    folder = tmp_path / "host" / "folder"
    late = "import pathlib, sys, time; time.sleep(20); pathlib.Path(sys.argv[1]).mkdir()"
    command = [sys.executable, "-c", late, str(folder)]
    monkeypatch.setattr(make_host_environment, "commands", lambda folder, lock: (command, command))
    monkeypatch.setattr(make_host_environment.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_host_environment.make(folder, checkout / "requirements" / "host.lock", "it", "a moment")
    assert [process.wait() for process in started] == [-signal.SIGKILL]
    assert not folder.exists()


def test_a_cache_that_cannot_be_written_is_one_sentence(checkout: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = call(checkout, variables(file), "list")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "KBENCH_CACHE" in done.stderr


def test_a_cache_in_the_home_of_nobody_is_one_sentence(checkout: Path) -> None:
    done = call(checkout, variables(Path("~no-such-user/kbench")), "list")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "KBENCH_CACHE" in done.stderr


def test_a_missing_lock_file_is_one_sentence(checkout: Path, cache: Path) -> None:
    (checkout / "requirements" / "host.lock").unlink()
    done = call(checkout, variables(cache), "list")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "host.lock" in done.stderr


def test_without_ensurepip_the_interpreters_own_pip_installs_or_a_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "22.3.1")
    create, install = make_host_environment.commands(tmp_path / "env", tmp_path / "host.lock")
    assert "--without-pip" in create
    assert install[0] == sys.executable
    assert install[install.index("--python") + 1] == str(host_environment.python_of(tmp_path / "env"))
    monkeypatch.setattr("importlib.metadata.version", lambda name: "20.0")
    with pytest.raises(UserError, match=r"install python3\.\d+-venv"):
        make_host_environment.commands(tmp_path / "env", tmp_path / "host.lock")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"XDG_CACHE_HOME": "/somewhere/else"},
        {"XDG_CACHE_HOME": "not/absolute"},
        {"XDG_CACHE_HOME": ""},
        {"KBENCH_CACHE": "~/mine"},
        {"KBENCH_CACHE": "relative"},
    ],
)
def test_front_door_and_kbench_agree_where_the_cache_is(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KBENCH_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert host_environment.cache_folder() == paths.cache_folder()
