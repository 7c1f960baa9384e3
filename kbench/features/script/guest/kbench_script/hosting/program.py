"""Runs the code of a program as Python does: a file, a module (`python -m`), or the cells of a notebook."""

import ast
import builtins
import importlib
import importlib.util
import linecache
import os
import re
import sys
import types
from typing import TYPE_CHECKING, Any, Callable, Dict, List

from kbench_script.hosting import shell

if TYPE_CHECKING:
    from kbench_script.program_files import Files

# What `jupyter nbconvert --to script` writes: the head of a cell, or a magic.
CONVERTED = re.compile(r"^(# In ?\[[\d ]*\]|get_ipython\(\)\.)", re.MULTILINE)
NO_WINDOWS = "Agg"


def run(program: Dict[str, Any], files: "Files", arguments: List[str], remark: Callable[[str], None]) -> None:
    """Run it to its end. program: the spec's part on it; remark: called with what has to be said of it."""
    sys.argv = [files.main] + list(arguments)
    if "MPLBACKEND" not in os.environ or os.environ["MPLBACKEND"].startswith("module://"):  # a notebook's own
        os.environ["MPLBACKEND"] = NO_WINDOWS
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if program["requires_python"] and version not in program["pythons"]:
        remark(f"it asks for Python {program['requires_python']}, and runs on {version}")
    main: Any = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins)
    sys.modules["__main__"] = main
    if program["cells"]:
        shell.give(main.__dict__, program, remark, files)
        left_out: List[str] = []
        try:
            _run_cells(program["cells"], files, main.__dict__, left_out)
        finally:
            if left_out:
                several = "s" if len(left_out) > 1 else ""
                were = "were left out: they are" if several else "was left out: it is"
                remark(f"cell{several} {', '.join(left_out)} {were} for other backends")
    elif program["module"]:
        _run_module(program["module"], files, main.__dict__)
    else:
        main.__file__ = files.path if sys.version_info >= (3, 9) else sys.argv[0]
        main.__cached__ = None
        text = _read(files.path)
        if CONVERTED.search(text.decode("utf-8", "replace")):
            shell.give(main.__dict__, program, remark, files)
        exec(compile(text, main.__file__, "exec", dont_inherit=True), main.__dict__)


def _run_module(name: str, files: "Files", namespace: Dict[str, Any]) -> None:
    """As `python -m`: the packages around it are imported first."""
    sys.argv[0] = files.path
    name += "" if files.path.endswith(os.sep.join(name.split(".")) + ".py") else ".__main__"
    package = name.rpartition(".")[0]
    if package:
        importlib.import_module(package)
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(f"there is no module {name}")
    namespace.update(
        __file__=spec.origin, __cached__=spec.cached, __loader__=spec.loader, __package__=package, __spec__=spec
    )
    exec(compile(_read(files.path), files.path, "exec", dont_inherit=True), namespace)


def _run_cells(cells: List[str], files: "Files", namespace: Dict[str, Any], left_out: List[str]) -> None:
    """One after the other. As in a notebook, the value of a cell's last line is printed, unless `;` ends it.

    left_out: gets the numbers of those that are for other backends.
    """
    for number, (file, text) in enumerate([(files.add_cell(at, text), text) for at, text in enumerate(cells, 1)], 1):
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)  # for tracebacks
        tree = ast.parse(text, file)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not text.rstrip().endswith(";"):
            last = ast.Interactive([tree.body.pop()])
        try:
            exec(compile(tree, file, "exec", dont_inherit=True), namespace)
            if last is not None:
                exec(compile(last, file, "single", dont_inherit=True), namespace)
        except shell.LeftOut:
            left_out.append(str(number))


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
