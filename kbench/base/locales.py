"""Lets file names and text be UTF-8, whatever the user's locale: Python 3.6 goes by the locale alone."""

from __future__ import annotations

import ctypes
import functools
import locale
import os
import sys
from collections.abc import Mapping

KNOWN = ("C.UTF-8", "en_US.UTF-8")  # the second where a C library is too old for the first
_LC_CTYPE_MASK = 1


def in_utf8(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment variables; where their locale is not of UTF-8, the encoding is, and all else stays."""
    now = next((variables[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if variables.get(name)), "C")
    found = "" if _is_utf8(now) else next(filter(_is_utf8, KNOWN), "")
    if not found:
        return dict(variables)
    for_all = variables.get("LC_ALL", "")  # counts before all others
    kept = {
        name: value for name, value in variables.items() if name != "LC_ALL" and not (for_all and name[:3] == "LC_")
    }
    return {**kept, **({"LANG": for_all} if for_all else {}), "LC_CTYPE": found}


@functools.cache
def _is_utf8(name: str) -> bool:
    """Whether this machine has a locale of that name, and its encoding is UTF-8."""
    library = ctypes.CDLL(None)
    library.newlocale.restype = ctypes.c_void_p
    library.nl_langinfo_l.restype = ctypes.c_char_p
    found = library.newlocale(_LC_CTYPE_MASK, os.fsencode(name), None)
    if not found:
        return False
    made = ctypes.c_void_p(found)
    encoding = library.nl_langinfo_l(locale.CODESET, made)
    library.freelocale(made)
    return bool(encoding == b"UTF-8")


def start_in_utf8() -> None:
    """Let this process, and all that it starts, be in UTF-8: begins it anew where its Python already is not.

    What it prints is still in the encoding of the terminal.
    """
    os.environ.update(changed := in_utf8(os.environ))
    for name in {*os.environ} - {*changed}:
        del os.environ[name]
    # Files are named and read in UTF-8 whatever the locale; else a run of somebody else cannot even be listed.
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        os.environ["PYTHONUTF8"] = "1"
        if sys.stdout is not None:
            os.environ.setdefault("PYTHONIOENCODING", sys.stdout.encoding)
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
