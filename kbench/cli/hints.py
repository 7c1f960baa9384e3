"""What was probably meant by a command line that cannot be understood: the sentence with what to type."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from kbench import paths, store
from kbench.errors import UserError
from kbench.selection import backends
from kbench.text import meant
from kbench.values import NATIVE, bare, base

_LISTED = ("backends", "examples", "runs", "published")
# What other programs call a command.
_SYNONYMS = {
    **dict.fromkeys(("bench", "benchmark", "measure", "start", "train"), "run"),
    **dict.fromkeys(("install", "prepare", "init"), "setup"),
    **dict.fromkeys(("show", "plot", "results", "summary"), "report"),
    **dict.fromkeys(("remove", "rm", "delete", "uninstall"), "clean"),
    **dict.fromkeys(_LISTED, "list"),
    "continue": "resume",
    "diff": "compare",
    "create": "new",
    "check": "doctor",
    "verify": "parity",
    "ls": "list",
}
# What may stand behind a command.
_WORDS = {"list": ("all", *_LISTED), "clean": ("environments", "data", "compiled", "all")}
# Options whose value is a list of anything.
_LISTS = ("--with", "--columns", "--keras", "--to", "--allow", "--retry", "--jit", "--settings", "--precision-policy")
# What other programs call an option.
_OPTIONS = {
    **dict.fromkeys(("gpu", "cuda", "use-gpu", "gpus"), "--device gpu"),
    "cpu": "--device cpu",
    **dict.fromkeys(("framework", "frameworks", "engine"), "--backends"),
    **dict.fromkeys(("model", "models", "workload", "benchmark"), "--examples"),
    **dict.fromkeys(("runs", "iterations", "rounds", "trials"), "--repeats"),
    **{one: f"--profile {one}" for one in ("smoke", "quick", "full")},
    **dict.fromkeys(("out", "output", "outdir", "output-dir", "out-dir"), "--results"),
    "dataset": "--data",
    "synthetic": "--data synthetic",
    **dict.fromkeys(("cores", "jobs"), "--threads"),
    **dict.fromkeys(("nodes", "num-workers", "n-workers", "replicas", "devices"), "--workers"),
}
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"  # which word processors make of --


def no_command(arguments: Sequence[str], program: str, commands: Collection[str], options: Collection[str]) -> str:
    """What to type instead of a first word that is no command; empty if nothing is likely."""
    word, *rest = arguments
    if word in ("python", "python3") and rest[:1] and rest[0].endswith("run.py"):
        word, *rest = rest
    others = f" {shlex.join(rest)}" if rest else ""
    if form := _of_form(word, others, program, options):
        return form
    if word.endswith((".py", ".ipynb")):
        return f"To {_how(word, program, rest)}"
    if word.endswith(".npz"):
        return f"Data are named by an example's DATA; `{program} new my_model` writes an example to start from"
    lower = word.lower()
    if lower in ("version", "v"):
        return f"The version is shown by `{program} --version`"
    if lower in ("backends", "examples") and rest:
        return f"An option begins with two dashes: `{program} --{lower}{others}`"
    if lower in _SYNONYMS:
        return f"did you mean {_SYNONYMS[lower]}{f' {lower}' if lower in _LISTED else ''}?"
    if lower in commands:
        return f"did you mean {lower}?"
    if is_backends(word):
        return f"Backends are named with --backends: `{program} --backends {word}{others}`"
    if are_examples(word):
        chosen = "" if "--backends" in rest else f" --backends {_first_backends()}"
        return f"Examples are named with --examples: `{program}{chosen} --examples {word}{others}`"
    if f"--{word}" in options:
        return f"An option begins with two dashes: `{program} --{word}{others}`"
    if _is_run(word):
        return f"To see the tables of that run: `{program} report {shlex.quote(word)}`"
    return ""


def _of_form(word: str, others: str, program: str, options: Collection[str]) -> str:
    """On a first word that has the wrong form, whatever it names; others: the words behind it."""
    if word.startswith(tuple(_DASHES)):
        return f"An option begins with two plain dashes: --{word.lstrip(_DASHES)}"
    if word in ("run.py", "kbench") or word.endswith("/run.py"):
        return f"The name of this program is there twice: `{program}{others}`"
    option = f"--{word.lstrip('/').partition('=')[0].lower()}"
    if option in options and (word.startswith("/") or "=" in word):
        return f"An option begins with two dashes: `{program} --{word.lstrip('/')}{others}`"
    return ""


def unrecognized(
    extra: Sequence[str], arguments: Sequence[str], command: str, program: str, of: Mapping[str, Collection[str]]
) -> str:
    """What to type instead of words that a command does not take; `of` has the options of every command."""
    first = extra[0]
    called = f"{program} {command}"
    if first.startswith(tuple(_DASHES)):
        return f"An option begins with two plain dashes: --{first.lstrip(_DASHES)}"
    if first.startswith("-") and first.strip("-"):
        named = any(one.partition("=")[0] in ("--script", "-m") for one in arguments)
        programs = command == "script" or (command in ("parity", "bisect") and named)
        return _option(extra, command, called, of, programs)
    if joined := _joined(extra, arguments):
        return joined
    if command == "clean":
        return f"One kind at a time, or all: {', '.join(f'`{called} {one}`' for one in _WORDS[command])}"
    if command == "new":
        return f"An example's name has no blanks: `{called} {'_'.join([*arguments[:1], *extra])}`"
    if first in of:
        return f"The command comes first: `{program} {first} ...`"
    if first.endswith((".py", ".ipynb")) and command in ("run", "parity"):
        how = (
            f"To measure an example file, name it with --examples; to {_how(first, program, ['--backends', 'LIST'])}"
        )
        return how if command == "run" else f"A program is named with --script: `{called} --script {first}`"
    if is_backends(first) and "--backends" in of[command]:
        return f"Backends are named with --backends, with commas between them: `--backends {first}`"
    if are_examples(first) and "--examples" in of[command]:
        return f"Examples are named with --examples: `--examples {first}`"
    if command == "script":
        return f"The program's own arguments follow --: `-- {shlex.join(extra)}`"
    if f"--{first}" in of[command]:
        return f"An option begins with two dashes: --{first}"
    return ""


def is_backends(word: str) -> bool:
    """Whether all parts of a list name backends, or groups of them."""
    known = _backends()
    return all(base(part).lower() in known for part in _parts(word))


def are_examples(word: str) -> bool:
    """Whether all parts of a list are examples that come with kbench."""
    known = {path.stem for path in paths.project_folder("examples_models").glob("[!_]*.py")}
    return all(part in known for part in _parts(word))


def _parts(word: str) -> list[str]:
    """Of a list; one that is empty has an empty part, which is no name."""
    return [part.strip() for part in word.split(",") if part.strip()] or [""]


def _option(
    extra: Sequence[str], command: str, called: str, of: Mapping[str, Collection[str]], programs: bool
) -> str:
    """On an option that the command does not have, with what follows it; `programs`: whether one may take it."""
    name, *behind = [extra[0].partition("=")[0], *extra[1:]]
    long = f"--{name.lstrip('-')}"
    if long in of[command]:
        return f"It is {long}, with two dashes"
    if name.lstrip("-") in _WORDS.get(command, ()):
        return f"It is a word without dashes: `{called} {name.lstrip('-')}`"
    if command == "bisect" and long == "--backends":
        return f"The backend is named without an option: `{called} BACKEND ...`"
    if command == "clean" and long == "--dry-run":
        return f"`{called}` alone only lists, and removes nothing"
    words = {one.lstrip("-"): one for one in sorted([*of[command], "--version", "--help"])}
    bare = long.lstrip("-").replace("_", "-")
    other = _OPTIONS.get(bare, "")
    other = other if other.partition(" ")[0] in of[command] else ""
    near = other or words.get(meant(bare, [one for one in words if one]), "")
    begun = [one for one in of[command] if len(name) == 2 and one.startswith(f"-{name}")]
    if begun and command != "script":
        return f"did you mean {', '.join(begun[:-1])}{' or ' * (len(begun) > 1)}{begun[-1]}?"
    others = [one for one, options in of.items() if long in options and one != command]
    if near and command != "script" and (other or not others):
        return f"did you mean {near}?"
    if programs:
        given = shlex.join(extra)
        if name == "--pass-env":
            return (
                "A script gets your environment variables anyway, except PYTHON*, KERAS_*, KBENCH_* and VIRTUAL_ENV*"
            )
        of_run = f"{long} is an option of `run`; the" if long in of["run"] and "epoch" not in name else "The"
        close = f", or did you mean {near}?" if near else ""
        fewer = "; --max-epochs N shortens each fit" if "epoch" in name and command == "script" else ""
        return f"{of_run} program's own arguments follow --: `-- {given}`{fewer}{close}"
    if long == "--script":
        program = called.removesuffix(f" {command}")
        return f"A program has a command of its own: `{program} script {shlex.join(behind[:1])}`"
    if others:
        return f"{long} is an option of {' and '.join(f'`{one}`' for one in others[:3])}, not of `{command}`"
    return ""


def _joined(extra: Sequence[str], arguments: Sequence[str]) -> str:
    """On a list that has blanks, or a blank instead of a comma."""
    for place, word in enumerate(arguments):
        if word.startswith("--") and "=" not in word and arguments[place + 1 : place + 2]:
            values = _values(arguments[place + 1 :])
            known = {"--backends": is_backends, "--examples": are_examples}.get(word, lambda text: False)
            of_list = word in _LISTS or any("," in value for value in values) or all(map(known, values[1:]))
            if len(values) > 1 and extra[0] in values[1:] and of_list:
                whole = ",".join(part for value in values for part in value.split(",") if part)
                return f"A list has commas and no blanks: `{word} {whole}`"
    return ""


def _values(arguments: Sequence[str]) -> list[str]:
    """The words up to the next option."""
    end = next((place for place, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    return list(arguments[:end])


def _how(file: str, program: str, rest: Sequence[str]) -> str:
    """`run a program as it is: COMMAND`, or how to run the example in the file."""
    named = any(word.split("=")[0] == "--backends" for word in rest)
    options = [*([] if named else ["--backends", _first_backends()]), *rest]
    if is_example(file):
        return f"measure the example in {file}: `{program} {shlex.join(['--examples', file, *options])}`"
    return f"run a program as it is: `{program} {shlex.join(['script', file, *options])}`"


def is_example(file: str) -> bool:
    """Whether there is such a file, with a build_model."""
    if not os.path.isfile(file):  # noqa: PTH113  # or a pipe, which would be waited for
        return False
    with contextlib.suppress(OSError), paths.with_home(file).open("rb") as opened:
        return re.search(rb"^def build_model\b", opened.read(1 << 20), re.MULTILINE) is not None
    return False


def _first_backends() -> str:
    text = (Path(__file__).parent / "help" / "first_run.txt").read_text("utf-8")
    return text.split()[1]  # --backends LIST ...


def _backends() -> set[str]:
    """All names of backends and of their groups."""
    names: set[str] = set()
    with contextlib.suppress(UserError):  # a damaged file of the user's, which another error is about
        names |= {*backends.load_all(paths.project_folder("backends"))}
        further = paths.further_backends()
        names |= {*backends.load_all(further)} if further else set()
    groups = {name.partition("/")[0] for name in names}
    return {*names, *groups, *filter(None, map(bare, names)), NATIVE, "all"}


def _is_run(word: str) -> bool:
    return word == store.LATEST or word in store.names(Path("results")) or store.is_run(Path(word))
