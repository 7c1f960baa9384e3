"""Test helper: the commands that the README and the pages of `docs/` name."""

from __future__ import annotations

import re
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
PROGRAM = "python run.py "


def commands(page: Path) -> list[str]:
    """What follows `python run.py`, of blocks and of tables."""
    text = page.read_text("utf-8")
    return [*re.findall(rf"^ {{4}}{PROGRAM}(.+)$", text, re.MULTILINE), *table_commands(page)]


def table_commands(page: Path) -> list[str]:
    """Those of tables."""
    return re.findall(rf"^\| `{PROGRAM}([^`]+)`", page.read_text("utf-8"), re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}[^\n]*\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
