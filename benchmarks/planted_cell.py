"""Inside the backend's Python: plants a mutant in Keras's functions, for the whole process or for each case its own.

planted.py puts this file beside a copy of Keras, whose __init__.py calls `start` at its end. A function of a mutant
gets the code that it has in the mutated file. Which mutant: that of the variable PLANTED, or else, where public names
are tried, the one that a case's number says. So one process tries many mutants, and imports its framework once.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

STRIDE = 1_000_000  # the number of a case is that of its mutant times this, and its own
COPY = Path(__file__).parent


class Planting:
    """The functions that mutants change, and which mutant is in them. Raises LookupError if one is not there."""

    def __init__(self, mutants: Sequence[Mapping[str, Any]]) -> None:
        self._mutants, self._now = mutants, 0
        self._functions: dict[tuple[str, int], dict[FunctionType, CodeType]] = {_place(one): {} for one in mutants}
        for one in gc.get_objects():
            if isinstance(one, FunctionType):
                code = one.__code__
                self._functions.get((code.co_filename, code.co_firstlineno), {})[one] = code
        if missing := [place for place, functions in self._functions.items() if not functions]:
            raise LookupError(f"no function begins at {missing}")

    def plant(self, number: int) -> None:
        """Have this mutant, counted from 1, and no other; 0: none."""
        if number == self._now:
            return
        for functions in self._functions.values():
            for function, clean in functions.items():
                function.__code__ = clean
        self._now = number
        if number:
            mutant = self._mutants[number - 1]
            for function in self._functions[_place(mutant)]:
                function.__code__ = _mutated(mutant)


def _place(mutant: Mapping[str, Any]) -> tuple[str, int]:
    return str(COPY / "keras" / "src" / mutant["file"]), mutant["line"]


def _mutated(mutant: Mapping[str, Any]) -> CodeType:
    """The function's code in the mutated file."""
    file, line = _place(mutant)
    source = Path(file).read_bytes()
    source = source[: mutant["start"]] + mutant["now"].encode() + source[mutant["end"] :]
    below: list[CodeType] = [compile(source, file, "exec", dont_inherit=True)]
    while below:
        code = below.pop()
        if (code.co_name, code.co_firstlineno) == (mutant["function"], line):
            return code
        below += [one for one in code.co_consts if isinstance(one, CodeType)]
    raise LookupError(f"{mutant['file']} has no {mutant['function']}")


def start() -> None:
    """Plant the mutant of the variable, or those of the cases to come."""
    mutants = json.loads((COPY / "mutants.json").read_text(encoding="utf-8"))
    for one in mutants:  # some are imported when they are first needed
        importlib.import_module("keras.src." + one["file"].removesuffix(".py").replace("/", "."))
    planting = Planting(mutants)
    probes: Any = sys.modules.get("kbench_coverage.probes")
    if number := os.environ.get("PLANTED"):
        planting.plant(int(number))
    elif probes is not None:
        outcome = probes.outcome

        def planted(framework: Any, case: Mapping[str, Any], *given: Any) -> Any:
            planting.plant(case["id"] // STRIDE)
            return outcome(framework, case, *given)

        probes.outcome = planted
