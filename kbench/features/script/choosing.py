"""The program that a command's options name, and how it is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from kbench import hooks
from kbench.base.masking import without_passwords
from kbench.errors import UserError
from kbench.features.script import call_lines, notebooks, reading
from kbench.planning.request import Script
from kbench.records.values import Backend, Example

# Options for a program, of commands that take examples, too.
_OF_PROGRAMS = {
    "--with": "packages",
    "--max-epochs": "max_epochs",
    "--max-steps": "max_steps",
    "--workdir": "workdir",
}


def asked(options: Mapping[str, Any], known: Mapping[str, Backend]) -> tuple[Example, Script]:
    """The program of --script, of FILE or of -m, with its options. Raises UserError."""
    named = reading.find_program(options.get("file"), options.get("module"))
    program = reading.load(named.file, named.module)
    notebooks.check_backends(reading.cells(program.path), known)
    how = {one.name: options[one.name] for one in fields(Script) if one.name in options}
    call_lines.check(how.get("compare_lines", ()), program.path, named.module)
    how["figures"] = tuple(how.get("figures") or ())
    own = reading.pep723_requirements(program.path, known)
    how |= {
        "module": named.module,
        "left_out": tuple(map(without_passwords, own.left_out)),
        "requires_python": own.python,
    }
    return program, Script(**how | {"packages": (*how["packages"], *own.packages)})


def check_no_program(options: Mapping[str, Any]) -> None:
    """Raises UserError if an option for a program is given to an example."""
    further = (one for one in hooks.further_options(options["command"]) if one.of_programs)
    of_features = {flag: flag.lstrip("-").replace("-", "_") for one in further for flag in one.options}
    names = {flag: name for flag, name in {**_OF_PROGRAMS, **of_features}.items() if name in options}
    if options["arguments"] or any(options[name] not in (None, False, (), "copy") for name in names.values()):
        flags = ", ".join(names)
        raise UserError(f"{flags} and what follows -- are for a program of your own: name it with --script.")
