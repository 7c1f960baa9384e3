"""What was probably meant by a command line that cannot be understood: the sentence with what to type."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from kbench import store
from kbench.base import paths
from kbench.cli import core_commands
from kbench.errors import UserError
from kbench.records.values import bare, base
from kbench.selection import backends
from kbench.words.text import meant

_PROGRAMS = (".py", ".ipynb")
# Options that earlier releases had -> what does it now.
_NOW = {
    **{
        f"--{name}": f"A setting is part of a backend's name: `--backends NAME,NAME+{setting}`"
        for name, setting in (
            ("jit", "jit=on"), ("precision-policy", "policy=mixed_float16"), ("settings", "settings=default"),
            ("env-set", "VARIABLE=VALUE"), ("keras", "keras=VERSION"), ("package", "PACKAGE=VERSION"),
        )
    },
    "--channel": "The channel is in the environment variable KBENCH_CHANNEL",
    "--data-dir": "The folder is in the environment variable KBENCH_DATA",
    "--quiet": "The tables alone are on stdout: `2> /dev/null`",
    "--export": "summary.csv and summary.md are in the run's folder, and `--format json > FILE` writes JSON",
    "--sort": "`--format csv` is for programs that sort",
    "--init": "All backends start with the same weights; leave it out",
}  # fmt: skip


def no_command(arguments: Sequence[str], program: str, options: Collection[str], runs_programs: str) -> str:
    """What to type instead of a first word that is no command; empty if nothing is likely. `runs_programs`: the
    command that does, if there is one.
    """
    word, *rest = arguments
    others = f" {shlex.join(rest)}" if rest else ""
    if word.endswith(_PROGRAMS) and (how := _how(word, program, rest, runs_programs)):
        return f"To {how}"
    if is_backends(word):
        more = list(itertools.takewhile(is_backends, rest))
        others = f" {shlex.join(rest[len(more) :])}" if rest[len(more) :] else ""
        names = ",".join(one.strip(",") for one in [word, *more])
        return f"Backends are named with --backends: `{program} --backends {names}{others}`"
    if are_examples(word):
        chosen = "" if "--backends" in rest else f" --backends {_first_backends()}"
        return f"Examples are named with --examples: `{program}{chosen} --examples {word}{others}`"
    if f"--{word.partition('=')[0]}" in options:
        return f"An option begins with two dashes: `{program} --{word}{others}`"
    if word == store.LATEST or word in store.names(Path("results")) or store.is_run(Path(word)):
        return f"To see the tables of that run: `{program} report {shlex.quote(word)}`"
    return ""


def unrecognized(
    extra: Sequence[str],
    arguments: Sequence[str],
    command: str,
    program: str,
    of: Mapping[str, Collection[str]],
    runs_programs: str,
) -> str:
    """What to type instead of words that a command does not take; `of` has the options of every command."""
    first, called = extra[0], f"{program} {command}"
    if first.startswith("-") and first.strip("-"):
        named = "--script" in of[command] and any(one.partition("=")[0] in ("--script", "-m") for one in arguments)
        return _option(extra, command, program, of, runs_programs, named or command == runs_programs)
    if joined := _joined(extra, arguments):
        return joined
    if first in of:
        return f"The command comes first: `{program} {first} ...`"
    if first.endswith(_PROGRAMS) and "--examples" in of[command]:
        if "--script" in of[command]:
            return f"A program is named with --script: `{called} --script {first}`"
        how = _how(first, program, ["--backends", "LIST"], runs_programs)
        return f"To measure an example file, name it with --examples{f'; to {how}' if how else ''}"
    for option, names in (("--backends", is_backends), ("--examples", are_examples)):
        if option in of[command] and names(first):
            return f"{option[2:].capitalize()} are named with {option}, with commas between them: `{option} {first}`"
    if f"--{first}" in of[command]:
        return f"An option begins with two dashes: --{first}"
    return f"The program's own arguments follow --: `-- {shlex.join(extra)}`" if command == runs_programs else ""


def is_backends(word: str) -> bool:
    """Whether all parts of a list name backends, or groups of them."""
    names: set[str] = set()
    with contextlib.suppress(UserError):  # a damaged file of the user's, which another error is about
        names |= {*backends.load_all(paths.project_folder("backends"))}
        further = paths.further_backends()
        names |= {*backends.load_all(further)} if further else set()
    groups = {name.partition("/")[0] for name in names}
    known = {*names, *groups, *filter(None, map(bare, names)), "all"}
    return all(base(part).lower() in known for part in _parts(word))


def are_examples(word: str) -> bool:
    """Whether all parts of a list are examples that come with kbench."""
    known = {path.stem for path in paths.project_folder("examples_models").glob("[!_]*.py")}
    return all(part in known for part in _parts(word))


def _parts(word: str) -> list[str]:
    """Of a list; one that is empty has an empty part, which is no name."""
    return [part.strip() for part in word.split(",") if part.strip()] or [""]


def _option(
    extra: Sequence[str],
    command: str,
    program: str,
    of: Mapping[str, Collection[str]],
    runs_programs: str,
    takes_program: bool,
) -> str:
    """On an option that the command does not have; what follows it may be a program's own."""
    name = extra[0].partition("=")[0]
    long = f"--{name.lstrip('-').replace('_', '-')}"
    if long in _NOW and not takes_program:
        return _NOW[long]
    if long in of[command]:
        return f"It is {long}, with two dashes" if not name.startswith("--") else f"did you mean {long}?"
    near = meant(long[2:], [one.lstrip("-") for one in sorted([*of[command], "--help"])])
    others = [one for one, options in of.items() if long in options]
    if near and not others and not takes_program:
        return f"did you mean --{near}?"
    if takes_program:
        of_run = f"{long} is an option of `run`; the" if long in of["run"] else "The"
        close = f", or did you mean --{near}?" if near else ""
        return f"{of_run} program's own arguments follow --: `-- {shlex.join(extra)}`{close}"
    if long == f"--{runs_programs}":
        return f"A program has a command of its own: `{program} {runs_programs} {shlex.join(extra[1:2])}`"
    if others:
        return f"{long} is an option of {' and '.join(f'`{one}`' for one in others[:3])}, not of `{command}`"
    return ""


def _joined(extra: Sequence[str], arguments: Sequence[str]) -> str:
    """On a list that has blanks, or a blank instead of a comma."""
    for place, word in enumerate(arguments):
        if word.startswith("--") and "=" not in word:
            rest = arguments[place + 1 :]
            end = next((number for number, one in enumerate(rest) if one.startswith("-")), len(rest))
            values = rest[:end]
            known = {"--backends": is_backends, "--examples": are_examples, "--with": str.isidentifier}.get(word)
            of_list = any("," in value for value in values) or (known and all(map(known, values[1:])))
            if len(values) > 1 and extra[0] in values[1:] and of_list:
                whole = ",".join(part for value in values for part in value.split(",") if part)
                return f"A list has commas and no blanks: `{word} {whole}`"
    return ""


def _how(file: str, program: str, rest: Sequence[str], runs_programs: str) -> str:
    """`run a program as it is: COMMAND`, or how to run the example in the file; empty if neither can be."""
    named = any(word.split("=")[0] == "--backends" for word in rest)
    options = [*([] if named else ["--backends", _first_backends()]), *rest]
    if is_example(file):
        return f"measure the example in {file}: `{program} {shlex.join(['--examples', file, *options])}`"
    return (
        f"run a program as it is: `{program} {shlex.join([runs_programs, file, *options])}`" if runs_programs else ""
    )


def is_example(file: str) -> bool:
    """Whether there is such a file, with a build_model."""
    if not os.path.isfile(file):  # noqa: PTH113  # or a pipe, which would be waited for
        return False
    with contextlib.suppress(OSError), paths.with_home(file).open("rb") as opened:
        return re.search(rb"^def build_model\b", opened.read(1 << 20), re.MULTILINE) is not None
    return False


def _first_backends() -> str:
    return core_commands.text("first_run").split()[1]  # --backends LIST ...
