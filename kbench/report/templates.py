"""What pages share: templates that escape what they are given, their scripts, and what a browser may do with them."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from kbench.words.text import plain

FOLDER = Path(__file__).resolve().parent


@functools.cache  # to compile it takes longer than to fill it in
def template(name: str, folder: Path = FOLDER) -> Template:
    """The template of that file."""
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Text from a guest or a file becomes one line without control characters.
        finalize=lambda value: plain(value) if type(value) is str else value,
    )
    environment.filters["commands"] = commands
    return environment.get_template(name)


def commands(text: str) -> Markup:
    """The text as HTML, with what stands between backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(plain(text)))))


def script(name: str, folder: Path = FOLDER) -> Markup:
    """A script as it stands in the page; without the map that only its authors have."""
    text = (folder / name).read_text(encoding="utf-8")
    return Markup(re.sub(r"^//# sourceMappingURL=.*$", "", text, flags=re.MULTILINE).strip())


def policy(scripts: Sequence[str]) -> str:
    """What a browser may do with the page: run these very scripts, and reach nothing."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
