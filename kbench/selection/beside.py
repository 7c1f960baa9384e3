"""The text of a Python file with that of the files beside it that it imports. Nothing is run."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Sequence
from pathlib import Path

from kbench.store.files import read_bytes


def text(path: Path) -> str:
    """The text of a file, which was parsed before, and of those beside it."""
    source = importlib.util.decode_source(read_bytes(path))
    return together(source, path, imported(source, path))


def together(source: str, path: Path, files: Sequence[Path]) -> str:
    """The `source` of the file `path`, and the text of these files, as far as they are others and can be read."""
    return "\n".join([source, *(_text_of(one) for one in files if one.is_file() and one != path)])


def imported(source: str, path: Path) -> list[Path]:
    """Where the modules would be beside the file `path` that its `source` imports, without what is inside them."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    named = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    named += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return [path.parent / f"{name}.py" for name in sorted({one.partition(".")[0] for one in named})]


def _text_of(path: Path) -> str:
    try:
        return read_bytes(path).decode(errors="replace")
    except OSError:
        return ""
