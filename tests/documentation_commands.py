"""Test helper: the commands that the README and the pages of `docs/` name."""

from __future__ import annotations

import re
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
ANSWERS = CHECKOUT / "docs" / "answers.md"
PROGRAM = "python run.py "


def commands(page: Path) -> list[str]:
    """What follows `python run.py`, of blocks and of tables."""
    text = page.read_text("utf-8")
    of_answers = answer_commands() if page == ANSWERS else []
    return [*re.findall(rf"^ {{4}}{PROGRAM}(.+)$", text, re.MULTILINE), *table_commands(page), *of_answers]


def table_commands(page: Path) -> list[str]:
    """Those of tables."""
    return re.findall(rf"^\| `{PROGRAM}([^`]+)`", page.read_text("utf-8"), re.MULTILINE)


def answer_commands() -> list[str]:
    """Those of the table in answers.md, whose heading has the words that most of them begin with."""
    shortened = re.findall(r"^\| .+ \| `([^`]+)`.* \|$", ANSWERS.read_text("utf-8"), re.MULTILINE)
    return [command if command.startswith("parity ") else f"script docs/answers/{command}" for command in shortened]


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}[^\n]*\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
