"""The files of a user's program, and the line of them that runs."""

import ast
import bisect
import contextlib
import os
import sys
from typing import Any, Dict, Iterator, List, Tuple, Union


class Files:
    """The files of a program: those in its folder, and the cells of a notebook.

    path: of the file that is run; main: the same as it is called, too; folder: of all of them.
    """

    def __init__(self, path: str, main: str, folder: str) -> None:
        self.path = path
        self.main = main
        self._folder = folder + os.sep
        self._of_main = path[len(self._folder) :]
        self._cells: Dict[str, Tuple[str, str]] = {}  # as tracebacks call a cell -> how it is named, its text
        self._statements: Dict[str, List[int]] = {}  # a file's name -> the lines where its statements begin

    def add_cell(self, number: int, text: str) -> str:
        """Make a cell known; returns the file name for its code."""
        file = f"{self.main}, cell {number}"
        self._cells[file] = (f"cell {number}", text)
        return file

    def is_own(self, file: str) -> bool:
        """Whether it is one of them."""
        return bool(self._named(file))

    def has(self, module: Dict[str, Any]) -> bool:
        """Whether these are the globals of a module in one of them."""
        return self.is_own(str(module.get("__file__", ""))) or module.get("__name__") == "__main__"

    def where(self, file: str) -> str:
        """How a sentence calls one of them: empty for the program's own file, and for others."""
        name = self._named(file)
        return "" if name == self._of_main else name

    def line(self) -> Tuple[str, int]:
        """(where, line at which the statement begins) of the innermost frame in one of them; ("", 0) if none is.

        Of a call over several lines Python 3.6 names the last, and later ones the first.
        """
        frame = sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            if self.is_own(file):
                return self.where(file), self._statement(file, frame.f_lineno)
            frame = frame.f_back
        return "", 0

    def text(self) -> str:
        """All of the file that is run, or of all cells."""
        return "\n".join(str(self._text(file)) for file in self._cells or [self.path])

    def statements(self) -> Iterator[ast.stmt]:
        """Those at the top of the file that is run, or of all cells: parsed again."""
        for file in self._cells or [self.path]:
            with contextlib.suppress(OSError, SyntaxError, ValueError):
                yield from ast.parse(self._text(file)).body

    def _named(self, file: str) -> str:
        if file in self._cells:
            return self._cells[file][0]
        file = self.path if file == self.main else file
        return file[len(self._folder) :] if file.startswith(self._folder) else ""

    def _statement(self, file: str, line: int) -> int:
        if file not in self._statements:
            found = []
            with contextlib.suppress(OSError, SyntaxError, ValueError):
                found = [node.lineno for node in ast.walk(ast.parse(self._text(file))) if isinstance(node, ast.stmt)]
            self._statements[file] = sorted(found)
        before = bisect.bisect_right(self._statements[file], line)
        return self._statements[file][before - 1] if before else line

    def _text(self, file: str) -> Union[str, bytes]:
        if file in self._cells:
            return self._cells[file][1]
        with open(self._folder + self._named(file), "rb") as opened:
            return opened.read()
