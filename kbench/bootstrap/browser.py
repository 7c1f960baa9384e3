"""The browser of the tests of report.html: finds one, or installs Chromium where it may. Needs no packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
WANTED = "install Chromium (on Debian and Ubuntu: apt-get install chromium), Chrome or Edge"
# Without a network it ends within a minute.
_APT = ["apt-get", "-qq", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20"]
_COMMANDS = (
    [*_APT, "update"],
    [*_APT, "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"],
)


def find() -> str:
    """The browser's program; empty if this machine has none."""
    return next(filter(None, map(shutil.which, NAMES)), "")


def install() -> None:
    """Install Chromium with apt, if there is no browser and this is root on a Debian or Ubuntu; says so on stderr.

    Where that fails it says why, and the tests that need a browser are skipped.
    """
    if find() or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    _say("Installing Chromium with apt, for the tests of report.html (once; --no-install leaves it out) ...")
    variables = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    reason = "apt gave no reason"
    for command in _COMMANDS:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=variables)
        reason = next((line for line in done.stderr.splitlines() if line.startswith("E: ")), reason)
    _say("Done." if find() else f"Chromium could not be installed: {reason}.")


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
