"""`new`: writes an example file to start from, which runs at once."""

from __future__ import annotations

import argparse
import re
import shlex

from kbench.base import paths
from kbench.cli import arguments
from kbench.errors import UserError
from kbench.screen import terminal
from kbench.selection import examples
from kbench.selection.known import known_examples
from kbench.words.text import nearest


def main(options: argparse.Namespace) -> int:
    """Write the file and say how to run it. Raises UserError."""
    path = paths.with_home(options.new_file)
    path = path if path.suffix == ".py" else path.with_name(f"{path.name}.py")
    if not re.fullmatch(r"[A-Za-z0-9_-]+", path.stem):
        raise UserError(f"{path.stem[:50]!r} cannot be an example's name: use letters, digits, - and _.")
    run = f"{arguments.program()} {arguments.first_run()} --examples"
    if path.stem in known_examples():
        raise UserError(
            f"{path.stem} is an example of kbench's own: choose another name, or run it as it is with "
            f"`{run} {path.stem}`."
        )
    known = {one.stem: one for one in examples.files()}
    if options.like not in known:
        raise UserError(f"--like: there is no example {options.like!r}{nearest(options.like, known)}")
    content = known[options.like].read_text("utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(content)
    except FileExistsError:
        raise UserError(f"{path} exists already: choose another name.") from None
    except FileNotFoundError:
        raise UserError(f"There is no folder {path.parent}: make it first.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from None
    terminal.print_note(f"Wrote {path}, from the template {options.like}. Run it:")
    terminal.print_note(f"  {run} {shlex.quote(str(path))}")
    return 0
