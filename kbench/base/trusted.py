"""Refuses a cache folder into which others can put programs: kbench runs what is in it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from kbench.errors import UserError

OWN = 0o755  # the mode of a cache folder that kbench makes, whatever the umask


def check(cache: Path) -> Path:
    """The folder, which need not be there. Raises UserError if everybody may write to it, or it is somebody else's.

    root may use anybody's, as in a container with a folder of its host.
    """
    try:
        about = cache.stat()
    except OSError:
        return cache
    if about.st_mode & stat.S_IWOTH:
        what, instead = "everybody may write to it", f"`chmod o-w {cache}`, if all in it is yours, or "
    elif about.st_uid not in (0, os.geteuid()) and os.geteuid() != 0:
        what, instead = "it belongs to another user", ""
    else:
        return cache
    raise UserError(
        f"kbench would run programs from its cache folder {cache}, but {what}: {instead}name another "
        "folder with KBENCH_CACHE."
    )
