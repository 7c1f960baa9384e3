"""Reads the code of a Jupyter notebook, with what IPython alone understands written as Python. Nothing is run."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import tokenize
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kbench.errors import UserError
from kbench.records.values import Backend, bare
from kbench.store.files import loads, read_bytes
from kbench.words.text import nearest

ENDING = ".ipynb"
# What %%backend, of a cell that runs on these backends only, is written as.
_ONLY_ON = re.compile(r"\s*get_ipython\(\)\.only_on\((?P<names>\[.*\])\)$", re.MULTILINE)
_AROUND = ("time", "timeit", "capture", "prun")  # magics of a cell or a statement that runs as if without them
_OPTION = re.compile(r"-[a-zA-Z]+\d*(\s+\d+)?\s+")
_MAGIC = re.compile(r"(?P<indent>\s*)(?P<target>[\w, ]+=\s*)?(?P<kind>!!|!|%)(?P<text>.*)")
_HELP = re.compile(r"\s*\?{1,2}[\w.*%]+|\s*%?[\w.*]+\?{1,2}")


def code(path: Path) -> tuple[str, ...]:
    """The notebook's cells with code, as Python, in the order in which they stand. Raises UserError."""
    try:
        found = loads(read_bytes(path))
    except OSError as error:
        raise UserError(f"The notebook {path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError, MemoryError):
        found = None
    cells = _cells(found)
    if cells is None:
        raise UserError(f"{path} is not a notebook of Jupyter: its JSON is damaged, or has no cells.")
    language = _language(found)
    if language.lower() not in ("", "python", "ipython", "python3"):
        raise UserError(f"The notebook {path.name} is written in {language[:50]}, and not in Python.")
    sources = [_text(one.get("source", one.get("input"))) for one in cells if one.get("cell_type") == "code"]
    written = tuple(as_python(one) for one in sources if one.strip())
    for number, one in enumerate(written, 1):
        _check(one, number, path.name)
    if not any(one.strip() for one in written):
        raise UserError(f"The notebook {path.name} has no cell with code.")
    return written


def check_backends(cells: Iterable[str], known: Mapping[str, Backend]) -> None:
    """Raises UserError if %%backend of one of these cells of `code` names what is no backend."""
    words = {name for one in known.values() for name in names_of(one.name, one.keras_backend)}
    for number, cell in enumerate(cells, 1):
        names = ast.literal_eval(found["names"]) if (found := _ONLY_ON.match(cell)) else None
        where = f"Cell {number} of the notebook"
        if names == []:
            raise UserError(f"{where}: %%backend names none: write those of this cell behind it, with commas.")
        for name in names or ():
            if name not in words:
                raise UserError(f"{where}: there is no backend {name!r}{nearest(name, words)}")


def names_of(backend: str, keras_backend: str) -> set[str]:
    """What %%backend may call a backend: by its names, and as keras.json does."""
    return {backend, bare(backend), keras_backend, backend.partition("/")[0]} - {""}


def as_python(cell: str) -> str:
    """A cell with its magics written as calls of get_ipython(), line by line, as IPython would read it."""
    lines = cell.split("\n")
    first = next((place for place, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        name, _, rest = lines[first][2:].strip().partition(" ")
        if name == "backend":
            names = re.findall(r"[^\s,]+", rest)
            below = as_python("\n".join(lines[first + 1 :]))
            return "\n" * first + f"get_ipython().only_on({names!r})\n{below}"
        if name not in _AROUND:
            body = "\n".join(lines[first + 1 :]) + "\n"
            return "\n" * first + f"get_ipython().run_cell_magic({name!r}, {rest.strip()!r}, {body!r})"
        lines[first] = ""
    if _is_python("\n".join(lines)):
        return "\n".join(lines)
    done: list[str] = []
    while lines:
        line, more = lines.pop(0), 0
        if not _begins_a_statement(done):
            done.append(line)
            continue
        while _MAGIC.fullmatch(line) and line.endswith("\\") and lines:  # a command over several lines
            line, more = line[:-1] + lines.pop(0).lstrip(), more + 1
        done += [_as_python(line), *[""] * more]
    return "\n".join(done)


def _as_python(line: str) -> str:
    """A line of a cell that begins a statement."""
    if _HELP.fullmatch(line):
        return line[: len(line) - len(line.lstrip())] + "pass"
    found = _MAGIC.fullmatch(line)
    if found is None:
        return line
    start, text = found["indent"] + (found["target"] or ""), found["text"].strip()
    if found["kind"] != "%":
        return f"{start}get_ipython().{'getoutput' if found['target'] else 'system'}({text.lstrip('!')!r})"
    name, _, rest = text.lstrip("%").partition(" ")
    if name in _AROUND:
        while option := _OPTION.match(rest.lstrip() + " "):
            rest = rest.lstrip()[option.end() :]
        return start + (rest.strip() or "pass")
    return f"{start}get_ipython().run_line_magic({name!r}, {rest.strip()!r})"


def _begins_a_statement(lines: list[str]) -> bool:
    """Whether the next line begins one: none of a string or bracket that is open, none after a backslash."""
    if lines and lines[-1].rstrip().endswith("\\"):
        return False
    text = "\n".join(lines) + "\n"
    try:
        for _ in tokenize.generate_tokens(io.StringIO(text).readline):
            pass
    except tokenize.TokenError as error:
        # By Python's version.
        return not any(words in str(error.args[0]) for words in ("multi-line", "triple-quoted"))
    except SyntaxError:  # of its indentation
        pass
    return True


def _is_python(text: str) -> bool:
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        _parse(text)
        return True
    return False


def _parse(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on its literals
        ast.parse(text)


def _check(cell: str, number: int, name: str) -> None:
    """Raises UserError if the cell is not Python."""
    try:
        _parse(cell)
    except SyntaxError as error:
        where = f"cell {number}, line {error.lineno}"
        raise UserError(f"The notebook {name} is not valid Python, {where}: {error.msg}.") from None
    except (ValueError, RecursionError, MemoryError):
        raise UserError(f"The notebook {name} is not valid Python, cell {number}: it is nested too deeply.") from None


def _cells(found: Any) -> list[dict[str, Any]] | None:
    """All cells of a notebook, of format 3 too; None if there are none."""
    if not isinstance(found, dict):
        return None
    cells = found.get("cells")
    if cells is None and isinstance(found.get("worksheets"), list):
        cells = [cell for one in found["worksheets"] if isinstance(one, dict) for cell in one.get("cells") or ()]
    return cells if isinstance(cells, list) and all(isinstance(one, dict) for one in cells) else None


def _language(found: dict[str, Any]) -> str:
    about = found.get("metadata")
    for part, name in (("kernelspec", "language"), ("language_info", "name")):
        named = about.get(part) if isinstance(about, dict) else None
        if isinstance(named, dict) and isinstance(named.get(name), str):
            return str(named[name])
    return ""


def _text(source: Any) -> str:
    parts = source if isinstance(source, list) else [source]
    return "".join(part for part in parts if isinstance(part, str))
