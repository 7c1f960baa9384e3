"""Translates the user's pip configuration (mirrors, proxies, certificates) for uv, which does not read it.

Reads the files that pip documents, in pip's order: running pip takes a second, and pip may not be installed.
https://pip.pypa.io/en/stable/topics/configuration/
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Mapping
from pathlib import Path

# pip's option -> uv's variables for it. One that the user has already set takes precedence.
UV_VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", "UV_INDEX_URL"),
    "extra-index-url": ("UV_INDEX", "UV_EXTRA_INDEX_URL"),
    "find-links": ("UV_FIND_LINKS",),
    "no-index": ("UV_NO_INDEX",),
    "cert": ("SSL_CERT_FILE",),
    "client-cert": ("SSL_CLIENT_CERT",),
    "trusted-host": ("UV_INSECURE_HOST",),
    "keyring-provider": ("UV_KEYRING_PROVIDER",),
    "proxy": ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"),
}


def uv_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Environment variables that make uv use the same indexes as the user's pip."""
    # pip takes the best version of all indexes together; uv by default only asks the first that has the name.
    chosen = {} if "UV_INDEX_STRATEGY" in environ else {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    for option, value in settings(environ).items():
        names = UV_VARIABLES.get(option)
        if names is None or any(name in environ for name in names):
            continue
        translated = _translated(option, value)
        if translated:
            chosen[names[0]] = translated
            if option == "proxy" and "HTTP_PROXY" not in environ and "http_proxy" not in environ:
                chosen["HTTP_PROXY"] = translated
    return chosen


def settings(environ: Mapping[str, str]) -> dict[str, str]:
    """pip's options as `pip install` would have them: name -> value, of all its files and PIP_* variables."""
    values: dict[str, str] = {}
    for path in _files(environ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue  # pip reports what is wrong; the other files still count
        for section in ("global", "install"):
            if parser.has_section(section):
                values.update({_option(name): value for name, value in parser.items(section) if value is not None})
    for name, value in environ.items():
        if name.startswith("PIP_"):
            values[_option(name[4:])] = value
    return values


def _files(environ: Mapping[str, str]) -> list[Path]:
    """From the weakest to the strongest: of the system, the user, the Python, and PIP_CONFIG_FILE."""
    named = environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    home = Path(environ.get("HOME") or Path.home())
    folders = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    system = [*(Path(folder) / "pip/pip.conf" for folder in reversed(folders)), Path("/etc/pip.conf")]
    user = [home / ".pip/pip.conf", Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip/pip.conf"]
    of_python = [Path(prefix) / "pip.conf" for prefix in dict.fromkeys((sys.base_prefix, sys.prefix))]
    return [*system, *user, *of_python, *([Path(named).expanduser()] if named else [])]


def _option(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def _translated(option: str, value: str) -> str:
    parts = value.split()
    if option == "no-index":
        return "1" if value.strip().lower() in ("1", "true", "yes", "on", "t", "y") else ""
    if option == "find-links":
        return ",".join(parts)  # uv splits this one at commas, the others at spaces
    if option == "proxy":
        return value if "://" in value or not value else f"http://{value}"
    if option == "keyring-provider":
        return value if value in ("subprocess", "disabled") else ""
    return " ".join(parts)
