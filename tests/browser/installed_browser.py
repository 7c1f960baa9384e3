"""The browser that this machine has, for the tests of report.html and for its picture in the README."""

from __future__ import annotations

import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
MISSING = (
    "The tests of report.html need a browser: install Chromium (on Debian: apt-get install chromium), Chrome or Edge."
)
# Root, as in a container, needs --no-sandbox; the others keep a browser from calling home or asking anything.
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find() -> str:
    """The browser's program. Raises FileNotFoundError with a sentence that says what to install."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    raise FileNotFoundError(MISSING)
