"""Reads a user's Keras program as an example that owns its training loop. It is parsed, not run.

A program is a file, a notebook, a folder with a `__main__.py`, or a module of a package.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kbench.base import paths
from kbench.errors import UserError
from kbench.features.script import declared, notebooks
from kbench.features.script.declared import Declared
from kbench.records.values import SCRIPT, Backend, Example, Profile
from kbench.selection import absent, beside
from kbench.selection.examples import PROFILES, parsed, title_of
from kbench.store.files import read_bytes
from kbench.words.text import nearest

MAIN = "__main__.py"
MOST_FILES = 1000  # of a package, that are looked through


@dataclass(frozen=True)
class Program:
    """The file of a program, and its name for `python -m` if it is run as a part of a package."""

    file: Path
    module: str = ""


def find_program(file: str | None, module: str | None) -> Program:
    """What the user named by FILE or by -m. Raises UserError."""
    if file is not None and module is not None:
        raise UserError("Name the program by its file or by -m: one of them.")
    if module is not None:
        return _module(module)
    if file is None:
        raise UserError("Name the program: a file, a notebook, a folder with a __main__.py, or -m MODULE.")
    path = paths.with_home(file)
    if not os.path.isdir(path):  # noqa: PTH112  # pathlib's raises for a name that is too long
        return Program(path)
    main = path / MAIN
    if not main.is_file():
        raise UserError(f"The folder {path} has no {MAIN}: name the file that starts the program, or use -m MODULE.")
    folder = path.resolve()
    if not (folder / "__init__.py").is_file() and not _is_relative(parsed(main, "script")[1]):
        return Program(main)  # Python starts such a folder like a file
    parts = [folder.name]
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
        parts.insert(0, folder.name)
    return Program(path.resolve() / MAIN, ".".join(parts))


def _module(module: str) -> Program:
    """The file of a module below the current folder. Raises UserError."""
    if module.endswith(".py"):
        raise UserError(
            f"-m takes a module's name, such as {module[:-3]!r}; for a file leave out -m: `script {module}`."
        )
    parts = module.split(".")
    if not all(part.isidentifier() for part in parts):
        raise UserError(f"-m {module[:100]!r} is not a module's name, such as trainer or trainer.task.")
    place = Path.cwd().joinpath(*parts)
    for file in (place.with_suffix(".py"), place / MAIN):
        if file.is_file():
            return Program(file, module)
    if place.is_dir():
        raise UserError(f"{module} is a package without {MAIN}: name one of its modules, such as -m {module}.task.")
    there = [one.stem for one in place.parent.glob("*") if one.suffix == ".py" or any(one.glob("*.py"))]
    near = nearest(parts[-1], [one for one in there if one.isidentifier()] or ["a file, without -m"])
    raise UserError(f"There is no module {module} below {Path.cwd()}, where -m looks{near}")


def root(file: Path, module: str) -> Path:
    """The folder that Python searches first: of the program's file, or the one with its top package."""
    if not module:
        return file.parent
    below = module.count(".") + (file.name == MAIN and not module.endswith("." + Path(MAIN).stem))
    return file.parents[below]


def load(path: Path, module: str = "") -> Example:
    """The program in the file `path`, run as `module` if that is named. Raises UserError, one sentence."""
    if not os.path.isfile(path):  # noqa: PTH113  # pathlib's raises for a name that is too long
        raise UserError(f"There is no script {path}{absent.why(str(path), '.py')}")
    for hides in ("keras.py", "keras/__init__.py"):
        if (found := root(path.absolute(), module) / hides).exists():
            raise UserError(f"Python would import {found} in place of Keras: rename it.")
    name = module or (path.absolute().parent.name if path.name == MAIN else path.name)
    if path.suffix == notebooks.ENDING:
        cells = notebooks.code(path)
        content, title = "\0".join(cells).encode(errors="surrogatepass"), name  # not what the cells printed
    else:
        content, tree = parsed(path, "script")
        title = title_of(tree, name)
        if not module and _is_relative(tree):
            raise UserError(
                f"{path} imports from its own package, so Python can run it only as a part of it: start kbench in "
                f"the folder above the package, with -m {path.absolute().parent.name}.{path.stem}."
            )
    return Example(
        name=name,
        title=title,
        path=path.absolute(),
        task=SCRIPT,
        data="",
        input="sequence",  # the program chooses its own image layout
        batch_size=0,
        parameters=None,
        profiles=dict.fromkeys(PROFILES, Profile(0, 0)),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def cells(path: Path) -> tuple[str, ...]:
    """The code of a notebook, cell by cell; empty for any other program. Raises UserError."""
    return notebooks.code(path) if path.suffix == notebooks.ENDING else ()


def pep723_requirements(path: Path, known: Mapping[str, Backend]) -> Declared:
    """What the program, which was parsed before, says itself of its packages and its Python. Raises UserError."""
    return declared.read(source(path), path.name, known)


def text(path: Path, module: str = "") -> str:
    """The text of the program, and of the files that are its own: its package, or what it imports from beside it."""
    own = source(path)
    if not module:
        return beside.together(own, path, beside.imported(own, path))
    package = root(path, module) / module.partition(".")[0]
    of_package = sorted(package.rglob("*.py"))[:MOST_FILES] if package.is_dir() else []
    return beside.together(own, path, of_package)


def source(path: Path) -> str:
    """The code of the program, which was parsed before."""
    return "\n".join(cells(path)) or importlib.util.decode_source(read_bytes(path))


def _is_relative(tree: ast.Module) -> bool:
    """Whether it always imports from the package that it is a part of."""
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in tree.body)
