"""Whether calls of models may stand in the lines that --compare-lines names: by the text of the program."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeGuard

from kbench.errors import UserError
from kbench.features.script import reading
from kbench.features.script.lines.asked_lines import named
from kbench.selection import beside

_METHODS = re.compile(r"(fit|evaluate|predict|train|test)(_generator|_on_batch)?")  # of models
_ELSEWHERE = re.compile(r"\b(exec|eval|runpy|import_module|get_ipython)\b")  # runs code that does not stand there
MOST_NAMED = 8


def check(lines: Sequence[int], path: Path, module: str) -> None:
    """Raises UserError if none stands in one of these lines; not of a program with several files, which is seen when
    it has run.
    """
    parts = reading.cells(path) or (reading.source(path),)
    text = "\n".join(parts)
    if not lines or module or _ELSEWHERE.search(text) or _has_others(text, path):
        return
    calls = [node for part in parts for node in ast.walk(ast.parse(part)) if _may_call_a_model(node)]
    missing = [line for line in lines if not any(one.lineno <= line <= (one.end_lineno or 0) for one in calls)]
    if not missing:
        return
    methods = [(one.lineno, one.func.attr) for one in calls if isinstance(one.func, ast.Attribute)]
    found = sorted({line for line, name in methods if _METHODS.fullmatch(name)})
    there = f": it calls a model in {named(found[:MOST_NAMED])}" if found else ""
    raise UserError(f"--compare-lines: no call of a model stands in {named(missing)} of {path.name}{there}.")


def _may_call_a_model(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether it calls anything but a function of Python's own, such as range and print."""
    return isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in vars(builtins))


def _has_others(text: str, path: Path) -> bool:
    """Whether it imports a file or a folder beside it."""
    return any(one.exists() or one.with_suffix("").is_dir() for one in beside.imported(text, path))
