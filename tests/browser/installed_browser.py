"""The browser that this machine has, for the tests of report.html and for its picture in the README."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
PLACES = {
    "darwin": ("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",),
    "win32": (
        "C:/Program Files/Google/Chrome/Application/chrome.exe",
        "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
    ),
}
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
    on_path = [found for name in NAMES if (found := shutil.which(name))]
    installed = [place for place in PLACES.get(sys.platform, ()) if Path(place).is_file()]
    for found in (*on_path, *installed):
        return found
    raise FileNotFoundError(MISSING)
