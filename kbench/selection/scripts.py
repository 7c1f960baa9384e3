"""Reads a user's Keras program as an example whose loop is its own. It is parsed here and never run."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

from kbench.errors import UserError
from kbench.selection.examples import PROFILES, parsed
from kbench.values import SCRIPT, Example, Profile


def load(path: Path) -> Example:
    """The program in the file `path`. Raises UserError, one sentence."""
    if path.suffix == ".ipynb":
        raise UserError(f"{path} is a notebook: make a script of it with `jupyter nbconvert --to script {path}`.")
    try:
        there = path.is_file()
    except OSError:  # a name that no file can have
        there = False
    if not there:
        raise UserError(f"There is no script {path}.")
    content, tree = parsed(path, "script")
    return Example(
        name=path.name,
        title=next(filter(None, map(str.strip, (ast.get_docstring(tree) or "").splitlines())), path.name),
        path=path.absolute(),
        task=SCRIPT,
        data="",
        input="sequence",  # its pictures lie as it says itself
        batch_size=0,
        parameters=None,
        profiles=dict.fromkeys(PROFILES, Profile(SCRIPT, 0, 0, 0)),
        sha256=hashlib.sha256(content).hexdigest(),
    )
